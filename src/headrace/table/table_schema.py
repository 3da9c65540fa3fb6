"""``TableSchema``: the names and types of columns, as older programs read them."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql.rel import Columns
from headrace.table._types.data_types import DataType
from headrace.table._types.rows import RowField, RowType
from headrace.table._types.sql import from_sql, to_sql

__all__ = ["TableSchema"]


class TableSchema:
    """Names, and a type for each."""

    def __init__(
        self,
        field_names: Sequence[str] | None = None,
        data_types: Sequence[DataType] | None = None,
    ) -> None:
        self._names = [*(field_names or ())]
        self._types = [*(data_types or ())]
        if len(self._names) != len(self._types):
            raise ValueError(f"{len(self._names)} names have {len(self._types)} types")

        self._shown = [str(to_sql(each)) for each in self._types]

    @classmethod
    def _of_columns(cls, columns: Columns) -> TableSchema:
        """Return the schema of a relation, which shows its time attributes."""
        schema = cls([each.name for each in columns], [from_sql(each.type) for each in columns])
        schema._shown = [str(each.type) for each in columns]
        return schema

    def copy(self) -> TableSchema:
        """Return an equal schema."""
        schema = TableSchema(self._names, self._types)
        schema._shown = [*self._shown]
        return schema

    def get_field_data_types(self) -> list[DataType]:
        """Return the types."""
        return [*self._types]

    def get_field_data_type(self, field: int | str) -> DataType | None:
        """Return the type of a name or a place; None: there is none."""
        if isinstance(field, str):
            place = self._names.index(field) if field in self._names else -1
        else:
            place = field
        return self._types[place] if 0 <= place < len(self._types) else None

    def get_field_count(self) -> int:
        """Return the number of columns."""
        return len(self._names)

    def get_field_names(self) -> list[str]:
        """Return the names."""
        return [*self._names]

    def get_field_name(self, field_index: int) -> str | None:
        """Return the name at a place; None: there is none."""
        return self._names[field_index] if 0 <= field_index < len(self._names) else None

    def to_row_data_type(self) -> RowType:
        """Return the type of a row with these columns, which is not NULL."""
        return RowType([*map(RowField, self._names, self._types)], nullable=False)

    def __repr__(self) -> str:
        pairs = zip(self._names, self._shown, strict=True)
        lines = [f" |-- {name}: {kind}\n" for name, kind in pairs]
        return "".join(["root\n", *lines])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TableSchema)
            and self._names == other._names
            and self._types == other._types
        )

    def __hash__(self) -> int:
        return hash(tuple(self._names))

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        """Return a builder."""
        return TableSchema.Builder()

    class Builder:
        """Collects columns."""

        def __init__(self) -> None:
            self._names: list[str] = []
            self._types: list[DataType] = []

        def field(self, name: str, data_type: DataType) -> TableSchema.Builder:
            """Add a column."""
            self._names.append(name)
            self._types.append(data_type)
            return self

        def build(self) -> TableSchema:
            """Return the schema."""
            return TableSchema(self._names, self._types)
