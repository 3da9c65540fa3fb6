"""JSON values to values of SQL's types, one by one, with the rules of Flink's JSON format."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from headrace.common._types.java_text import double_text, round_to_float32
from headrace.sql.types import (
    INT,
    ArrayType,
    BooleanType,
    BytesType,
    CharacterType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    MapType,
    MonthIntervalType,
    MultisetType,
    RowType,
    SecondIntervalType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
)
from headrace.table._formats.map_order import in_hash_order
from headrace.table._formats.moments import read_date, read_time_ms, timestamp_reader

Read = Callable[[Any], Any]

_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_FLOATING = re.compile(
    r"([+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))[fFdD]?", re.ASCII
)
_HEXADECIMAL = re.compile(r"[+-]?0[xX][0-9a-fA-F.]+[pP][+-]?\d+[fFdD]?", re.ASCII)
_BLANKS = "".join(map(chr, range(33)))
"""What Java's ``trim`` removes."""
_EXACT = Context(prec=2000)


class Number(str):
    """A number as it is written."""

    __slots__ = ()


@dataclass(frozen=True)
class JsonRules:
    """Settings that change how values are read."""

    iso: bool = False
    fail_on_missing: bool = False
    ignore_errors: bool = False


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


class Repeated(dict[str, Any]):
    """An object that names a field more than once; ``pairs`` are all of its fields, in order."""

    pairs: list[tuple[str, Any]]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeated = Repeated(found)
    repeated.pairs = pairs
    return repeated


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_float=Number,
    parse_int=Number,
    parse_constant=_refuse,
    # Flink's parser allows control characters in strings.
    strict=False,
)


def parse_text(text: str) -> Any:
    """Return the first JSON value of a text; what comes after it is not read, as in Flink.

    Raises:
        ValueError: the text does not begin with JSON.
    """
    return _DECODER.raw_decode(text.strip(" \t\r\n"))[0]


def value_reader(kind: SqlType, rules: JsonRules) -> Read:
    """Return a function from a JSON value to one that Arrow takes for a column of the type.

    It raises ``ValueError`` for a value that does not fit; with ``ignore_errors`` it gives None.
    """
    read = _reader_of(kind, rules)
    if not rules.ignore_errors:
        return lambda value: None if value is None else read(value)

    def read_or_null(value: Any) -> Any:
        if value is None:
            return None
        try:
            return read(value)
        except (ValueError, ArithmeticError):
            return None

    return read_or_null


def _reader_of(kind: SqlType, rules: JsonRules) -> Read:
    match kind:
        case BooleanType():
            return _read_boolean
        case IntegerType():
            return _integer_reader(kind.bits, truncates=kind.bits >= 32)
        case MonthIntervalType():
            return _integer_reader(32, truncates=True)
        case SecondIntervalType():
            return _integer_reader(64, truncates=True)
        case DoubleType():
            return _read_double
        case FloatType():
            return _read_float
        case CharacterType():
            return text_of
        case DecimalType():
            return _decimal_reader(kind)
        case BytesType():
            return lambda value: base64.b64decode(_scalar_text(value), validate=True)
        case DateType():
            return lambda value: read_date(_scalar_text(value))
        case TimeType():
            return lambda value: read_time_ms(_scalar_text(value))
        case TimestampType() | TimestampLtzType():
            read = timestamp_reader(kind, rules.iso)
            return lambda value: read(_scalar_text(value))
        case ArrayType():
            return _list_reader(kind, rules)
        case MapType():
            return _map_reader(value_reader(kind.value, rules))
        case MultisetType():
            return _map_reader(value_reader(INT, rules))
        case RowType():
            return row_reader(kind, rules)
    raise AssertionError(f"JSON has no {kind}")


