"""Conversion of records of a declared type to Arrow record batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headrace.common.types import Row, RowKind
from headrace.errors import TypeMismatchError
from headrace.runtime.record_copies import copy_record

ColumnBuilder = Callable[[Any, Sequence[Any]], Any]
"""Takes an Arrow field and its values, and returns an Arrow array."""


@dataclass(frozen=True)
class RecordBatchBuilder:
    """Builds record batches of an Arrow schema from records.

    ``single``: a record is the value of the only column, not a row. ``nested``: fields may hold
    mutable values (lists, rows), so they are copied. ``column`` builds the array of a column.
    """

    schema: Any
    single: bool
    nested: bool
    column: ColumnBuilder

    @cached_property
    def extract(self) -> Callable[[Any], Any]:
        """A function that returns the fields of a record, safe from later changes of the record.

        An operator may emit one object repeatedly, so records cannot be kept as they are.
        """
        fields = _return_unchanged if self.single else _fields_of(tuple(self.schema.names))
        return fields if not self.nested else lambda value: copy_record(fields(value))

    def batch(self, rows: Sequence[Any]) -> Any:
        """Build the record batch of records, given their fields from ``extract``.

        Raises:
            TypeMismatchError: a value does not fit its column.
        """
        import pyarrow as pa

        names = self.schema.names
        try:
            columns = [rows] if self.single else [*zip(*rows, strict=True)]
        except (TypeError, ValueError) as error:
            raise TypeMismatchError(f"records differ in their number of fields: {error}") from error
        if len(columns) != len(names):
            raise TypeMismatchError(
                f"records have {len(columns)} fields instead of {len(names)}: {', '.join(names)}",
                where={"record": repr(rows[0])},
            )
        arrays = [self.column(f, values) for f, values in zip(self.schema, columns, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _return_unchanged(value: Any) -> Any:
    return value


def _fields_of(names: tuple[str, ...]) -> Callable[[Any], Sequence[Any]]:
    as_list = list(names)

    def fields(value: Any) -> Sequence[Any]:
        kind = type(value)
        if kind is tuple:
            as_tuple: Sequence[Any] = value
            return as_tuple
        if kind is Row:
            return tuple(_row_fields(value, names, as_list))
        if isinstance(value, Mapping):
            return tuple(map(value.get, names))
        if isinstance(value, tuple | list):
            return tuple(value)
        try:
            return tuple([getattr(value, name) for name in names])
        except AttributeError as error:
            raise _misfit_error(value, str(error)) from None

    return fields


def _row_fields(row: Row, names: tuple[str, ...], as_list: list[str]) -> Sequence[Any]:
    if row._row_kind is not RowKind.INSERT:
        raise _not_insert_error(row)
    row_names = row._names()
    if row_names is None or row_names in (as_list, names):
        return row._values
    try:
        return row.get_fields_by_names(names)
    except KeyError as error:
        raise _misfit_error(row, f"no field {error.args[0]}") from None


def _misfit_error(value: Any, reason: str) -> TypeMismatchError:
    return TypeMismatchError(
        f"a record does not fit the columns of map_batches: {reason}",
        where={"record": repr(value)[:200]},
        hint="declare the records' type: output_type= before, or input_type= of map_batches",
    )


def _not_insert_error(row: Row) -> TypeMismatchError:
    return TypeMismatchError(
        f"map_batches takes rows of kind INSERT only, not {row.get_row_kind().name}",
        where={"record": repr(row)[:200]},
        hint="a batch cannot hold the kind of a row: map it to a field",
    )


def insert_only_batch(columns: Any) -> Any:
    """Return the record batch of columns, if all rows are inserts.

    Raises:
        TypeMismatchError: a row is of another kind.
    """
    if columns.kinds is not None:
        raise _not_insert_error(next(row for row in columns.rows() if row.get_row_kind().value))
    return columns.batch


def untyped_records_error() -> TypeMismatchError:
    """Return the error for records whose type is not declared."""
    return TypeMismatchError(
        "map_batches was given records of which no type is declared",
        hint="declare it: output_type= of the operator before, type_info= of the source,"
        " or input_type= of map_batches",
    )
