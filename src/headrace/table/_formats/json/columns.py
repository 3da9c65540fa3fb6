"""Blocks of JSON lines as columns, if pyarrow reads them exactly as Flink's JSON format does.

pyarrow refuses most of what it reads differently: other types, numbers that do not fit, fields
that are named twice. The rest is looked for before or after: lines that are no objects (it ends
the process at a line ``null``), NaN, invalid UTF-8, the forms of dates and times.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from headrace.sql.rel import Columns
from headrace.sql.types import (
    ArrayType,
    BooleanType,
    BytesType,
    CharacterType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    RowType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
    to_arrow,
)
from headrace.table._formats.decimals import fits_precision
from headrace.table._formats.json.values import JsonRules
from headrace.table._formats.moments import dates_of_texts, times_of_texts, timestamps_of_texts

Finish = Callable[[Any], Any]
"""An Arrow array as pyarrow.json reads it to the column; None: it must be read one by one."""

_NULL_AFTER_OBJECT = re.compile(rb"\}\s*null")
_NOT_JSON = (b"NaN", b"Inf")
_LINE_FEED, _CARRIAGE_RETURN, _COMMA, _BRACKET, _OPENING, _CLOSING = b"\n\r,]{}"


class JsonColumns:
    """Reads blocks of lines into record batches with a table's columns."""

    def __init__(self, columns: Columns, rules: JsonRules) -> None:
        self._columns, self._rules = columns, rules
        self._finishes = [_finish_of(column.type, rules) for column in columns]

    @property
    def usable(self) -> bool:
        """Whether pyarrow can read columns of these types at all."""
        return bool(self._columns) and all(
            _is_native(column.type) or finish is not None
            for column, finish in zip(self._columns, self._finishes, strict=True)
        )

    def batch(self, block: bytes, values: int | None = None) -> Any | None:
        """Return the record batch of some lines; None: they must be read one by one.

        ``values``: as many lines there must be.
        """
        import pyarrow as pa
        from pyarrow import json

        lines = count_objects(block)
        if lines is None or (values is not None and lines != values):
            return None
        reading = json.ReadOptions(use_threads=False, block_size=len(block) + 1)
        try:
            table = json.read_json(pa.BufferReader(block), reading, self._parsing)
        except pa.ArrowException:
            return None
        if table.num_rows != lines:
            return None
        (found,) = table.to_batches()
        return self._finished(found)

    @cached_property
    def _parsing(self) -> Any:
        import pyarrow as pa
        from pyarrow import json

        schema = pa.schema([(column.name, _read_as(column.type)) for column in self._columns])
        return json.ParseOptions(
            explicit_schema=schema, newlines_in_values=False, unexpected_field_behavior="ignore"
        )

    def _finished(self, found: Any) -> Any | None:
        import pyarrow as pa

        arrays = []
        for column, finish, array in zip(self._columns, self._finishes, found.columns, strict=True):
            if self._rules.fail_on_missing and _has_null(array):
                return None
            made = array if finish is None else finish(array)
            if made is None or (isinstance(column.type, FloatType) and not _is_finite(made)):
                return None
            arrays.append(made)
        return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in self._columns])


def count_objects(block: bytes) -> int | None:
    """Return the number of lines, if each seems to be one object; otherwise None.

    The bytes are looked at with numpy: to look for two bytes in a text takes ten times as long.
    """
    import numpy as np

    if not block.isascii() and not _is_utf8(block):
        return None
    # A byte is found at once where a name takes long.
    if any(name[:1] in block and name in block for name in _NOT_JSON):
        return None
    if block.endswith(b"\n"):
        block = block[:-2] if block.endswith(b"\r\n") else block[:-1]
    if not (block.startswith(b"{") and block.endswith(b"}")):
        return None
    found = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(found == _LINE_FEED)
    if not (found[ends + 1] == _OPENING).all():
        return None
    before = found[ends - 1]
    if not (before == _CLOSING).all():
        carriage = before == _CARRIAGE_RETURN
        if not ((before == _CLOSING) | (carriage & (found[ends - 2] == _CLOSING))).all():
            return None
    after = found[np.flatnonzero(found[:-1] == _CLOSING) + 1]
    plain = (after == _COMMA) | (after == _CLOSING) | (after == _LINE_FEED) | (after == _BRACKET)
    if not plain.all() and _NULL_AFTER_OBJECT.search(block) is not None:
        return None
    return len(ends) + 1


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _has_null(array: Any) -> bool:
    """Return whether a value, or a field of one, is null: it may be missing."""
    from pyarrow import types

    if array.null_count:
        return True
    if types.is_struct(array.type):
        return any(map(_has_null, array.flatten()))
    return types.is_list(array.type) and _has_null(array.flatten())


def _is_finite(array: Any) -> bool:
    import pyarrow.compute as pc

    return pc.all(pc.is_finite(array), min_count=0).as_py() is True


def _is_native(kind: SqlType) -> bool:
    match kind:
        case BooleanType() | IntegerType() | FloatType() | DoubleType():
            return True
        case CharacterType():
            return True
        case ArrayType():
            return _is_native(kind.element)
        case RowType():
            return bool(kind.fields) and all(_is_native(each.type) for each in kind.fields)
    return False


def _finish_of(kind: SqlType, rules: JsonRules) -> Finish | None:
    match kind:
        case DateType():
            return dates_of_texts
        case TimeType():
            return times_of_texts
        case TimestampType() | TimestampLtzType():
            return lambda texts: timestamps_of_texts(texts, kind, rules.iso)
        case BytesType():
            return _bytes_of_texts
        case DecimalType():
            return lambda found: found if fits_precision(found, kind) else None
        case RowType() if not _is_native(kind) and all(
            _is_native(each.type) or _finish_of(each.type, rules) for each in kind.fields
        ):
            return _row_finish(kind, rules)
    return None


def _read_as(kind: SqlType) -> Any:
    """Return the Arrow type with which pyarrow.json reads a field."""
    import pyarrow as pa

    match kind:
        case DateType() | TimeType() | TimestampType() | TimestampLtzType() | BytesType():
            return pa.string()
        case RowType():
            return pa.struct([(each.name, _read_as(each.type)) for each in kind.fields])
    return to_arrow(kind)


def _row_finish(kind: RowType, rules: JsonRules) -> Finish:
    finishes = [_finish_of(each.type, rules) for each in kind.fields]

    def finish(rows: Any) -> Any | None:
        import pyarrow as pa

        found = []
        for place, finish_field in enumerate(finishes):
            field = rows.field(place)
            made = field if finish_field is None else finish_field(field)
            if made is None:
                return None
            found.append(made)
        return pa.StructArray.from_arrays(found, fields=[*to_arrow(kind)], mask=rows.is_null())

    return finish


def _bytes_of_texts(texts: Any) -> Any | None:
    import pyarrow as pa

    try:
        values = [
            None if text is None else base64.b64decode(text, validate=True)
            for text in texts.to_pylist()
        ]
    except ValueError:
        return None
    return pa.array(values, pa.binary())
