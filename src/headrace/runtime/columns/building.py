"""``Columns`` of a source's chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common.types import RowKind
from headrace.connector import ColumnChunk
from headrace.errors import TypeMismatchError
from headrace.runtime.columns.batch import Columns

if TYPE_CHECKING:
    from headrace.runtime.columns.batch import Kinds


def from_chunk(chunk: ColumnChunk) -> Columns:
    """Convert a chunk to ``Columns``; a row without a row kind is an insert.

    Raises:
        TypeMismatchError: the column of row kinds has another value.
    """
    batch, kinds = chunk.batch, None
    if chunk.row_kind is not None:
        kinds = _kinds_in(batch, chunk.row_kind)
        batch = batch.drop_columns([chunk.row_kind])
    return Columns(to_takeable_arrays(batch), chunk.shape, chunk.timestamps, kinds)


def to_takeable_arrays(batch: Any) -> Any:
    """Return the same values in arrays that Arrow can take rows of, and put one after another.

    It cannot do so with views, and with runs. Of dictionaries that have a null it cannot make one,
    and it counts this null as a value.
    """
    for number, field in enumerate(batch.schema):
        made = _to_takeable_array(batch.column(number))
        if made is not None:
            batch = batch.set_column(number, field.name, made)
    return batch


def _to_takeable_array(column: Any) -> Any | None:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return column.dictionary_decode() if column.dictionary.null_count else None
    if types.is_run_end_encoded(kind):
        return pc.run_end_decode(column)
    if types.is_string_view(kind):
        return column.cast(pa.large_string())
    return column.cast(pa.large_binary()) if types.is_binary_view(kind) else None


def _kinds_in(batch: Any, name: str) -> Kinds:
    import numpy as np
    import pyarrow as pa

    where = {"row kinds in": name, "columns": ", ".join(batch.schema.names)}
    hint = "it is an int8 column with values of RowKind: 0, 1, 2, 3; null counts as 0, INSERT"
    if batch.schema.names.count(name) != 1:
        raise TypeMismatchError("no single column has the row kinds", where=where, hint=hint)
    column = batch.column(name)
    if column.type != pa.int8():
        raise TypeMismatchError(
            f"row kinds are int8, not {column.type}", where={"row kinds in": name}, hint=hint
        )
    kinds: Kinds = column.fill_null(0).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero((kinds < 0) | (kinds >= len(RowKind)))
    if len(wrong):
        raise TypeMismatchError(
            f"{kinds[wrong[0]]} is no RowKind",
            where={"row kinds in": name, "row of the chunk": str(wrong[0])},
            hint=hint,
        )
    return kinds
