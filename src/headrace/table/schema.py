"""``Schema``: the columns of a table as a program declares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from headrace.errors import SqlValidationError
from headrace.sql.definitions import (
    ColumnDefinition,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    PrimaryKeyDefinition,
    WatermarkDefinition,
)
from headrace.sql.parsing import parse_expression
from headrace.sql.types import SqlType, quote_name
from headrace.table._expressions.trees import SQL
from headrace.table._types.data_types import DataType
from headrace.table._types.rows import RowType
from headrace.table._types.sql import sql_type_of

if TYPE_CHECKING:
    from sqlglot import exp

    from headrace.table._catalogs.columns import ResolvedSchema
    from headrace.table.expression import Expression

__all__ = ["Schema"]


_SHOWN = "shown"
"""The key in ``meta`` of a tree for the text with which the schema shows an Expression."""


@dataclass(frozen=True)
class _Formula:
    """An expression, as a text or as a tree."""

    given: str | Expression[Any]

    @property
    def text(self) -> str:
        """The expression in SQL."""
        if isinstance(self.given, str):
            return self.given
        tree = self.given._tree
        return str(tree.meta.get(SQL) or tree.sql())

    @property
    def tree(self) -> exp.Expr:
        if isinstance(self.given, str):
            return parse_expression(self.given)
        made: exp.Expr = self.given._tree.copy()
        made.meta[_SHOWN] = str(self.given)
        return made


class Schema:
    """Columns, the watermark, and the primary key of a table."""

    def __init__(
        self,
        columns: tuple[ColumnDefinition, ...] = (),
        watermarks: tuple[WatermarkDefinition, ...] = (),
        primary_key: PrimaryKeyDefinition | None = None,
        type_names: Mapping[str, str] | None = None,
    ) -> None:
        self._columns = columns
        self._watermarks = watermarks
        self._primary_key = primary_key
        self._type_names = type_names or {}

    @staticmethod
    def new_builder() -> Schema.Builder:
        """Return a builder."""
        return Schema.Builder()

    def __str__(self) -> str:
        lines = [_column_text(each, self._type_names.get(each.name)) for each in self._columns]
        for each in self._watermarks:
            name = quote_name(".".join(each.column))
            lines.append(f"WATERMARK FOR {name} AS {_formula_text(each)}")
        if self._primary_key is not None:
            names = ", ".join(map(quote_name, self._primary_key.columns))
            name = quote_name(self._primary_key.name or "")
            lines.append(f"CONSTRAINT {name} PRIMARY KEY ({names}) NOT ENFORCED")
        return "(\n  " + ",\n  ".join(lines) + "\n)" if lines else "(\n\n)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    class Builder:
        """Collects the parts of a schema."""

        def __init__(self) -> None:
            self._columns: list[ColumnDefinition] = []
            self._watermarks: list[WatermarkDefinition] = []
            self._primary_key: PrimaryKeyDefinition | None = None
            self._type_names: dict[str, str] = {}

        def from_schema(self, unresolved_schema: Schema) -> Self:
            """Add all parts of another schema."""
            self._columns += unresolved_schema._columns
            self._watermarks += unresolved_schema._watermarks
            self._primary_key = unresolved_schema._primary_key or self._primary_key
            self._type_names.update(unresolved_schema._type_names)
            return self

        def from_resolved_schema(self, resolved_schema: ResolvedSchema) -> Self:
            """Add the columns of a table's schema."""
            for column in resolved_schema.get_columns():
                self.column(column.get_name(), column.get_data_type())
            key = resolved_schema.get_primary_key()
            return (
                self if key is None else self.primary_key_named(key.get_name(), *key.get_columns())
            )

        def from_row_data_type(self, data_type: DataType) -> Self:
            """Add a column for each field of a row."""
            if not isinstance(data_type, RowType):
                raise SqlValidationError(f"a ROW type is needed, not {data_type}")
            return self.from_fields(data_type.field_names(), data_type.field_types())

        def from_fields(
            self, field_names: Sequence[str], field_data_types: Sequence[DataType | str]
        ) -> Self:
            """Add columns of names and types."""
            for name, kind in zip(field_names, field_data_types, strict=True):
                self.column(name, kind)
            return self

        def column(self, column_name: str, data_type: str | DataType) -> Self:
            """Add a column that is stored."""
            kind = self._type(column_name, data_type)
            self._columns.append(PhysicalColumn(column_name, kind))
            return self

        def _type(self, column: str, data_type: str | DataType) -> SqlType:
            if isinstance(data_type, str):
                self._type_names[column] = data_type
            return sql_type_of(data_type)

        def column_by_expression(self, column_name: str, expr: str | Expression[Any]) -> Self:
            """Add a column that is computed from others."""
            formula = _Formula(expr)
            self._columns.append(ComputedColumn(column_name, formula.tree, formula.text))
            return self

        def column_by_metadata(
            self,
            column_name: str,
            data_type: DataType | str,
            metadata_key: str | None = None,
            is_virtual: bool = False,
        ) -> Self:
            """Add a column that the connector gives."""
            kind = self._type(column_name, data_type)
            self._columns.append(MetadataColumn(column_name, kind, metadata_key, is_virtual))
            return self

        def watermark(self, column_name: str, watermark_expr: str | Expression[Any]) -> Self:
            """Make a column the event time, with watermarks of an expression."""
            formula = _Formula(watermark_expr)
            self._watermarks.append(WatermarkDefinition((column_name,), formula.tree, formula.text))
            return self

        def primary_key(self, *column_names: str) -> Self:
            """Declare the columns that identify a row."""
            return self.primary_key_named(f"PK_{'_'.join(column_names)}", *column_names)

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Self:
            """Declare the columns that identify a row, with a name."""
            self._primary_key = PrimaryKeyDefinition(column_names, constraint_name)
            return self

        def build(self) -> Schema:
            """Return the schema."""
            return Schema(
                tuple(self._columns),
                tuple(self._watermarks),
                self._primary_key,
                dict(self._type_names),
            )


def _column_text(column: ColumnDefinition, type_name: str | None) -> str:
    name = quote_name(column.name)
    if isinstance(column, ComputedColumn):
        return f"{name} AS {_formula_text(column)}"
    kind = column.type if type_name is None else f"[{type_name}]"
    if isinstance(column, PhysicalColumn):
        return f"{name} {kind}"
    key = "" if column.key is None else f" FROM '{column.key}'"
    return f"{name} {kind} METADATA{key}{' VIRTUAL' if column.virtual else ''}"


def _formula_text(given: ComputedColumn | WatermarkDefinition) -> str:
    return str(given.expression.meta.get(_SHOWN, f"[{given.text}]"))
