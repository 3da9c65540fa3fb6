"""The columns of a table, as a schema."""

from __future__ import annotations

from enum import Enum
from typing import Any

from headrace.common._unsupported import unsupported
from headrace.sql import rel
from headrace.sql.types import SqlType, quote_name
from headrace.table._types.data_types import DataType
from headrace.table._types.rows import RowField, RowType
from headrace.table._types.sql import from_sql, to_sql


class Column:
    """A column: ``physical``, ``computed`` or ``metadata``."""

    _physical = False
    _persisted = False

    def __init__(self, name: str, kind: SqlType, comment: str | None = None) -> None:
        self._name = name
        self._kind = kind
        self._comment = comment

    @staticmethod
    def physical(name: str, data_type: DataType) -> PhysicalColumn:
        """Return a column that is stored."""
        return PhysicalColumn(name, to_sql(data_type))

    computed = unsupported(
        "headrace.table.catalog.Column.computed", "resolved expressions are not offered"
    )

    @staticmethod
    def metadata(
        name: str, data_type: DataType, metadata_key: str | None, is_virtual: bool
    ) -> MetadataColumn:
        """Return a column that the connector gives."""
        made = MetadataColumn(name, to_sql(data_type))
        made._key, made._virtual = metadata_key, is_virtual
        return made

    def _copy(self, **changed: Any) -> Any:
        made = object.__new__(type(self))
        made.__dict__.update({**vars(self), **changed})
        return made

    def with_comment(self, comment: str | None) -> Any:
        """Return the column with a comment."""
        return self if comment is None else self._copy(_comment=comment)

    def copy(self, new_data_type: DataType) -> Any:
        """Return the column with another type."""
        return self._copy(_kind=to_sql(new_data_type))

    def rename(self, new_name: str) -> Any:
        """Return the column with another name."""
        return self._copy(_name=new_name)

    def is_physical(self) -> bool:
        """Return whether the column is stored."""
        return self._physical

    def is_persisted(self) -> bool:
        """Return whether an INSERT writes the column."""
        return self._persisted

    def get_data_type(self) -> DataType:
        """Return the type."""
        return from_sql(self._kind)

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    def get_comment(self) -> str | None:
        """Return the comment."""
        return self._comment

    def explain_extras(self) -> str | None:
        """Return the part of the summary after the type."""
        return None

    def as_summary_string(self) -> str:
        """Return the name, the type, and the extras."""
        extras = self.explain_extras()
        comment = "" if self._comment is None else f" COMMENT '{self._comment}'"
        shown = f"{quote_name(self._name)} {self._kind}"
        return shown + ("" if extras is None else f" {extras}") + comment

    def __str__(self) -> str:
        return self.as_summary_string()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self._name, self._kind))


class PhysicalColumn(Column):
    """A column that is stored."""

    _physical = True
    _persisted = True


class ComputedColumn(Column):
    """A column that is computed from others."""

    get_expression = unsupported(
        "headrace.table.catalog.ComputedColumn.get_expression",
        "resolved expressions are not offered",
    )


class MetadataColumn(Column):
    """A column that the connector gives."""

    _key: str | None = None
    _virtual = False

    def is_virtual(self) -> bool:
        """Return whether the column is never written."""
        return self._virtual

    def is_persisted(self) -> bool:
        return not self._virtual

    def get_metadata_key(self) -> str | None:
        """Return the connector's name of it."""
        return self._key

    def explain_extras(self) -> str | None:
        key = "" if self._key is None else f" FROM '{self._key}'"
        return f"METADATA{key}{' VIRTUAL' if self._virtual else ''}"


class WatermarkSpec:
    """The column of event time."""

    def __init__(self, rowtime_attribute: str) -> None:
        self._column = rowtime_attribute

    of = unsupported(
        "headrace.table.catalog.WatermarkSpec.of", "resolved expressions are not offered"
    )
    get_watermark_expression = unsupported(
        "headrace.table.catalog.WatermarkSpec.get_watermark_expression",
        "resolved expressions are not offered",
    )

    def get_rowtime_attribute(self) -> str:
        """Return the name of the column."""
        return self._column

    def as_summary_string(self) -> str:
        """Return the declaration."""
        return f"WATERMARK FOR {quote_name(self._column)}"


