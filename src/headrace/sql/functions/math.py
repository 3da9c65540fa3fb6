"""Functions of numbers: rounding, powers, logarithms, angles."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

from headrace.sql.expressions import Call, Expression, Literal
from headrace.sql.functions.function import Function, Kernel, Session, Signature
from headrace.sql.functions.kernels import arrow, cast_arrow, is_scalar, map_values, python
from headrace.sql.functions.numbers import no_decimal, rescale, round_doubles, to_decimal
from headrace.sql.functions.rules import (
    NOT_NULL,
    NULLABLE,
    a_bigint,
    a_double,
    a_number,
    a_text,
    an_int,
    first_of,
    same_as,
    takes,
)
from headrace.sql.functions.text_formats import EXACT
from headrace.sql.types import (
    BYTES,
    DOUBLE,
    STRING,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    SqlType,
    to_arrow,
)


def _whole(types: Sequence[SqlType]) -> SqlType:
    """Return the type of FLOOR and CEIL: a DECIMAL has no digits after the point."""
    kind = types[0]
    return DecimalType(kind.precision, 0) if isinstance(kind, DecimalType) else kind


def floor_or_ceil(ceil: bool) -> Kernel:
    """Return the kernel of FLOOR or CEIL of numbers."""
    rounding = ROUND_CEILING if ceil else ROUND_FLOOR

    def whole(number: Decimal) -> Decimal:
        return number.quantize(Decimal(1), rounding, EXACT)

    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        import pyarrow.compute as pc

        match call.type:
            case IntegerType():
                return arguments[0]
            case DecimalType():
                return map_values(whole, arguments, to_arrow(call.type))
        return (pc.ceil if ceil else pc.floor)(arguments[0])

    return kernel


WHOLE = takes(a_number, gives=_whole)
"""The type rule of FLOOR and CEIL of numbers."""


def _round_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    found = takes(a_number, an_int, gives=same_as(0), optional=1)(arguments, options)
    if found is None or not isinstance(found.result, DecimalType):
        return found
    digits = 0
    if len(arguments) == 2:
        if not isinstance(arguments[1], Literal) or arguments[1].value is None:
            return found
        digits = arguments[1].value
    kind = found.result
    if digits >= kind.scale:
        return found
    precision = 1 + kind.precision - kind.scale + max(digits, 0)
    result = DecimalType(min(precision, 38), max(digits, 0), nullable=kind.nullable)
    return Signature(found.arguments, result)


def _rounded(rounding: str) -> Kernel:
    def exact(number: Decimal, digits: int = 0) -> Decimal:
        return number.quantize(Decimal(1).scaleb(-digits), rounding, EXACT)

    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        kind = call.type
        match kind:
            case DecimalType() if (
                (len(call.arguments) == 1 or isinstance(call.arguments[1], Literal))
                and rounding == ROUND_HALF_UP
                and _digits(call) >= 0
            ):
                return rescale(arguments[0], kind)
            case DecimalType():
                scale = kind.scale
                beyond = Decimal(10) ** (kind.precision - scale)

                def decimal(number: Decimal, digits: int = 0) -> Decimal | None:
                    rounded = exact(number, min(digits, scale))
                    if abs(rounded) >= beyond:
                        return None
                    return rounded.quantize(Decimal(1).scaleb(-scale), context=EXACT)

                return map_values(decimal, arguments, to_arrow(kind))
            case IntegerType():
                half = 1 << kind.bits - 1

                def integer(number: int, digits: int = 0) -> int:
                    rounded = number if digits >= 0 else int(exact(Decimal(number), digits))
                    return (rounded + half) % (2 * half) - half

                return map_values(integer, arguments, to_arrow(kind))

        if rounding == ROUND_HALF_UP and isinstance(kind, DoubleType):
            quick = _quick_round(call, arguments, exact)
            if quick is not None:
                return quick

        def floating(number: float, digits: int = 0) -> float:
            if not math.isfinite(number):
                raise no_decimal(number)
            return float(exact(Decimal(repr(number)), digits))

        return _as_single(call, floating, arguments)

    return kernel


def _of_floating(call: Call) -> bool:
    return isinstance(call.type, DoubleType | FloatType)


def _digits(call: Call) -> int:
    """Return the constant number of digits of ROUND."""
    if len(call.arguments) == 1:
        return 0
    digits = call.arguments[1]
    assert isinstance(digits, Literal)
    return -1 if digits.value is None else int(digits.value)


def _quick_round(call: Call, arguments: Sequence[Any], exact: Callable[..., Decimal]) -> Any:
    """Return rounded DOUBLEs, or None if they are no array or the digits are no small constant."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    constant = len(call.arguments) == 1 or isinstance(call.arguments[1], Literal)
    if is_scalar(arguments[0]) or not constant or not 0 <= _digits(call) <= 15:
        return None
    digits, array = _digits(call), arguments[0]
    whole = round_doubles(array, digits)
    mask = pa.array(np.isnan(whole))
    found = pa.array(whole / 10.0**digits)

    def one(number: float) -> float:
        if not math.isfinite(number):
            raise no_decimal(number)
        return float(exact(Decimal(repr(number)), digits))

    return pc.replace_with_mask(found, mask, map_values(one, [array.filter(mask)], array.type))


