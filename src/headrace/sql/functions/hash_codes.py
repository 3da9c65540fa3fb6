"""HASH_CODE: the hash codes that values have in Java."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from headrace.sql.expressions import Call, Expression
from headrace.sql.functions.function import Function, Session, Signature
from headrace.sql.functions.kernels import cast_arrow, map_values
from headrace.sql.types import (
    INT,
    BigIntType,
    BooleanType,
    CharacterType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    SqlType,
    to_arrow,
)


def _rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) != 1:
        return None
    kind = arguments[0].type
    known = isinstance(kind, CharacterType | IntegerType | BooleanType | DateType)
    if not known and not isinstance(kind, FloatType | DoubleType):
        return None
    return Signature((kind,), INT.with_nullable(kind.nullable))


def _of_text(text: str) -> int:
    code = 0
    for unit in memoryview(text.encode("utf-16-le")).cast("H"):
        code = (31 * code + unit) & 0xFFFFFFFF
    return _signed(code)


def _of_bits(bits: int) -> int:
    return _signed((bits ^ bits >> 32) & 0xFFFFFFFF)


def _signed(code: int) -> int:
    return code - (1 << 32) if code >= 1 << 31 else code


def _of_float(number: float) -> int:
    (bits,) = struct.unpack(">i", struct.pack(">f", number))
    return int(bits)


def _of_double(number: float) -> int:
    (bits,) = struct.unpack(">Q", struct.pack(">d", number))
    return _of_bits(bits)


def _of(kind: SqlType) -> Callable[[Any], int]:
    match kind:
        case CharacterType():
            return _of_text
        case BigIntType():
            return lambda number: _of_bits(number & 0xFFFFFFFFFFFFFFFF)
        case BooleanType():
            return lambda value: 1231 if value else 1237
        case FloatType():
            return _of_float
        case DoubleType():
            return _of_double
    return int


def _hash_code(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa

    kind = call.arguments[0].type
    (value,) = arguments
    if isinstance(kind, DateType):
        value = cast_arrow(value, pa.int32())
    return map_values(_of(kind), [value], to_arrow(call.type))


FUNCTIONS = (
    Function(
        "HASH_CODE",
        _rule,
        _hash_code,
        ("HASH_CODE(value)",),
        "The hash code that Java has for the text, number, BOOLEAN or date.",
        (("HASH_CODE('abc')", "96354"),),
    ),
)
