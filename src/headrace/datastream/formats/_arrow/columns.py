"""Writes columns unchanged, if that gives the same file as writing their records."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import types

from headrace.common.typeinfo import RowTypeInfo, Types
from headrace.connector import ColumnChunk
from headrace.runtime.columns.shapes import Dicts, NamedRows, Tuples

_BY_NAME = (Dicts, NamedRows)
_CHAR = Types.CHAR()
_SAME = (
    *(types.is_boolean, types.is_floating, types.is_binary, types.is_large_binary),
    types.is_date32,
)
"""Types whose values read as Python values, and are written again, as they were."""


def fitting(chunk: ColumnChunk, schema: Any, row_type: RowTypeInfo | None = None) -> Any | None:
    """Return the records of a chunk as a record batch of a schema; None if the result could differ.

    ``row_type``: what the schema was made of. The result could differ if fields have other names or
    another order, if Python values would change or be rejected, or if there are nulls where the
    schema allows none.
    """
    batch, names = chunk.batch, schema.names
    if type(chunk.shape) in _BY_NAME:
        if batch.schema.names != names:
            return None
    elif type(chunk.shape) is not Tuples or batch.num_columns != len(names):
        return None
    if row_type is not None and _CHAR in row_type.get_field_types():
        return None  # its length of one character must be checked
    arrays = []
    for column, field in zip(batch.columns, schema, strict=True):
        array = _as_type(column, field.type, row_type is not None)
        if array is None or (array.null_count and not field.nullable):
            return None
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _as_type(column: Any, wanted: Any, declared: bool) -> Any | None:
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if _is_wider(kind, wanted) or (_is_text(kind) and _is_text(wanted)):
        return column if kind == wanted else column.cast(wanted)
    if kind != wanted:
        return None
    if types.is_timestamp(kind):
        # Python's datetime has microseconds only, and a declared type converts time zones.
        return None if kind.unit == "ns" or (declared and kind.tz) else column
    return column if any(is_of_kind(kind) for is_of_kind in _SAME) else None


def _is_wider(kind: Any, wanted: Any) -> bool:
    """Return whether every integer of ``kind`` is a value of ``wanted``."""
    if not (types.is_integer(kind) and types.is_signed_integer(wanted)):
        return False
    return bool(kind.bit_width + types.is_unsigned_integer(kind) <= wanted.bit_width)


def _is_text(kind: Any) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind))