class Constraint:
    """A constraint on the rows of a table."""

    class ConstraintType(Enum):
        """The kinds."""

        PRIMARY_KEY = 0
        UNIQUE_KEY = 1

    def __init__(self, name: str, columns: list[str]) -> None:
        self._name = name
        self._columns = columns

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    def is_enforced(self) -> bool:
        """Return False: nothing checks it."""
        return False

    def get_type(self) -> Constraint.ConstraintType:
        """Return the kind."""
        return Constraint.ConstraintType.PRIMARY_KEY

    def as_summary_string(self) -> str:
        """Return the declaration."""
        names = ", ".join(map(quote_name, self._columns))
        return f"CONSTRAINT {quote_name(self._name)} PRIMARY KEY ({names}) NOT ENFORCED"

    def __str__(self) -> str:
        return self.as_summary_string()


class UniqueConstraint(Constraint):
    """A primary key."""

    @staticmethod
    def primary_key(name: str, columns: list[str]) -> UniqueConstraint:
        """Return a primary key."""
        return UniqueConstraint(name, columns)

    def get_columns(self) -> list[str]:
        """Return the columns."""
        return [*self._columns]

    def get_type_string(self) -> str:
        """Return PRIMARY KEY."""
        return "PRIMARY KEY"


class ResolvedSchema:
    """The columns of a table."""

    def __init__(
        self,
        columns: list[Column] | None = None,
        watermark_specs: list[WatermarkSpec] | None = None,
        primary_key: UniqueConstraint | None = None,
    ) -> None:
        self._columns: list[Column] = [*(columns or ())]
        self._watermarks: list[WatermarkSpec] = [*(watermark_specs or ())]
        self._key = primary_key

    @staticmethod
    def of(columns: list[Column]) -> ResolvedSchema:
        """Return a schema of columns."""
        return ResolvedSchema(columns)

    @staticmethod
    def physical(column_names: list[str], column_data_types: list[DataType]) -> ResolvedSchema:
        """Return a schema of columns that are stored."""
        pairs = zip(column_names, column_data_types, strict=True)
        return ResolvedSchema([Column.physical(name, kind) for name, kind in pairs])

    def get_column_count(self) -> int:
        """Return the number of columns."""
        return len(self._columns)

    def get_columns(self) -> list[Column]:
        """Return the columns."""
        return [*self._columns]

    def get_column_names(self) -> list[str]:
        """Return the names."""
        return [each.get_name() for each in self._columns]

    def get_column_data_types(self) -> list[DataType]:
        """Return the types."""
        return [each.get_data_type() for each in self._columns]

    def get_column(self, column_index_or_name: int | str) -> Column | None:
        """Return a column by its place or name; None: there is none."""
        for place, column in enumerate(self._columns):
            if column_index_or_name in (place, column.get_name()):
                return column
        return None

    def get_watermark_specs(self) -> list[WatermarkSpec]:
        """Return the columns of event time."""
        return [*self._watermarks]

    def get_primary_key(self) -> UniqueConstraint | None:
        """Return the primary key; None: there is none."""
        return self._key

    def get_primary_key_indexes(self) -> list[int]:
        """Return the places of the primary key's columns."""
        names = self.get_column_names()
        return [] if self._key is None else [names.index(each) for each in self._key.get_columns()]

    def _row(self, columns: list[Column]) -> RowType:
        fields = [RowField(each.get_name(), each.get_data_type()) for each in columns]
        return RowType(fields, nullable=False)

    def to_source_row_data_type(self) -> RowType:
        """Return the type of a row with all columns."""
        return self._row(self._columns)

    def to_physical_row_data_type(self) -> RowType:
        """Return the type of a row with the columns that are stored."""
        return self._row([each for each in self._columns if each.is_physical()])

    def to_sink_row_data_type(self) -> RowType:
        """Return the type of a row with the columns that are written."""
        return self._row([each for each in self._columns if each.is_persisted()])

    def __str__(self) -> str:
        lines = [f"  {each.as_summary_string()}" for each in self._columns]
        lines += [f"  {each.as_summary_string()}" for each in self._watermarks]
        if self._key is not None:
            lines.append(f"  {self._key.as_summary_string()}")
        return "(\n" + ",\n".join(lines) + "\n)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResolvedSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def schema_of_columns(columns: rel.Columns) -> ResolvedSchema:
    """Return the schema of a relation."""
    return ResolvedSchema([PhysicalColumn(each.name, each.type) for each in columns])
