"""Comparisons: =, <, BETWEEN, IN, IS NULL, GREATEST."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from headrace.errors import SqlValidationError
from headrace.sql.coercion import common_type
from headrace.sql.expressions import Call, Expression
from headrace.sql.functions.function import Function, Session, Signature
from headrace.sql.functions.kernels import can_be_dictionary, is_scalar, map_values
from headrace.sql.functions.rules import ANY_NULL, NOT_NULL, anything, takes, to_common
from headrace.sql.types import (
    BOOLEAN,
    ArrayType,
    CharacterType,
    DateType,
    MapType,
    MultisetType,
    NullType,
    NumericType,
    RowType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
)


def comparable(one: SqlType, two: SqlType) -> SqlType | None:
    """Return the type in which values of two types are compared; None: they are not."""
    match one, two:
        case (CharacterType(), NumericType() | DateType() | TimeType() as other) | (
            NumericType() | DateType() | TimeType() as other,
            CharacterType(),
        ):
            return other.with_nullable(True)
        case (CharacterType(), TimestampType() | TimestampLtzType() as other) | (
            TimestampType() | TimestampLtzType() as other,
            CharacterType(),
        ):
            return other.without_attribute()
        case (TimestampType() | TimestampLtzType(), DateType()) | (
            DateType(),
            TimestampType() | TimestampLtzType(),
        ):
            return None
        case (TimestampType(), TimestampLtzType()) | (TimestampLtzType(), TimestampType()):
            return common_type([one, two], widest=True)
    return common_type([one, two])


def _ordered(kind: SqlType) -> bool:
    return not isinstance(kind, MapType | MultisetType | ArrayType | RowType)


def _has_null(kind: SqlType) -> bool:
    """Return whether a comparison may be NULL: of a NULL, or of a row with one."""
    inside = kind.fields if isinstance(kind, RowType) else ()
    return kind.nullable or any(_has_null(each.type) for each in inside)


def _compare(equality: bool, nulls: str = ANY_NULL) -> Callable[..., Signature | None]:
    def rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
        if len(arguments) != 2:
            return None
        one, two = (each.type for each in arguments)
        kind = comparable(one, two)
        if kind is None or not (equality or _ordered(kind)):
            return None
        if equality and isinstance(one, NumericType) != isinstance(two, NumericType):
            _refuse_text(one, two)
        types = (kind.with_nullable(one.nullable), kind.with_nullable(two.nullable))
        nullable = nulls == ANY_NULL and (_has_null(one) or _has_null(two))
        return Signature(types, BOOLEAN.with_nullable(nullable))

    return rule


def _refuse_text(one: SqlType, two: SqlType) -> None:
    """Refuse, as Flink, to ask whether a number is equal to a text."""
    if any(isinstance(each, CharacterType) for each in (one, two)):
        raise SqlValidationError(
            f"a number and a text cannot be compared for equality: {one} and {two}",
            hint="CAST the text to the type of the number",
        )


_SIGNS = {
    "equal": lambda one, two: one == two,
    "not_equal": lambda one, two: one != two,
    "less": lambda one, two: one < two,
    "less_equal": lambda one, two: one <= two,
    "greater": lambda one, two: one > two,
    "greater_equal": lambda one, two: one >= two,
}


def compare(name: str, one: Any, two: Any) -> Any:
    """Return the comparison of values of one type by a name of ``pyarrow.compute``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_null(one.type) or pa.types.is_null(two.type):
        array = two if is_scalar(one) else one
        return pa.scalar(None, pa.bool_()) if is_scalar(array) else pa.nulls(len(array), pa.bool_())
    if not can_be_dictionary(one.type):
        return map_values(_SIGNS[name], [one, two], pa.bool_())
    return getattr(pc, name)(one, two)


def _comparison(name: str) -> Callable[..., Any]:
    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        return compare(name, *arguments)

    return kernel


def _distinct(negated: bool) -> Callable[..., Any]:
    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        import pyarrow.compute as pc

        one, two = arguments
        no_one, no_two = pc.is_null(one), pc.is_null(two)
        same = pc.fill_null(compare("equal", one, two), False)
        same = pc.or_(same, pc.and_(no_one, no_two))
        return same if negated else pc.invert(same)

    return kernel


def _between_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) != 3:
        return None
    value, *ends = (each.type for each in arguments)
    kind = _comparable_all(value, ends)
    if kind is None or not _ordered(kind):
        return None
    types = tuple(kind.with_nullable(each.type.nullable) for each in arguments)
    return Signature(types, BOOLEAN.with_nullable(any(each.nullable for each in types)))


def _comparable_all(value: SqlType, others: Sequence[SqlType]) -> SqlType | None:
    kind: SqlType | None = value
    for each in others:
        kind = None if kind is None else comparable(kind, each)
    return kind


def _between(symmetric: bool) -> Callable[..., Any]:
    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        import pyarrow.compute as pc

        value, low, high = arguments

        def inside(start: Any, end: Any) -> Any:
            return pc.and_kleene(
                compare("greater_equal", value, start), compare("less_equal", value, end)
            )

        found = inside(low, high)
        return pc.or_kleene(found, inside(high, low)) if symmetric else found

    return kernel


