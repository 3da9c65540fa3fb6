"""Type rules made of parts: which arguments a function takes, and the type of its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from headrace.sql.coercion import common_type
from headrace.sql.expressions import Expression
from headrace.sql.functions.function import Signature, TypeRule
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    INT,
    MAX_LENGTH,
    STRING,
    ArrayType,
    BigIntType,
    BooleanType,
    BytesType,
    CharacterType,
    CharType,
    IntegerType,
    MapType,
    NullType,
    NumericType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    VarCharType,
)

Parameter = Callable[[SqlType], SqlType | None]
"""Gives the type that an argument of a type is converted to; None: it is not accepted."""

Result = SqlType | Callable[[Sequence[SqlType]], SqlType | None]
"""The type of a result, or a function of the arguments' converted types."""

Nulls = Literal["nullable", "any", "not null"]
"""When a result may be NULL."""

NULLABLE: Nulls = "nullable"
"""The result may always be NULL."""
ANY_NULL: Nulls = "any"
"""The result may be NULL if an argument may."""
NOT_NULL: Nulls = "not null"
"""The result is never NULL."""


def a_text(kind: SqlType) -> SqlType | None:
    """Accept a text."""
    return _accepted(kind, CharacterType, STRING)


def a_boolean(kind: SqlType) -> SqlType | None:
    """Accept a condition."""
    return _accepted(kind, BooleanType, BOOLEAN)


def a_number(kind: SqlType) -> SqlType | None:
    """Accept a number of any type."""
    return _accepted(kind, NumericType, INT)


def an_int(kind: SqlType) -> SqlType | None:
    """Accept an integer of at most 32 bits, as INT."""
    if isinstance(kind, BigIntType):
        return None
    return INT.with_nullable(kind.nullable) if isinstance(kind, IntegerType | NullType) else None


def a_bigint(kind: SqlType) -> SqlType | None:
    """Accept an integer, as BIGINT."""
    return BIGINT.with_nullable(kind.nullable) if isinstance(kind, IntegerType | NullType) else None


def a_double(kind: SqlType) -> SqlType | None:
    """Accept a number, as DOUBLE."""
    return DOUBLE.with_nullable(kind.nullable) if isinstance(kind, NumericType | NullType) else None


def some_bytes(kind: SqlType) -> SqlType | None:
    """Accept bytes."""
    return _accepted(kind, BytesType, BYTES)


def an_array(kind: SqlType) -> SqlType | None:
    """Accept an array."""
    return kind if isinstance(kind, ArrayType) else None


def a_map(kind: SqlType) -> SqlType | None:
    """Accept a map."""
    return kind if isinstance(kind, MapType) else None


def a_timestamp(kind: SqlType) -> SqlType | None:
    """Accept a timestamp of either kind."""
    return kind if isinstance(kind, TimestampType | TimestampLtzType) else None


def anything(kind: SqlType) -> SqlType | None:
    """Accept every value, as it is."""
    return kind


def _accepted(kind: SqlType, family: type[SqlType], of_null: SqlType) -> SqlType | None:
    if isinstance(kind, NullType):
        return of_null
    return kind if isinstance(kind, family) else None


def takes(
    *parameters: Parameter,
    gives: Result,
    nulls: Nulls = ANY_NULL,
    optional: int = 0,
    repeated: bool = False,
) -> TypeRule:
    """Return the rule of a function with these parameters.

    ``optional``: how many of the last may be absent. ``repeated``: the last one may be given any
    number of times.
    """

    def rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
        least = len(parameters) - optional
        if len(arguments) < least or (len(arguments) > len(parameters) and not repeated):
            return None
        accepting = [*parameters, *parameters[-1:] * (len(arguments) - len(parameters))]
        types = []
        for argument, accept in zip(arguments, accepting, strict=False):
            kind = accept(argument.type)
            if kind is None:
                return None
            types.append(kind)
        result = gives if isinstance(gives, SqlType) else gives(types)
        if result is None:
            return None
        return Signature(tuple(types), with_nulls(result, types, nulls))

    return rule


def with_nulls(result: SqlType, types: Sequence[SqlType], nulls: Nulls) -> SqlType:
    """Return the type of a result, with NULL as ``nulls`` says."""
    match nulls:
        case "nullable":
            return result.with_nullable(True)
        case "not null":
            return result.with_nullable(False)
        case "any":
            return result.with_nullable(any(each.nullable for each in types))


def first_of(*rules: TypeRule) -> TypeRule:
    """Return the rule that gives what the first rule gives that accepts the arguments."""

    def rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
        found = (each(arguments, options) for each in rules)
        return next((each for each in found if each is not None), None)

    return rule


def same_as(position: int) -> Callable[[Sequence[SqlType]], SqlType]:
    """Return the type of the argument at a position, as the type of a result."""
    return lambda types: types[position]


def joined(types: Sequence[SqlType]) -> SqlType:
    """Return the type of concatenated texts; its length is the sum of theirs."""
    length = 0
    for each in types:
        assert isinstance(each, CharacterType)
        length = min(length + each.length, MAX_LENGTH)
    if all(isinstance(each, CharType) for each in types):
        return CharType(length)
    return VarCharType(length)


def varying(types: Sequence[SqlType]) -> SqlType:
    """Return the text's type without a fixed length."""
    (first, *_) = types
    assert isinstance(first, CharacterType)
    return VarCharType(first.length)


def to_common(
    parameters: Callable[[SqlType], bool], *, least: int, most: int | None, nulls: Nulls = ANY_NULL
) -> TypeRule:
    """Return the rule of a function of values of one type, which gives such a value."""

    def rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
        if len(arguments) < least or (most is not None and len(arguments) > most):
            return None
        kind = common_type([each.type for each in arguments], widest=True)
        if kind is None or not parameters(kind):
            return None
        converted = tuple(kind.with_nullable(each.type.nullable) for each in arguments)
        return Signature(converted, with_nulls(kind, converted, nulls))

    return rule
