"""The texts of CSV fields to columns, with the rules of Flink's CSV format."""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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
from headrace.table._formats.json.values import JsonRules, value_reader
from headrace.table._formats.moments import (
    dates_of_texts,
    read_time_ms,
    times_of_texts,
    timestamp_reader,
    timestamps_of_texts,
)

Read = Callable[[str], Any]

_DATE = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)", re.ASCII)
_WITHOUT_SECONDS = len("23:59")


@dataclass(frozen=True)
class CsvRules:
    """Settings that change how fields are read."""

    null_literal: str | None = None
    element_delimiter: str = ";"
    ignore_errors: bool = False


def field_reader(kind: SqlType, rules: CsvRules) -> Read:
    """Return a function from a field's text to a value that Arrow takes.

    It raises ``ValueError`` for a text that does not fit; with ``ignore_errors`` it gives None.
    """
    read, null = _reader_of(kind, rules), rules.null_literal

    def read_field(text: str) -> Any:
        if text == null:
            return None
        try:
            return read(text)
        except (ValueError, ArithmeticError):
            if rules.ignore_errors:
                return None
            raise

    return read_field


def _reader_of(kind: SqlType, rules: CsvRules) -> Read:
    match kind:
        case CharacterType():
            return str
        case BooleanType():
            return lambda text: text.strip().lower() == "true"
        case BytesType():
            return lambda text: base64.b64decode(text, validate=True)
        case TimestampType() | TimestampLtzType():
            return timestamp_reader(kind, iso=False)
        case ArrayType():
            element = field_reader(kind.element, rules)
            between = rules.element_delimiter
            return lambda text: [element(part) for part in text.split(between)] if text else []
        case RowType():
            return _row_reader(kind, rules)
        case DateType():
            return _read_date
        case TimeType():
            return lambda text: _read_time_ms(text, kind.precision)
    of_json, exact = value_reader(kind, JsonRules()), isinstance(kind, DecimalType)

    def read(text: str) -> Any:
        if exact and text != text.strip():
            raise ValueError(f"{text!r:.80} is not a number")
        return of_json(text)

    return read


def _read_date(text: str) -> datetime.date:
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r:.80} is not a date")
    return datetime.date(*map(int, found.groups()))


def _read_time_ms(text: str, precision: int) -> int:
    """Return the ms of a time of day, which may lack seconds; digits beyond are dropped."""
    found = read_time_ms(f"{text}:00" if len(text) == _WITHOUT_SECONDS else text)
    unit: int = 10 ** max(3 - precision, 0)
    return found // unit * unit


def _row_reader(kind: RowType, rules: CsvRules) -> Read:
    reads = [(each.name, field_reader(each.type, rules)) for each in kind.fields]
    between = rules.element_delimiter

    def read(text: str) -> dict[str, Any]:
        parts = text.split(between)
        if len(parts) != len(reads):
            raise ValueError(f"{len(parts)} fields of a row where {len(reads)} were expected")
        return {name: read(part) for (name, read), part in zip(reads, parts, strict=True)}

    return read


def column_of_texts(texts: Any, kind: SqlType) -> Any | None:
    """Return an Arrow array of texts as a column; None: they must be read one by one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    match kind:
        case CharacterType():
            return texts
        case DateType():
            return dates_of_texts(texts)
        case TimeType():
            return times_of_texts(texts)
        case TimestampType() | TimestampLtzType():
            return timestamps_of_texts(texts, kind, iso=False)
        case BooleanType():
            return pc.equal(pc.ascii_lower(pc.utf8_trim_whitespace(texts)), "true")
        case IntegerType() | DecimalType() | FloatType() | DoubleType():
            # Arrow reads hexadecimal numbers, and names of infinity.
            if pc.any(pc.match_substring_regex(texts, "[a-df-zA-DF-Z]")).as_py():
                return None
            try:
                found = texts.cast(to_arrow(kind))
            except pa.ArrowInvalid:
                return None
            if isinstance(kind, DecimalType) and not fits_precision(found, kind):
                return None
            if isinstance(kind, FloatType) and pc.any(pc.is_inf(found)).as_py():
                return None
            return found
    return None


def arrays_of(given: Sequence[Any], kinds: Sequence[SqlType]) -> list[Any] | None:
    """Return arrays as columns of the types. An array has the type already, or is of texts.

    None: some texts must be read one by one.
    """
    found = []
    for array, kind in zip(given, kinds, strict=True):
        made = array if array.type == to_arrow(kind) else column_of_texts(array, kind)
        if made is None:
            return None
        found.append(made)
    return found
