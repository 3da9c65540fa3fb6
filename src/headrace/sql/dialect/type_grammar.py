"""Reads the name of a type."""

from __future__ import annotations

from collections.abc import Callable

from headrace.sql.dialect.cursor import Cursor
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MAX_LENGTH,
    MAX_PRECISION,
    SMALLINT,
    STRING,
    TINYINT,
    ArrayType,
    BinaryType,
    CharType,
    DecimalType,
    Field,
    MapType,
    MonthIntervalType,
    MultisetType,
    NullType,
    RowType,
    SecondIntervalType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
)

_PLAIN: dict[str, SqlType] = {
    "BIGINT": BIGINT,
    "BOOLEAN": BOOLEAN,
    "BYTES": BYTES,
    "DATE": DATE,
    "FLOAT": FLOAT,
    "INT": INT,
    "INTEGER": INT,
    "NULL": NullType(),
    "REAL": FLOAT,
    "SMALLINT": SMALLINT,
    "STRING": STRING,
    "TINYINT": TINYINT,
}

_REFUSED = {
    "BITMAP": "a type of Flink that is not supported",
    "DESCRIPTOR": "a type of Flink that is not supported",
    "RAW": "a type of Flink that is not supported; use BYTES for any value",
    "STRUCTURED": "a type of Flink that is not supported; ROW has named fields too",
    "VARIANT": "a type of Flink that is not supported; use STRING for JSON",
    "DATETIME": "no type of Flink; TIMESTAMP is one",
    "TEXT": "no type of Flink; STRING is one",
    "STRUCT": "no type of Flink; ROW is one",
}

_DAY_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")


def read_type(cursor: Cursor, *, in_program: bool = False, nullability: bool = True) -> SqlType:
    """Return the type whose name begins at the next token.

    ``in_program``: not in a statement; then VARCHAR and VARBINARY without a length have the
    length 1 instead of the greatest, and NULL is a type. ``nullability``: NULL or NOT NULL may
    follow.
    """
    kind = _base(cursor, in_program)
    while True:
        if cursor.take("ARRAY"):
            kind = ArrayType(kind)
        elif cursor.take("MULTISET"):
            kind = MultisetType(kind)
        else:
            break
    if nullability and cursor.take("NOT", "NULL"):
        return kind.with_nullable(False)
    if nullability:
        cursor.take("NULL")
    return kind


def _base(cursor: Cursor, in_program: bool) -> SqlType:
    token = cursor.token
    if token.kind != "word":
        cursor.want("a type")
        cursor.fail()
    word = token.value
    if word in _REFUSED:
        cursor.refuse(f"{word} is {_REFUSED[word]}")
    if word in _PLAIN and (word != "NULL" or in_program):
        cursor.advance()
        return _PLAIN[word]
    reader = _READERS.get(word)
    if reader is None:
        if cursor.ahead().value == ".":
            cursor.refuse("types that are registered in a catalog are not supported")
        near = _near(word)
        cursor.refuse(f"there is no type '{cursor.spelled(token)}'{near}")
    cursor.advance()
    return reader(cursor, in_program)