def _in_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) < 2:
        return None
    value, *choices = (each.type for each in arguments)
    if (
        any(isinstance(each, NullType) for each in choices)
        and common_type([value, *choices]) is None
    ):
        return None
    kind = _comparable_all(value, choices)
    if kind is None:
        return None
    types = tuple(kind.with_nullable(each.type.nullable) for each in arguments)
    return Signature(types, BOOLEAN.with_nullable(any(map(_has_null, types))))


def _in(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    value, *choices = arguments
    constants = all(is_scalar(each) for each in choices)
    if not constants or is_scalar(value) or not can_be_dictionary(value.type):
        return reduce(pc.or_kleene, (compare("equal", value, each) for each in choices))
    known = [each.as_py() for each in choices if each.is_valid]
    equal = [each for each in known if each == each]  # NaN is equal to nothing
    found = pc.is_in(value, pa.array(equal, value.type))
    if len(known) < len(choices):
        found = pc.if_else(found, True, pa.scalar(None, pa.bool_()))
    return pc.if_else(pc.is_valid(value), found, pa.scalar(None, pa.bool_()))


def _extreme(greatest: bool) -> Callable[..., Any]:
    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        import pyarrow.compute as pc

        name = "greater_equal" if greatest else "less_equal"

        def better(one: Any, two: Any) -> Any:
            chosen = pc.if_else(compare(name, one, two), one, two)
            return chosen

        return reduce(better, arguments)

    return kernel


def _is_null(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow.compute as pc

    return pc.is_null(arguments[0])


def _is_not_null(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow.compute as pc

    return pc.is_valid(arguments[0])


def _comparisons() -> tuple[Function, ...]:
    rows = (
        ("=", "equal", True, "equal", (("1 = 1.0", "true"), ("1 = NULL", None))),
        ("<>", "not_equal", True, "not equal", (("1 <> 2", "true"),)),
        ("<", "less", False, "less", (("1 < 2", "true"),)),
        ("<=", "less_equal", False, "less than or equal", (("2 <= 2", "true"),)),
        (">", "greater", False, "greater", (("'b' > 'a'", "true"),)),
        (">=", "greater_equal", False, "greater than or equal", (("1 >= 2", "false"),)),
    )
    return tuple(
        Function(
            sign,
            _compare(equality),
            _comparison(name),
            (f"value1 {sign} value2",),
            f"Whether value1 is {words} to value2; NULL if one of them is NULL."
            if "equal" in words
            else f"Whether value1 is {words} than value2; NULL if one of them is NULL.",
            examples,
        )
        for sign, name, equality, words, examples in rows
    )


def _no_null_type(kind: SqlType) -> bool:
    return _ordered(kind) and not isinstance(kind, NullType)


FUNCTIONS = (
    *_comparisons(),
    Function(
        "IS DISTINCT FROM",
        _compare(True, NOT_NULL),
        _distinct(False),
        ("value1 IS DISTINCT FROM value2",),
        "Whether two values differ, where NULL is equal to NULL.",
        (("1 IS DISTINCT FROM NULL", "true"),),
    ),
    Function(
        "IS NOT DISTINCT FROM",
        _compare(True, NOT_NULL),
        _distinct(True),
        ("value1 IS NOT DISTINCT FROM value2",),
        "Whether two values are equal, where NULL is equal to NULL.",
        (("1 IS NOT DISTINCT FROM 1", "true"),),
    ),
    Function(
        "IS NULL",
        takes(anything, gives=BOOLEAN, nulls=NOT_NULL),
        _is_null,
        ("value IS NULL",),
        "Whether the value is NULL.",
        (("1 IS NULL", "false"),),
    ),
    Function(
        "IS NOT NULL",
        takes(anything, gives=BOOLEAN, nulls=NOT_NULL),
        _is_not_null,
        ("value IS NOT NULL",),
        "Whether the value is not NULL.",
        (("1 IS NOT NULL", "true"),),
    ),
    Function(
        "BETWEEN",
        _between_rule,
        _between(symmetric=False),
        ("value BETWEEN low AND high",),
        "Whether low <= value and value <= high.",
        (("2 BETWEEN 1 AND 3", "true"), ("2 BETWEEN 3 AND 1", "false")),
    ),
    Function(
        "BETWEEN SYMMETRIC",
        _between_rule,
        _between(symmetric=True),
        ("value BETWEEN SYMMETRIC end1 AND end2",),
        "Whether the value is between the two, in either order.",
        (("2 BETWEEN SYMMETRIC 3 AND 1", "true"),),
    ),
    Function(
        "IN",
        _in_rule,
        _in,
        ("value IN (value1, ...)",),
        "Whether the value is equal to one of the list; NULL if it is not and one of them is NULL.",
        (("2 IN (1, 2)", "true"), ("3 IN (1, 2)", "false")),
    ),
    Function(
        "GREATEST",
        to_common(_no_null_type, least=1, most=None),
        _extreme(greatest=True),
        ("GREATEST(value1, ...)",),
        "The greatest of the values; NULL if one of them is NULL.",
        (("GREATEST(1, 3, 2)", "3"),),
    ),
    Function(
        "LEAST",
        to_common(_no_null_type, least=1, most=None),
        _extreme(greatest=False),
        ("LEAST(value1, ...)",),
        "The least of the values; NULL if one of them is NULL.",
        (("LEAST(1, 3, 2)", "1"),),
    ),
)
