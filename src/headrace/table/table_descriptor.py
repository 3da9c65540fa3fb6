"""``TableDescriptor``: a table of a connector, as CREATE TABLE declares it."""

from __future__ import annotations

from typing import Any, Self

from headrace.common._types.java_text import in_java_order
from headrace.common.config_options import ConfigOption
from headrace.errors import SqlValidationError
from headrace.sql.catalog.objects import CatalogTable
from headrace.sql.definitions import PhysicalColumn
from headrace.sql.rel import Columns
from headrace.sql.types import quote_name
from headrace.table.schema import Schema

__all__ = ["FormatDescriptor", "TableDescriptor"]

_Key = str | ConfigOption[Any]


def _key(key: _Key) -> str:
    return key if isinstance(key, str) else key.key


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _quoted(text: str) -> str:
    return "'{}'".format(text.replace("'", "''"))


class FormatDescriptor:
    """A format, with its options."""

    def __init__(self, format: str, options: dict[str, str]) -> None:
        self._format = format
        self._options = options

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        """Return a builder."""
        return FormatDescriptor.Builder(format)

    def get_format(self) -> str:
        """Return the name of the format."""
        return self._format

    def get_options(self) -> dict[str, str]:
        """Return the options, without the name of the format before them."""
        return dict(self._options)

    def __str__(self) -> str:
        options = ", ".join(f"{key}={value}" for key, value in in_java_order(self._options))
        return f"{self._format}[{{{options}}}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormatDescriptor) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self._format)

    class Builder:
        """Collects options."""

        def __init__(self, format: str) -> None:
            self._format = format
            self._options: dict[str, str] = {}

        def option(self, key: _Key, value: Any) -> Self:
            """Set an option."""
            self._options[_key(key)] = _text(value)
            return self

        def build(self) -> FormatDescriptor:
            """Return the format."""
            return FormatDescriptor(self._format, self._options)


class TableDescriptor:
    """A table of a connector: columns, options, partitions, comment."""

    def __init__(
        self,
        schema: Schema | None,
        options: dict[str, str],
        partition_keys: tuple[str, ...],
        comment: str | None,
    ) -> None:
        self._schema = schema
        self._options = options
        self._partition_keys = partition_keys
        self._comment = comment

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """Return a builder for a connector."""
        return TableDescriptor.Builder().option("connector", connector)

    def get_schema(self) -> Schema | None:
        """Return the columns; None: they are not declared."""
        return self._schema

    def get_options(self) -> dict[str, str]:
        """Return the options."""
        return dict(self._options)

    def get_partition_keys(self) -> list[str]:
        """Return the columns of partitions."""
        return [*self._partition_keys]

    def get_comment(self) -> str | None:
        """Return the comment."""
        return self._comment

    def _definition(self, columns: Columns = ()) -> CatalogTable:
        """Return the table; without a schema it has the columns of the rows written into it."""
        schema = self._schema
        if schema is None:
            if not columns:
                raise SqlValidationError(
                    "the table has no schema", hint="TableDescriptor.for_connector(…).schema(…)"
                )
            schema = Schema(tuple(PhysicalColumn(each.name, each.type) for each in columns))
        return CatalogTable(
            schema._columns,
            tuple(self._options.items()),
            schema._watermarks[0] if schema._watermarks else None,
            schema._primary_key,
            self._partition_keys,
            comment=self._comment or "",
        )

    def __str__(self) -> str:
        parts = ["" if self._schema is None else str(self._schema)]
        if self._comment is not None:
            parts.append(f"COMMENT {_quoted(self._comment)}")
        if self._partition_keys:
            parts.append(f"PARTITIONED BY ({', '.join(map(quote_name, self._partition_keys))})")
        options = ",\n".join(
            f"  {_quoted(key)} = {_quoted(value)}" for key, value in in_java_order(self._options)
        )
        parts.append(f"WITH (\n{options}\n)")
        return "\n".join(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableDescriptor) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(str(self))

    class Builder:
        """Collects the parts of a table."""

        def __init__(self) -> None:
            self._schema: Schema | None = None
            self._options: dict[str, str] = {}
            self._partition_keys: tuple[str, ...] = ()
            self._comment: str | None = None

        def schema(self, schema: Schema) -> Self:
            """Set the columns."""
            self._schema = schema
            return self

        def option(self, key: _Key, value: Any) -> Self:
            """Set an option."""
            self._options[_key(key)] = _text(value)
            return self

        def format(self, format: str | FormatDescriptor, format_option: _Key | None = None) -> Self:
            """Set the format; ``format_option``: the option that names it, such as key.format."""
            key = "format" if format_option is None else _key(format_option)
            if isinstance(format, str):
                return self.option(key, format)
            self.option(key, format.get_format())
            before = key.removesuffix("format")
            for name, value in format.get_options().items():
                self.option(f"{before}{format.get_format()}.{name}", value)
            return self

        def partitioned_by(self, *partition_keys: str) -> Self:
            """Set the columns of partitions."""
            self._partition_keys = partition_keys
            return self

        def comment(self, comment: str) -> Self:
            """Set the comment."""
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            """Return the table."""
            return TableDescriptor(
                self._schema, dict(self._options), self._partition_keys, self._comment
            )
