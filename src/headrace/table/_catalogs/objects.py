"""What a catalog has: databases, tables and views, functions, partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast, get_args

from headrace.common.configuration import Configuration
from headrace.errors import PlanError, SqlParserError
from headrace.sql import statements as parsed
from headrace.sql.catalog import objects as sql
from headrace.sql.changes import Language
from headrace.sql.definitions import Options, PhysicalColumn
from headrace.sql.parsing import parse_one
from headrace.sql.refusals import refuse
from headrace.table._types.sql import to_sql
from headrace.table.schema import Schema
from headrace.table.table_schema import TableSchema


class CatalogDatabase:
    """The options and comment of a database."""

    def __init__(self, database: sql.CatalogDatabase) -> None:
        self._database = database

    @staticmethod
    def create_instance(
        properties: Mapping[str, str], comment: str | None = None
    ) -> CatalogDatabase:
        """Return a database."""
        return CatalogDatabase(sql.CatalogDatabase(tuple(properties.items()), comment or ""))

    def get_properties(self) -> dict[str, str]:
        """Return the options."""
        return dict(self._database.options)

    def get_comment(self) -> str | None:
        """Return the comment."""
        return self._database.comment or None

    def copy(self) -> CatalogDatabase:
        """Return an equal database."""
        return CatalogDatabase(self._database)

    def get_description(self) -> str | None:
        """Return the comment."""
        return self.get_comment()

    def get_detailed_description(self) -> str | None:
        """Return the comment."""
        return self.get_comment()


class CatalogBaseTable:
    """A table, or a view."""

    def __init__(self, relation: sql.Relation) -> None:
        self._relation = relation

    @staticmethod
    def create_table(
        schema: TableSchema,
        partition_keys: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """Return a table; ``properties``: the options of WITH."""
        columns = tuple(
            PhysicalColumn(name, to_sql(kind))
            for name, kind in zip(
                schema.get_field_names(), schema.get_field_data_types(), strict=True
            )
        )
        return CatalogBaseTable(
            sql.CatalogTable(
                columns,
                tuple((properties or {}).items()),
                partitioned_by=tuple(partition_keys),
                comment=comment or "",
            )
        )

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: TableSchema,
        properties: Mapping[str, str],
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """Return a view of a query; ``schema``: the names of its columns.

        The query is ``expanded_query``, or ``original_query`` if that is no SQL.
        """
        if properties:
            refuse("a view with options")
        try:
            query, text = _query(expanded_query), expanded_query
        except SqlParserError:
            query, text = _query(original_query), original_query
        names = tuple(schema.get_field_names())
        return CatalogBaseTable(
            sql.CatalogView(query.tree, text, names, ("", ""), comment or "", query.source)
        )

    def _in(self, catalog: str, database: str) -> sql.Relation:
        """Return what is stored: a view's names are those of its database."""
        if isinstance(self._relation, sql.CatalogView) and self._relation.database == ("", ""):
            return replace(self._relation, database=(catalog, database))
        return self._relation

    def get_options(self) -> dict[str, str]:
        """Return the options of WITH."""
        return dict(self._relation.options) if isinstance(self._relation, sql.CatalogTable) else {}

    def get_unresolved_schema(self) -> Schema:
        """Return the columns as they were declared.

        Raises:
            UnsupportedError: it is a view, whose types follow from its query.
        """
        match self._relation:
            case sql.CatalogTable() as table:
                marks = () if table.watermark is None else (table.watermark,)
                return Schema(table.columns, marks, table.primary_key)
            case sql.PlanView(plan=plan):
                columns = (PhysicalColumn(each.name, each.type) for each in plan.columns)
                return Schema(tuple(columns))
        refuse("the declared schema of a view: from_path(…).get_resolved_schema() has its columns")

    def get_comment(self) -> str:
        """Return the comment."""
        return "" if isinstance(self._relation, sql.PlanView) else self._relation.comment

    def copy(self) -> CatalogBaseTable:
        """Return an equal table."""
        return CatalogBaseTable(self._relation)

    def get_description(self) -> str | None:
        """Return the comment."""
        return self.get_comment()

    def get_detailed_description(self) -> str | None:
        """Return the comment."""
        return self.get_comment()


def _query(text: str) -> parsed.Query:
    statement = parse_one(text, "a view")
    if not isinstance(statement, parsed.Query):
        raise PlanError("a view is a query")
    return statement


class CatalogFunction:
    """A user-defined function: the name of an object, and its language."""

    def __init__(self, function: sql.CatalogFunction) -> None:
        self._function = function

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        """Return a function; only those of Python can be called."""
        language = function_language.upper()
        known = get_args(Language)
        if language not in known:
            raise PlanError(
                f"the language of a function is one of {', '.join(known)}, not {language}"
            )
        return CatalogFunction(sql.CatalogFunction(class_name, cast(Language, language)))

    def get_class_name(self) -> str:
        """Return the name of the object."""
        return self._function.identifier

    def copy(self) -> CatalogFunction:
        """Return an equal function."""
        return CatalogFunction(self._function)

    def get_description(self) -> str | None:
        """Return what kind of function it is."""
        return "This is a user-defined function"

    def get_detailed_description(self) -> str | None:
        """Return what kind of function it is."""
        return "This is a user-defined function"

    def is_generic(self) -> bool:
        """Return True: no function belongs to another system."""
        return True

    def get_function_language(self) -> str:
        """Return the language in capitals."""
        return self._function.language

    def get_options(self) -> dict[str, str]:
        """Return no options: functions have none."""
        return {}


class CatalogPartition:
    """The properties and comment of a partition."""

    def __init__(self, partition: sql.CatalogPartition) -> None:
        self._partition = partition

    @staticmethod
    def create_instance(
        properties: Mapping[str, str], comment: str | None = None
    ) -> CatalogPartition:
        """Return a partition."""
        return CatalogPartition(sql.CatalogPartition(tuple(properties.items()), comment or ""))

    def get_properties(self) -> dict[str, str]:
        """Return the properties."""
        return dict(self._partition.options)

    def copy(self) -> CatalogPartition:
        """Return an equal partition."""
        return CatalogPartition(self._partition)

    def get_description(self) -> str | None:
        """Return the comment."""
        return self.get_comment()

    def get_detailed_description(self) -> str | None:
        """Return the comment."""
        return self.get_comment()

    def get_comment(self) -> str | None:
        """Return the comment."""
        return self._partition.comment or None


class CatalogDescriptor:
    """The name, the options and the comment of a catalog that is to be created."""

    def __init__(self, name: str, options: Options, comment: str | None) -> None:
        self._name = name
        self._options = options
        self._comment = comment

    @staticmethod
    def of(
        catalog_name: str, configuration: Configuration, comment: str | None = None
    ) -> CatalogDescriptor:
        """Return a description; ``configuration``: the options of WITH."""
        return CatalogDescriptor(catalog_name, tuple(configuration.to_dict().items()), comment)

    def _statement(self, name: str) -> parsed.CreateCatalog:
        return parsed.CreateCatalog(
            text="", name=name, options=self._options, comment=self._comment
        )
