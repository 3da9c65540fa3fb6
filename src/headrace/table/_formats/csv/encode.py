"""Rows to lines of CSV, a column at a time, as Flink writes them."""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common._types.java_text import float_text
from headrace.datastream.formats._csv.fields import CsvDialect
from headrace.sql.types import (
    ArrayType,
    BooleanType,
    BytesType,
    CharacterType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    RowType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
)
from headrace.table._formats.column_text import SMALL, array_of, texts_of, values_of
from headrace.table._formats.csv.values import CsvRules
from headrace.table._formats.json.encode import decimal_text, number_text
from headrace.table._formats.moments import time_text, timestamp_text
from headrace.table._formats.value_text import row_values

Write = Callable[[Any], str]

_LONG = 24
"""Flink's writer puts longer texts in quotes without looking at them."""


@dataclass(frozen=True)
class CsvWriting:
    """Settings that change how rows are written."""

    dialect: CsvDialect
    rules: CsvRules


def line_encoder(
    kinds: Sequence[SqlType], writing: CsvWriting
) -> Callable[[Sequence[Sequence[Any]]], list[bytes]]:
    """Return a function from columns, of Python values or Arrow arrays, to the line of each row."""
    null = writing.rules.null_literal or ""
    quote = _quoter(writing.dialect)
    writes = [_field(kind, writing, quote, null) for kind in kinds]
    delimiter = writing.dialect.delimiter

    columns_of = [_column_writer(kind, writing, null) for kind in kinds]

    def encode(columns: Sequence[Sequence[Any]]) -> list[bytes]:
        if not columns or len(columns[0]) < SMALL:
            given = map(values_of, columns)
            texts = [[*map(write, column)] for write, column in zip(writes, given, strict=True)]
            return [delimiter.join(row).encode() for row in zip(*texts, strict=True)]
        import pyarrow as pa
        import pyarrow.compute as pc

        found = [write(column) for write, column in zip(columns_of, columns, strict=True)]
        joined = pc.binary_join_element_wise(*found, delimiter)
        lines: list[bytes] = joined.cast(pa.binary()).to_pylist()
        return lines

    return encode


def _column_writer(kind: SqlType, writing: CsvWriting, null: str) -> Callable[[Sequence[Any]], Any]:
    """Return a function from a column to its fields, in an Arrow array."""
    write, quote = _text_of(kind, writing), _column_quoter(writing.dialect)

    def fields(values: Sequence[Any]) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        array = array_of(values, kind)
        if array is None:
            found = [None if value is None else write(value) for value in values_of(values)]
            texts = pa.array(found, pa.string())
        else:
            texts = texts_of(array, kind, write)
        return pc.fill_null(texts if _is_number(kind) else quote(texts), null)

    return fields


def _column_quoter(dialect: CsvDialect) -> Callable[[Any], Any]:
    """Return the function of ``_quoter`` for a column of texts."""
    mark, escape = dialect.quote, dialect.escape
    if mark is None:
        return lambda texts: texts
    highest = max(dialect.delimiter, mark, escape or mark)
    special = f"[\\x{{0}}-\\x{{{ord(highest):x}}}]"

    def quote(texts: Any) -> Any:
        import pyarrow.compute as pc

        chosen = pc.or_(
            pc.greater(pc.utf8_length(texts), _LONG), pc.match_substring_regex(texts, special)
        )
        if not pc.any(chosen, min_count=0).as_py():
            return texts
        inside = texts if escape is None else pc.replace_substring(texts, escape, escape + escape)
        inside = pc.replace_substring(inside, mark, mark + mark)
        return pc.if_else(chosen, pc.binary_join_element_wise(mark, inside, mark, ""), texts)

    return quote


def _field(kind: SqlType, writing: CsvWriting, quote: Write, null: str) -> Write:
    write = _text_of(kind, writing)
    if _is_number(kind):
        return lambda value: null if value is None else write(value)
    return lambda value: null if value is None else quote(write(value))


def _is_number(kind: SqlType) -> bool:
    return not isinstance(
        kind,
        CharacterType
        | BytesType
        | DateType
        | TimeType
        | TimestampType
        | TimestampLtzType
        | ArrayType
        | RowType,
    )


def _text_of(kind: SqlType, writing: CsvWriting) -> Write:
    match kind:
        case BooleanType():
            return lambda value: "true" if value else "false"
        case FloatType():
            return float_text
        case DoubleType():
            return number_text
        case DecimalType():
            return decimal_text
        case CharacterType():
            return str
        case BytesType():
            return lambda data: base64.b64encode(data).decode()
        case DateType():
            return datetime.date.isoformat
        case TimeType():
            return time_text
        case TimestampType():
            return timestamp_text
        case TimestampLtzType():
            return lambda moment: timestamp_text(moment.astimezone(datetime.UTC)) + "Z"
        case ArrayType():
            element, between = _element(kind.element, writing), writing.rules.element_delimiter
            return lambda values: between.join(map(element, values))
        case RowType():
            return _row_writer(kind, writing)
    return str


def _row_writer(kind: RowType, writing: CsvWriting) -> Write:
    writes = [_element(each.type, writing) for each in kind.fields]
    names, between = [each.name for each in kind.fields], writing.rules.element_delimiter
    return lambda row: between.join(
        [write(value) for write, value in zip(writes, row_values(row, names), strict=True)]
    )


def _element(kind: SqlType, writing: CsvWriting) -> Write:
    write, null = _text_of(kind, writing), writing.rules.null_literal or ""
    return lambda value: null if value is None else write(value)


def _quoter(dialect: CsvDialect) -> Write:
    """Return a function that puts a text in quotes where Flink's writer does.

    It does so for long texts, and those with a character up to the delimiter or quote.
    """
    mark, escape = dialect.quote, dialect.escape
    if mark is None:
        return str
    highest = max(dialect.delimiter, mark, escape or mark)
    special = re.compile(f"[\x00-{re.escape(highest)}]").search

    def quote(text: str) -> str:
        if len(text) <= _LONG and special(text) is None:
            return text
        if escape is not None:
            text = text.replace(escape, escape + escape)
        return f"{mark}{text.replace(mark, mark + mark)}{mark}"

    return quote
