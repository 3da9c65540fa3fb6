"""CASE, IF, COALESCE, NULLIF. ``evaluate`` computes parts that may fail where needed only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.sql.coercion import common_type
from headrace.sql.expressions import Call, Expression
from headrace.sql.functions.comparison import comparable, compare
from headrace.sql.functions.function import Function, Session, Signature
from headrace.sql.functions.kernels import cast_arrow, map_values
from headrace.sql.functions.rules import NOT_NULL, a_text, takes
from headrace.sql.types import (
    BOOLEAN,
    ArrayType,
    BooleanType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    to_arrow,
)


def _case_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) < 3 or len(arguments) % 2 == 0:
        return None
    types = [each.type for each in arguments]
    conditions, values = types[:-1:2], [*types[1::2], types[-1]]
    if not all(isinstance(each, BooleanType | NullType) for each in conditions):
        return None
    kind = common_type(values)
    if kind is None:
        return None
    converted = [kind.with_nullable(each.nullable) for each in types]
    converted[:-1:2] = [BOOLEAN.with_nullable(each.nullable) for each in conditions]
    return Signature(tuple(converted), kind)


def _case(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    kind = to_arrow(call.type)
    result = cast_arrow(arguments[-1], kind)
    for n in range(len(arguments) - 3, -1, -2):
        result = choose(arguments[n], cast_arrow(arguments[n + 1], kind), result)
    return result


def choose(condition: Any, value: Any, otherwise: Any) -> Any:
    """Return ``value`` where a condition is true, else ``otherwise``."""
    import pyarrow.compute as pc

    return pc.if_else(pc.fill_null(condition, False), value, otherwise)


def _if_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    found = _case_rule(arguments, options) if len(arguments) == 3 else None
    if found is None or isinstance(found.result, ArrayType | MapType | MultisetType | RowType):
        return None
    nullable = any(each.type.nullable for each in arguments)
    return Signature(found.arguments, found.result.with_nullable(nullable))


def _coalesce_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    kind = common_type([each.type for each in arguments], widest=True)
    if kind is None or isinstance(kind, NullType):
        return None
    types = tuple(kind.with_nullable(each.type.nullable) for each in arguments)
    return Signature(types, kind.with_nullable(all(each.nullable for each in types)))


def _ifnull_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    return _coalesce_rule(arguments, options) if len(arguments) == 2 else None


def _coalesce(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow.compute as pc

    kind = to_arrow(call.type)
    result = cast_arrow(arguments[-1], kind)
    for each in reversed(arguments[:-1]):
        result = pc.if_else(pc.is_valid(each), cast_arrow(each, kind), result)
    return result


def _nullif_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) != 2:
        return None
    one, two = (each.type for each in arguments)
    if comparable(one, two) is None:
        return None
    return Signature((one, two), one.with_nullable(True))


def _nullif(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    from headrace.sql.functions.casts import convert

    one, two = arguments
    left, right = (each.type for each in call.arguments)
    kind = comparable(left, right)
    assert kind is not None
    same = compare(
        "equal",
        convert(one, left, kind, session, strict=True),
        convert(two, right, kind, session, strict=True),
    )
    return pc.if_else(pc.fill_null(same, False), pa.scalar(None, one.type), one)


def _tests(name: str, test: Any, about: str, *examples: tuple[str, str]) -> Function:
    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        import pyarrow as pa

        return map_values(
            lambda each: each is not None and test(each), arguments, pa.bool_(), nulls=True
        )

    return Function(
        name,
        takes(a_text, gives=BOOLEAN, nulls=NOT_NULL),
        kernel,
        (f"{name}(string)",),
        about,
        examples,
    )


def _is_decimal(text: str) -> bool:
    from headrace.sql.functions.text_formats import read_double

    try:
        read_double(text)
    except ValueError:
        return False
    return True


FUNCTIONS = (
    Function(
        "CASE",
        _case_rule,
        _case,
        (
            "CASE WHEN condition1 THEN value1 ... [ELSE value] END",
            "CASE value WHEN value1 THEN result1 ... [ELSE result] END",
        ),
        "The value of the first condition that is TRUE; else the value after ELSE, or NULL.",
        (("CASE WHEN 1 > 2 THEN 'a' ELSE 'b' END", "b"),),
    ),
    Function(
        "IF",
        _if_rule,
        _case,
        ("IF(condition, value1, value2)",),
        "value1 where the condition is TRUE, else value2.",
        (("IF(1 < 2, 'yes', 'no')", "yes"),),
    ),
    Function(
        "COALESCE",
        _coalesce_rule,
        _coalesce,
        ("COALESCE(value1, value2, ...)",),
        "The first value that is not NULL.",
        (("COALESCE(CAST(NULL AS INT), 5)", "5"),),
    ),
    Function(
        "IFNULL",
        _ifnull_rule,
        _coalesce,
        ("IFNULL(value, otherwise)",),
        "The value; if it is NULL, the other one.",
        (("IFNULL(CAST(NULL AS INT), 5)", "5"),),
    ),
    Function(
        "NULLIF",
        _nullif_rule,
        _nullif,
        ("NULLIF(value1, value2)",),
        "NULL if the values are equal, else value1.",
        (("NULLIF(5, 5)", None), ("NULLIF(5, 0)", "5")),
    ),
    _tests(
        "IS_ALPHA",
        lambda text: bool(text) and all(each.isalpha() for each in text),
        "Whether all characters are letters.",
        ("IS_ALPHA('abc')", "true"),
    ),
    _tests(
        "IS_DECIMAL",
        _is_decimal,
        "Whether the text is a number.",
        ("IS_DECIMAL('1.5')", "true"),
    ),
    _tests(
        "IS_DIGIT",
        lambda text: bool(text) and all(each.isdigit() for each in text),
        "Whether all characters are digits.",
        ("IS_DIGIT('42')", "true"),
    ),
)