def _scalar_text(value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    raise ValueError(f"{text_of(value):.80} is not a single value")


def text_of(value: Any) -> str:
    """Return the text that a STRING column has for a JSON value."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return "".join("?" if "\ud800" <= char <= "\udfff" else char for char in value)
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return write_tree(value)


def write_tree(value: Any) -> str:
    """Return the compact text of an object or array; numbers with a fraction become doubles."""
    if isinstance(value, Number):
        return str(value) if _WHOLE.fullmatch(value) else double_text(float(value))
    if isinstance(value, dict):
        items = (f"{json.dumps(k, ensure_ascii=False)}:{write_tree(v)}" for k, v in value.items())
        return f"{{{','.join(items)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(write_tree, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _read_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    # As in Flink, an object or array is false.
    return isinstance(value, str) and value.strip(_BLANKS).lower() == "true"


def _integer_reader(bits: int, *, truncates: bool) -> Read:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def read(value: Any) -> int:
        if not isinstance(value, str):
            raise ValueError(f"{text_of(value):.80} is not a whole number")
        text = value.strip(_BLANKS)
        if _WHOLE.fullmatch(text):
            number = int(text)
        elif truncates and isinstance(value, Number):
            number = _whole_part(text)
        else:
            raise ValueError(f"{value!r:.80} is not a whole number")
        if not low <= number <= high:
            raise ValueError(f"{value:.80} does not fit in {bits} bits")
        return number

    return read


def _whole_part(text: str) -> int:
    # As a double, so that an exponent of many digits cannot make a number of many digits.
    number = float(text)
    if not math.isfinite(number) or abs(number) >= 1 << 64:
        raise ValueError(f"{text:.80} is too large")
    return int(Decimal(text))


def _read_double(value: Any) -> float:
    if not isinstance(value, str):
        raise ValueError(f"{text_of(value):.80} is not a number")
    text = value.strip(_BLANKS)
    found = _FLOATING.fullmatch(text)
    if found is not None:
        return float(found[1])
    if _HEXADECIMAL.fullmatch(text):
        return float.fromhex(text.rstrip("fFdD"))
    raise ValueError(f"{value!r:.80} is not a number")


def _read_float(value: Any) -> float:
    number = _read_double(value)
    try:
        return round_to_float32(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def _decimal_reader(kind: DecimalType) -> Read:
    unit, limit = Decimal(1).scaleb(-kind.scale), 10 ** (kind.precision - kind.scale)

    def read(value: Any) -> Decimal | None:
        if not isinstance(value, str):
            raise ValueError(f"{text_of(value):.80} is not a number")
        found = _EXACT.create_decimal(_number_text(value))
        if found.adjusted() > kind.precision:
            return None
        rounded = found.quantize(unit, ROUND_HALF_UP, _EXACT)
        return rounded if abs(rounded) < limit else None

    return read


def _number_text(value: str) -> str:
    text = value.strip(_BLANKS)
    found = _FLOATING.fullmatch(text)
    if found is None or found[1] != text or text[-1] in "Ny":
        raise ValueError(f"{value!r:.80} is not a number")
    return text


def _list_reader(kind: ArrayType, rules: JsonRules) -> Read:
    element = value_reader(kind.element, rules)

    def read(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError(f"{text_of(value):.80} is not an array")
        return [element(each) for each in value]

    return read


def _map_reader(read_value: Read) -> Read:
    def read(value: Any) -> list[tuple[str, Any]]:
        if not isinstance(value, dict):
            raise ValueError(f"{text_of(value):.80} is not an object")
        return in_hash_order([(text_of(key), read_value(each)) for key, each in value.items()])

    return read


def row_reader(kind: RowType, rules: JsonRules) -> Read:
    """Return a function from an object to the values of a row, by name."""
    reads = [(each.name, value_reader(each.type, rules)) for each in kind.fields]
    names, missing = {name for name, _ in reads}, object()

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError(f"{text_of(value):.80} is not an object")
        if isinstance(value, Repeated):
            value = _first_fields(value.pairs, names)
        row = {}
        for name, read_field in reads:
            found = value.get(name, missing)
            if found is missing:
                if rules.fail_on_missing:
                    raise ValueError(f"there is no field {name!r}")
                found = None
            try:
                row[name] = read_field(found)
            except (ValueError, ArithmeticError) as error:
                raise ValueError(f"field {name!r}: {error}") from None
        return row

    return read


def _first_fields(pairs: list[tuple[str, Any]], names: set[str]) -> dict[str, Any]:
    """Return the fields as Flink's parser finds them, if some are named more than once.

    It reads as many fields as the row has, also if one of them replaces another, and no more.
    """
    found: dict[str, Any] = {}
    left = len(names)
    for name, value in pairs:
        if name in names and left:
            found[name] = value
            left -= 1
    return found
