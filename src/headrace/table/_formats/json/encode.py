"""Rows to JSON, a column at a time, as Flink writes it."""

from __future__ import annotations

import base64
import datetime
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

from headrace.common._types.java_text import double_text, float_text
from headrace.errors import TypeMismatchError
from headrace.sql.types import (
    ArrayType,
    BooleanType,
    BytesType,
    CharacterType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    MultisetType,
    RowType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
)
from headrace.table._formats.column_text import (
    SMALL,
    array_of,
    plain_decimals,
    rewritten,
    texts_of,
    values_of,
)
from headrace.table._formats.moments import time_text, timestamp_text
from headrace.table._formats.value_text import map_items, row_values

Write = Callable[[Any], str]

_SPECIAL = re.compile("[\x00-\x07\x0b\x0e-\x1f\U00010000-\U0010ffff]")
"""Characters that Flink escapes by their codes, and Python otherwise, or not at all."""
_ESCAPED = r'["\\\x{0}-\x{1f}\x{10000}-\x{10ffff}]'
"""Characters that are not written as they are, as Arrow's regular expressions have them."""
_IN_QUOTES = (CharacterType, DateType, TimeType, TimestampType, TimestampLtzType)
_LEAST, _GREATEST = 1e-3, 1e7
"""Between these Java writes numbers without exponents."""
_SMALLEST_PLAIN = -6
"""Java writes smaller exponents with an E."""
_QUOTED = encode_basestring


def quoted(text: str) -> str:
    """Return a text as Flink's JSON has it."""
    if _SPECIAL.search(text) is None:
        return _QUOTED(text)
    pieces, at = [], 0
    for found in _SPECIAL.finditer(text):
        units = found[0].encode("utf-16-be").hex().upper()
        codes = [units[place : place + 4] for place in range(0, len(units), 4)]
        pieces += [_QUOTED(text[at : found.start()])[1:-1], *(f"\\u{code}" for code in codes)]
        at = found.end()
    return f'"{"".join(pieces)}{_QUOTED(text[at:])[1:]}'


@dataclass(frozen=True)
class JsonWriting:
    """Settings that change how rows are written."""

    iso: bool = False
    null_keys: str = "FAIL"
    null_key: str = "null"
    plain_decimals: bool = False
    ignore_nulls: bool = False


def lines_encoder(
    kind: RowType, writing: JsonWriting
) -> Callable[[Sequence[Sequence[Any]]], list[bytes]]:
    """Return a function from columns to the object of each row, in UTF-8.

    A column is Python values, or an Arrow array. Many rows are written a column at a time with
    Arrow, if it has texts for a column.
    """
    encode = object_encoder(kind, writing)
    columns_of = [_column_writer(each.type, writing) for each in kind.fields]
    names = [quoted(each.name) for each in kind.fields]

    def encode_all(columns: Sequence[Sequence[Any]]) -> list[bytes]:
        if writing.ignore_nulls or not columns or len(columns[0]) < SMALL:
            return [text.encode() for text in encode([*map(values_of, columns)])]
        import pyarrow as pa
        import pyarrow.compute as pc

        parts: list[Any] = []
        for name, write, column in zip(names, columns_of, columns, strict=True):
            parts += [f"{',' if parts else '{'}{name}:", pc.fill_null(write(column), "null")]
        joined = pc.binary_join_element_wise(*parts, "}", "")
        found: list[bytes] = joined.cast(pa.binary()).to_pylist()
        return found

    return encode_all


def _column_writer(kind: SqlType, writing: JsonWriting) -> Callable[[Sequence[Any]], Any]:
    """Return a function from a column to the texts of its values, in an Arrow array."""
    write = _writer_of(kind, writing)
    marks = isinstance(kind, _IN_QUOTES)

    def texts(values: Sequence[Any]) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        array = array_of(values, kind)
        if array is None:
            found = [None if value is None else write(value) for value in values_of(values)]
            return pa.array(found, pa.string())
        if isinstance(kind, DecimalType) and writing.plain_decimals:
            return plain_decimals(array, write)
        written = texts_of(array, kind, write, "T" if writing.iso else " ")
        if not marks:
            return written
        joined = pc.binary_join_element_wise('"', written, '"', "")
        if not isinstance(kind, CharacterType):
            return joined
        return rewritten(joined, pc.match_substring_regex(written, _ESCAPED), array, quoted)

    return texts


