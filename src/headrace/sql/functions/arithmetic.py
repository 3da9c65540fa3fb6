"""+ - * / % on numbers; on dates and intervals see ``date_arithmetic``. Integers wrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from headrace.errors import SqlError, SqlValidationError
from headrace.sql import coercion
from headrace.sql.expressions import Call, Expression, Literal
from headrace.sql.functions import date_arithmetic
from headrace.sql.functions.function import Function, Session, Signature, TypeRule
from headrace.sql.functions.kernels import cast_arrow, map_values
from headrace.sql.functions.numbers import divide_integers, rescale, to_integer
from headrace.sql.functions.rules import a_number, first_of, takes
from headrace.sql.functions.text_formats import EXACT, QUOTIENT, fit_decimal
from headrace.sql.types import (
    INT,
    DecimalType,
    IntegerType,
    MonthIntervalType,
    NullType,
    NumericType,
    SecondIntervalType,
    SqlType,
    as_decimal,
    is_decimal_exact,
    to_arrow,
)

DecimalRule = Callable[[DecimalType, DecimalType], DecimalType]


def number_of(kind: SqlType) -> NumericType | None:
    """Return the type in which an operand is computed."""
    match kind:
        case NumericType():
            return kind
        case NullType():
            return INT
    return None


def _numbers(decimal_rule: DecimalRule) -> TypeRule:
    def rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
        if len(arguments) != 2:
            return None
        one, two = (number_of(each.type) for each in arguments)
        if one is None or two is None:
            return None
        types: tuple[SqlType, SqlType]
        if isinstance(arguments[0].type, NullType):
            one = two
        if isinstance(arguments[1].type, NullType):
            two = one
        decimals = isinstance(one, DecimalType) or isinstance(two, DecimalType)
        if decimals and is_decimal_exact(one) and is_decimal_exact(two):
            types = as_decimal(one), as_decimal(two)
            result: SqlType = decimal_rule(as_decimal(one), as_decimal(two))
        else:
            result = coercion.common_number(one, two)
            types = result, result
        nulls = [each.type.nullable for each in arguments]
        first, second = (each.with_nullable(n) for each, n in zip(types, nulls, strict=True))
        return Signature((first, second), result.with_nullable(any(nulls)))

    return rule


def _arithmetic(name: str, exact: Callable[[Decimal, Decimal], Decimal]) -> Callable[..., Any]:
    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        import pyarrow.compute as pc

        kind = call.type
        if not isinstance(kind, DecimalType):
            return getattr(pc, name)(*arguments)
        one, two = arguments
        digits = (
            one.type.precision + two.type.precision + 1
            if name == "multiply"
            else max(one.type.precision - one.type.scale, two.type.precision - two.type.scale)
            + max(one.type.scale, two.type.scale)
            + 1
        )
        if digits > 76:
            return map_values(
                lambda left, right: fit_decimal(exact(left, right), kind.precision, kind.scale),
                [one, two],
                to_arrow(kind),
            )
        if digits > 38:
            one, two = _wide(one), _wide(two)
        return rescale(getattr(pc, name)(one, two), kind)

    return kernel


def _wide(value: Any) -> Any:
    import pyarrow as pa

    return cast_arrow(value, pa.decimal256(value.type.precision, value.type.scale))


def _divide(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow.compute as pc

    one, two = arguments
    match call.type:
        case DecimalType() as kind:
            return _divide_decimals(one, two, kind)
        case IntegerType():
            return divide_integers(one, two)
    return pc.divide(one, two)


def _divide_decimals(one: Any, two: Any, kind: DecimalType) -> Any:
    """Return quotients, rounded half up.

    Arrow's are cut off; digits more of the first number make as many more of the quotient.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    zero = pa.scalar(Decimal(0), two.type)
    if pc.any(pc.and_(pc.equal(two, zero), pc.is_valid(one))).as_py():
        raise SqlError("Division by zero", hint="NULLIF(divisor, 0) gives NULL instead")
    left, right = one.type, two.type
    # The scale of Arrow's quotient; it gets one digit more than the result has.
    scale = left.scale + right.precision - right.scale + 1
    more = max(kind.scale + 1 - scale, 0)
    digits = left.precision - left.scale + right.scale + max(scale + more, 4)
    if max(digits, left.precision + more) > 76:
        return map_values(
            lambda a, b: fit_decimal(QUOTIENT.divide(a, b), kind.precision, kind.scale),
            [one, pc.if_else(pc.equal(two, zero), pa.scalar(None, right), two)],
            to_arrow(kind),
        )
    wider = pa.decimal128 if digits <= 38 else pa.decimal256
    one = pc.cast(one, wider(left.precision + more, left.scale + more))
    two = pc.cast(two, wider(right.precision, right.scale))
    two = pc.if_else(pc.equal(two, pa.scalar(Decimal(0), two.type)), pa.scalar(None, two.type), two)
    return rescale(pc.divide(one, two), kind)