def _as_single(call: Call, function: Callable[..., float], arguments: Sequence[Any]) -> Any:
    """Return results for DOUBLE; a FLOAT is computed from the shortest decimal that it is."""
    import numpy as np
    import pyarrow as pa

    kind = to_arrow(call.type)
    if kind == pa.float64():
        return map_values(function, arguments, kind)

    def single(number: float, *rest: Any) -> float:
        return function(float(str(np.float32(number))), *rest)

    return map_values(single, arguments, kind)


def _sign(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    sign = pc.sign(arguments[0])
    if isinstance(call.type, DecimalType):
        return to_decimal(cast_arrow(sign, pa.int8()), call.type)
    if pa.types.is_floating(arguments[0].type):
        return pc.if_else(pc.equal(arguments[0], 0.0), arguments[0], sign)  # -0.0 stays
    return cast_arrow(sign, to_arrow(call.type))


def _double(function: Callable[..., float]) -> Kernel:
    """Return a kernel of DOUBLEs: NaN where the function is not defined."""

    def safe(*numbers: float) -> float:
        try:
            return function(*numbers)
        except ValueError:
            return math.nan
        except (OverflowError, ZeroDivisionError):
            return math.inf

    return python(safe)


def _log(first: float, second: float | None = None) -> float:
    if second is None:
        return _ln(first)
    return _ln(second) / _ln(first)


def _ln(number: float) -> float:
    return -math.inf if number == 0 else math.log(number)


def _log2(number: float) -> float:
    return -math.inf if number == 0 else math.log(number) / math.log(2)


def _sinh(number: float) -> float:
    try:
        return math.sinh(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def _square_root(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    """Return the power of 0.5, as Flink does: 0.0 for -0.0."""
    import pyarrow.compute as pc

    return pc.power(arguments[0], 0.5)


def _constant(value: float) -> Kernel:
    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        import pyarrow as pa

        return pa.scalar(value, pa.float64())

    return kernel


def _hex(value: int | str | bytes) -> str:
    if isinstance(value, int):
        return f"{value % (1 << 64):X}"
    return (value.encode() if isinstance(value, str) else value).hex().upper()


def _unhex(text: str) -> bytes | None:
    if re.fullmatch("[0-9a-fA-F]*", text) is None:
        return None
    # As in Flink, the first of an odd number of digits counts as 0.
    return bytes.fromhex(text if len(text) % 2 == 0 else "00" + text[1:])


def _function(
    name: str, kernel: Kernel, about: str, example: tuple[str, str], arguments: int = 1
) -> Function:
    form = f"{name}({', '.join(('number1', 'number2')[:arguments]) or ''})"
    if arguments == 1:
        form = f"{name}(number)"
    rule = takes(*[a_double] * arguments, gives=DOUBLE)
    return Function(name, rule, kernel, (form,), about, (example,))


FUNCTIONS = (
    Function(
        "ABS",
        takes(a_number, gives=same_as(0)),
        arrow("abs"),
        ("ABS(number)",),
        "The number without its sign.",
        (("ABS(-1)", "1"),),
    ),
    Function(
        "SIGN",
        takes(a_number, gives=same_as(0)),
        _sign,
        ("SIGN(number)",),
        "-1, 0 or 1, as a number of the same type.",
        (("SIGN(-5)", "-1"),),
    ),
    Function(
        "ROUND",
        _round_rule,
        _rounded(ROUND_HALF_UP),
        ("ROUND(number)", "ROUND(number, digits)"),
        "The number rounded half up to a number of decimal places; negative: before the point.",
        (("ROUND(2.345, 2)", "2.35"), ("ROUND(15, -1)", "20")),
        can_fail=_of_floating,
    ),
    Function(
        "TRUNCATE",
        _round_rule,
        _rounded(ROUND_DOWN),
        ("TRUNCATE(number)", "TRUNCATE(number, digits)"),
        "The number cut to a number of decimal places.",
        (("TRUNCATE(42.345, 2)", "42.34"),),
        can_fail=_of_floating,
    ),
    _function(
        "POWER", arrow("power"), "number1 to the power of number2.", ("POWER(2, 10)", "1024.0"), 2
    ),
    _function("SQRT", _square_root, "The square root.", ("SQRT(4)", "2.0")),
    _function("EXP", arrow("exp"), "e to the power of the number.", ("EXP(0)", "1.0")),
    _function("LN", arrow("ln"), "The natural logarithm.", ("LN(1)", "0.0")),
    _function("LOG10", arrow("log10"), "The logarithm to base 10.", ("LOG10(100)", "2.0")),
    _function("LOG2", _double(_log2), "The logarithm to base 2.", ("LOG2(8)", "3.0")),
    Function(
        "LOG",
        takes(a_double, a_double, gives=DOUBLE, optional=1),
        _double(_log),
        ("LOG(number)", "LOG(base, number)"),
        "The natural logarithm, or the one to a base.",
        (("LOG(1)", "0.0"), ("LOG(2, 8)", "3.0")),
    ),
    _function("SIN", _double(math.sin), "The sine of an angle in radians.", ("SIN(0)", "0.0")),
    _function("COS", _double(math.cos), "The cosine of an angle in radians.", ("COS(0)", "1.0")),
    _function("TAN", _double(math.tan), "The tangent of an angle in radians.", ("TAN(0)", "0.0")),
    _function(
        "COT",
        _double(lambda x: 1.0 / math.tan(x)),
        "The cotangent of an angle in radians.",
        ("COT(1)", "0.6420926159343306"),
    ),
    _function("ASIN", _double(math.asin), "The arc sine.", ("ASIN(0)", "0.0")),
    _function("ACOS", _double(math.acos), "The arc cosine.", ("ACOS(1)", "0.0")),
    _function("ATAN", _double(math.atan), "The arc tangent.", ("ATAN(0)", "0.0")),
    _function(
        "ATAN2",
        _double(math.atan2),
        "The angle of the point (number2, number1).",
        ("ATAN2(0, 1)", "0.0"),
        2,
    ),
    _function("SINH", _double(_sinh), "The hyperbolic sine.", ("SINH(0)", "0.0")),
    _function("COSH", _double(math.cosh), "The hyperbolic cosine.", ("COSH(0)", "1.0")),
    _function("TANH", _double(math.tanh), "The hyperbolic tangent.", ("TANH(0)", "0.0")),
    _function(
        "DEGREES",
        _double(lambda x: x * (180.0 / math.pi)),
        "An angle in radians as degrees.",
        ("DEGREES(0)", "0.0"),
    ),
    _function(
        "RADIANS",
        _double(lambda x: x * (math.pi / 180.0)),
        "An angle in degrees as radians.",
        ("RADIANS(0)", "0.0"),
    ),
    Function(
        "PI",
        takes(gives=DOUBLE, nulls=NOT_NULL),
        _constant(math.pi),
        ("PI()", "PI"),
        "The number pi.",
        (("PI()", "3.141592653589793"),),
    ),
    Function(
        "E",
        takes(gives=DOUBLE, nulls=NOT_NULL),
        _constant(math.e),
        ("E()",),
        "The number e.",
        (("E()", "2.718281828459045"),),
    ),
    Function(
        "BIN",
        takes(a_bigint, gives=STRING),
        python(lambda number: f"{number % (1 << 64):b}"),
        ("BIN(integer)",),
        "The integer in binary digits.",
        (("BIN(4)", "100"),),
    ),
    Function(
        "HEX",
        first_of(takes(a_bigint, gives=STRING), takes(a_text, gives=STRING)),
        python(_hex),
        ("HEX(integer)", "HEX(string)"),
        "The integer, or the text in UTF-8, in hexadecimal digits.",
        (("HEX(20)", "14"), ("HEX('hello')", "68656C6C6F")),
    ),
    Function(
        "UNHEX",
        takes(a_text, gives=BYTES, nulls=NULLABLE),
        python(_unhex),
        ("UNHEX(string)",),
        "The bytes of hexadecimal digits; NULL if there are other characters.",
        (("UNHEX('68656C6C6F')", "68656c6c6f"),),
    ),
)