def _near(word: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, [*_PLAIN, *_READERS], n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _length(cursor: Cursor, default: int) -> int:
    if not cursor.take_symbol("("):
        return default
    at = cursor.token
    length = cursor.integer()
    if not 1 <= length <= MAX_LENGTH:
        cursor.refuse(f"a length is between 1 and {MAX_LENGTH}", at)
    cursor.expect_symbol(")")
    return length


def _precision(cursor: Cursor, default: int, least: int = 0, most: int = 9) -> int:
    if not cursor.take_symbol("("):
        return default
    at = cursor.token
    precision = cursor.integer()
    if not least <= precision <= most:
        cursor.refuse(f"the precision is between {least} and {most}", at)
    cursor.expect_symbol(")")
    return precision


def _varchar(cursor: Cursor, in_program: bool) -> SqlType:
    return VarCharType(_length(cursor, 1 if in_program else MAX_LENGTH))


def _varbinary(cursor: Cursor, in_program: bool) -> SqlType:
    return VarBinaryType(_length(cursor, 1 if in_program else MAX_LENGTH))


def _char(cursor: Cursor, in_program: bool) -> SqlType:
    if cursor.take("VARYING"):
        return _varchar(cursor, in_program)
    return CharType(_length(cursor, 1))


def _binary(cursor: Cursor, in_program: bool) -> SqlType:
    if cursor.take("VARYING"):
        return _varbinary(cursor, in_program)
    return BinaryType(_length(cursor, 1))


def _decimal(cursor: Cursor, _: bool) -> SqlType:
    if not cursor.take_symbol("("):
        return DecimalType()
    at = cursor.token
    precision = cursor.integer()
    scale = 0
    if precision < 1:
        cursor.refuse("the precision of a DECIMAL is at least 1", at)
    precision = min(precision, MAX_PRECISION)  # a wider one becomes the widest, as in Flink
    if cursor.take_symbol(","):
        at = cursor.token
        scale = cursor.integer()
        if scale > precision:
            cursor.refuse(f"the scale of a DECIMAL({precision}) is between 0 and {precision}", at)
    cursor.expect_symbol(")")
    return DecimalType(precision, scale)


def _double(cursor: Cursor, _: bool) -> SqlType:
    cursor.take("PRECISION")
    return DOUBLE


def _time(cursor: Cursor, _: bool) -> SqlType:
    precision = _precision(cursor, 0)
    cursor.take("WITHOUT", "TIME", "ZONE")
    return TimeType(precision)


def _timestamp(cursor: Cursor, _: bool) -> SqlType:
    precision = _precision(cursor, 6)
    at = cursor.token
    if cursor.take("WITH", "LOCAL", "TIME", "ZONE"):
        return TimestampLtzType(precision)
    if cursor.take("WITH", "TIME", "ZONE"):
        cursor.refuse("TIMESTAMP WITH TIME ZONE is not supported; TIMESTAMP_LTZ is a moment", at)
    cursor.take("WITHOUT", "TIME", "ZONE")
    return TimestampType(precision)


def _interval(cursor: Cursor, _: bool) -> SqlType:
    first = cursor.expect_one_of("YEAR", "QUARTER", "MONTH", "WEEK", *_DAY_UNITS)
    _precision(cursor, 2)
    second = None
    if cursor.take("TO"):
        units = ("MONTH",) if first == "YEAR" else _DAY_UNITS
        second = cursor.expect_one_of(*units)
        _precision(cursor, 6)
    months = first in ("YEAR", "QUARTER", "MONTH") or second == "MONTH"
    return MonthIntervalType() if months else SecondIntervalType()


def _in_brackets(cursor: Cursor, read: Callable[[], SqlType]) -> SqlType:
    cursor.expect_symbol("<")
    found = read()
    _close_brackets(cursor)
    return found


def _close_brackets(cursor: Cursor) -> None:
    cursor.expect_symbol(">")


def _array(cursor: Cursor, in_program: bool) -> SqlType:
    return ArrayType(_in_brackets(cursor, lambda: read_type(cursor, in_program=in_program)))


def _multiset(cursor: Cursor, in_program: bool) -> SqlType:
    return MultisetType(_in_brackets(cursor, lambda: read_type(cursor, in_program=in_program)))


def _map(cursor: Cursor, in_program: bool) -> SqlType:
    cursor.expect_symbol("<")
    key = read_type(cursor, in_program=in_program)
    cursor.expect_symbol(",")
    value = read_type(cursor, in_program=in_program)
    _close_brackets(cursor)
    return MapType(key, value)


def _row(cursor: Cursor, in_program: bool) -> SqlType:
    def field() -> Field:
        name = cursor.name()
        kind = read_type(cursor, in_program=in_program)
        comment = cursor.string() if cursor.token.kind == "string" else ""
        return Field(name, kind, comment)

    closing = ")" if cursor.take_symbol("(") else ">"
    if closing == ">":
        if cursor.token.value == "<>" and cursor.token.kind == "symbol":
            cursor.advance()
            return RowType(())
        cursor.expect_symbol("<")
    fields = [] if cursor.at_symbol(closing) else cursor.list_of(field)
    cursor.expect_symbol(closing)
    return RowType(tuple(fields))


_READERS: dict[str, Callable[[Cursor, bool], SqlType]] = {
    "ARRAY": _array,
    "BINARY": _binary,
    "CHAR": _char,
    "CHARACTER": _char,
    "DEC": _decimal,
    "DECIMAL": _decimal,
    "DOUBLE": _double,
    "INTERVAL": _interval,
    "MAP": _map,
    "MULTISET": _multiset,
    "NUMERIC": _decimal,
    "ROW": _row,
    "TIME": _time,
    "TIMESTAMP": _timestamp,
    "TIMESTAMP_LTZ": lambda cursor, _: TimestampLtzType(_precision(cursor, 6)),
    "VARBINARY": _varbinary,
    "VARCHAR": _varchar,
}