def _remainder(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    one, two = arguments
    if pa.types.is_decimal(one.type):
        kind = coercion.decimal_remainder(_decimal_of(one.type), _decimal_of(two.type))
        rest = map_values(
            lambda left, right: fit_decimal(_rest(left, right), kind.precision, kind.scale),
            [one, two],
            to_arrow(kind),
        )
        if isinstance(call.type, DecimalType):
            return rescale(rest, call.type)
        return to_integer(rest, to_arrow(call.type))
    one, two = (cast_arrow(each, pa.int64()) for each in arguments)
    rest = pc.subtract(one, pc.multiply(divide_integers(one, two), two))
    return cast_arrow(rest, to_arrow(call.type))


def _decimal_of(kind: Any) -> DecimalType:
    return DecimalType(kind.precision, kind.scale)


def _rest(one: Decimal, two: Decimal) -> Decimal:
    if two == 0:
        raise SqlError("Division by zero", hint="NULLIF(divisor, 0) gives NULL instead")
    return EXACT.remainder(one, two)


def divides_by_zero(call: Call) -> bool:
    """Return whether a division may raise: of exact numbers, by something that may be 0."""
    if not isinstance(call.type, IntegerType | DecimalType):
        return False
    divisor = call.arguments[1]
    while isinstance(divisor, Call) and divisor.function == "CAST":
        divisor = divisor.arguments[0]
    return not (isinstance(divisor, Literal) and divisor.value not in (0, None))


def _negate(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow.compute as pc

    return pc.negate(arguments[0])


def _same(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    return arguments[0]


def _interval(kind: SqlType) -> SqlType | None:
    return kind if isinstance(kind, MonthIntervalType | SecondIntervalType) else None


def _dispatch(numbers: Callable[..., Any], times: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that is ``times`` for dates, times and intervals."""

    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        chosen = numbers if isinstance(call.type, NumericType) else times
        return chosen(call, arguments, session)

    return kernel


def _remainder_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    """Return the signature of a remainder; of integers it has, as in Flink, number2's type."""
    found = _numbers(coercion.decimal_remainder)(arguments, options)
    if found is None or not is_decimal_exact(found.result):
        return None
    divisor = arguments[1].type
    whole = not isinstance(found.result, DecimalType) or found.result.scale == 0
    if whole and is_decimal_exact(divisor):
        return Signature(found.arguments, divisor.with_nullable(found.result.nullable))
    return found


def _quotient_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    """Return the signature of a quotient; of constants, as in Flink, not by zero."""
    dividend, divisor = (each.value if isinstance(each, Literal) else None for each in arguments)
    if dividend is not None and divisor == 0:
        raise SqlValidationError("Division by zero", hint="NULLIF(divisor, 0) gives NULL instead")
    return first_of(_numbers(coercion.decimal_quotient), date_arithmetic.divide_rule)(
        arguments, options
    )


FUNCTIONS = (
    Function(
        "+",
        first_of(_numbers(coercion.decimal_sum), date_arithmetic.add_rule),
        _dispatch(_arithmetic("add", EXACT.add), date_arithmetic.add),
        ("number1 + number2", "timestamp + interval", "interval1 + interval2"),
        "The sum.",
        (("1 + 2", "3"), ("1.5 + 1", "2.5")),
    ),
    Function(
        "-",
        first_of(_numbers(coercion.decimal_sum), date_arithmetic.subtract_rule),
        _dispatch(_arithmetic("subtract", EXACT.subtract), date_arithmetic.subtract),
        ("number1 - number2", "timestamp - interval", "interval1 - interval2"),
        "The difference.",
        (("1 - 2", "-1"),),
    ),
    Function(
        "*",
        first_of(_numbers(coercion.decimal_product), date_arithmetic.multiply_rule),
        _dispatch(_arithmetic("multiply", EXACT.multiply), date_arithmetic.multiply),
        ("number1 * number2", "interval * number"),
        "The product.",
        (("2 * 3", "6"), ("1.5 * 1.5", "2.25")),
    ),
    Function(
        "/",
        _quotient_rule,
        _dispatch(_divide, date_arithmetic.divide),
        ("number1 / number2", "interval / number"),
        "The quotient; of integers it is an integer, and a division by zero fails the job.",
        (("7 / 2", "3"), ("7.0 / 2", "3.500000000000")),
        can_fail=divides_by_zero,
    ),
    Function(
        "%",
        _remainder_rule,
        _remainder,
        ("number1 % number2",),
        "The remainder, with the sign of number1.",
        (("-7 % 4", "-3"),),
        can_fail=divides_by_zero,
    ),
    Function(
        "MOD",
        _remainder_rule,
        _remainder,
        ("MOD(number1, number2)",),
        "The remainder, with the sign of number1.",
        (("MOD(7, 4)", "3"),),
        can_fail=divides_by_zero,
    ),
    Function(
        "NEGATE",
        first_of(
            takes(a_number, gives=lambda types: types[0]),
            takes(_interval, gives=lambda types: types[0]),
        ),
        _negate,
        ("- number", "- interval"),
        "The number or interval with the other sign.",
        (("- (1 + 2)", "-3"),),
    ),
    Function(
        "PLUS",
        takes(a_number, gives=lambda types: types[0]),
        _same,
        ("+ number",),
        "The number itself.",
        (("+ 1", "1"),),
    ),
)