def object_encoder(
    kind: RowType, writing: JsonWriting
) -> Callable[[Sequence[Sequence[Any]]], list[str]]:
    """Return a function from columns of Python values to the text of each row."""
    plain = [_writer_of(each.type, writing) for each in kind.fields]
    writes = [_nullable(each.type, writing) for each in kind.fields]
    names = [quoted(each.name) for each in kind.fields]
    if writing.ignore_nulls:
        pairs = [*zip(names, writes, strict=True)]
        return lambda columns: [_object(pairs, row) for row in zip(*columns, strict=True)]
    template = "{" + ",".join(f"{name.replace('%', '%%')}:%s" for name in names) + "}"

    def encode(columns: Sequence[Sequence[Any]]) -> list[str]:
        texts = [
            map(nullable if None in column else write, column)
            for write, nullable, column in zip(plain, writes, columns, strict=True)
        ]
        return [template % row for row in zip(*texts, strict=True)]

    return encode


def _object(pairs: Sequence[tuple[str, Write]], values: Sequence[Any]) -> str:
    fields = (
        f"{name}:{write(value)}"
        for (name, write), value in zip(pairs, values, strict=True)
        if value is not None
    )
    return f"{{{','.join(fields)}}}"


def _nullable(kind: SqlType, writing: JsonWriting) -> Write:
    write = _writer_of(kind, writing)
    return lambda value: "null" if value is None else write(value)


def _writer_of(kind: SqlType, writing: JsonWriting) -> Write:
    match kind:
        case BooleanType():
            return lambda value: "true" if value else "false"
        case FloatType():
            return _floating(float_text)
        case DoubleType():
            return _floating(double_text)
        case DecimalType():
            return _plain_decimal if writing.plain_decimals else decimal_text
        case CharacterType():
            return quoted
        case BytesType():
            return lambda data: f'"{base64.b64encode(data).decode()}"'
        case DateType():
            return lambda day: f'"{day.isoformat()}"'
        case TimeType():
            return lambda moment: f'"{time_text(moment)}"'
        case TimestampType() | TimestampLtzType():
            return _timestamp_writer(kind, writing.iso)
        case ArrayType():
            element = _nullable(kind.element, writing)
            return lambda values: f"[{','.join(map(element, values))}]"
        case MapType():
            return _map_writer(_nullable(kind.value, writing), writing)
        case MultisetType():
            return _map_writer(str, writing)
        case RowType():
            encode, names = object_encoder(kind, writing), [each.name for each in kind.fields]
            return lambda row: encode([(value,) for value in row_values(row, names)])[0]
    return str


def _floating(text: Callable[[float], str]) -> Write:
    def write(value: float) -> str:
        if text is double_text:
            return number_text(value) if math.isfinite(value) else f'"{text(value)}"'
        # Flink writes NaN and infinities as strings.
        return text(value) if math.isfinite(value) else f'"{text(value)}"'

    return write


def number_text(value: float) -> str:
    """Return a double as Java's ``toString``; for most, it is Python's."""
    return repr(value) if _LEAST <= abs(value) < _GREATEST else double_text(value)


def decimal_text(value: Decimal) -> str:
    """Return a decimal as Java's ``BigDecimal.toString``, without zeros at the end."""
    sign, figures, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, figures)).lstrip("0")
    if not digits:
        return "0"
    kept = digits.rstrip("0")
    exponent += len(digits) - len(kept)
    adjusted = exponent + len(kept) - 1
    minus = "-" if sign else ""
    if exponent > 0 or adjusted < _SMALLEST_PLAIN:
        fraction = f".{kept[1:]}" if len(kept) > 1 else ""
        return f"{minus}{kept[0]}{fraction}E{adjusted:+d}"
    return minus + format(Decimal((0, tuple(map(int, kept)), exponent)), "f")


def _plain_decimal(value: Decimal) -> str:
    return format(value, "f")


def _timestamp_writer(kind: SqlType, iso: bool) -> Write:
    between = "T" if iso else " "
    if isinstance(kind, TimestampLtzType):
        utc = datetime.UTC
        return lambda moment: f'"{timestamp_text(moment.astimezone(utc), between)}Z"'
    return lambda moment: f'"{timestamp_text(moment, between)}"'


def _map_writer(write: Write, writing: JsonWriting) -> Write:
    def entries(value: Any) -> str:
        texts: dict[str, str] = {}
        for key, each in map_items(value):
            if key is None:
                if writing.null_keys == "FAIL":
                    raise TypeMismatchError(
                        "JSON format doesn't support to serialize map data with null keys",
                        hint="set json.map-null-key.mode to DROP or LITERAL",
                    )
                if writing.null_keys == "DROP":
                    continue
                key = writing.null_key
            texts[key] = write(each)
        return f"{{{','.join(f'{quoted(key)}:{text}' for key, text in texts.items())}}}"

    return entries
