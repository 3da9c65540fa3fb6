"""Which type values of several types have in common, and the types of arithmetic on decimals.

The rules are those of Flink SQL; a DECIMAL has at most 38 digits, and where a result would need
more, digits after the point are given up first, down to six.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.sql.types import (
    DOUBLE,
    MAX_PRECISION,
    ArrayType,
    BytesType,
    CharacterType,
    DecimalType,
    DoubleType,
    Field,
    FloatType,
    IntegerType,
    MapType,
    MonthIntervalType,
    MultisetType,
    NullType,
    NumericType,
    RowType,
    SecondIntervalType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
    as_decimal,
)

LEAST_SCALE = 6
"""How many decimal places a capped DECIMAL keeps, if it has that many."""


def same_type(one: SqlType, two: SqlType) -> bool:
    """Return whether two types differ at most in having NULL and in being a time attribute."""
    return bare(one) == bare(two)


def bare(kind: SqlType) -> SqlType:
    """Return the type with NULL at every level, and without being a time attribute."""
    match kind:
        case TimestampType() | TimestampLtzType():
            return kind.without_attribute().with_nullable(True)
        case ArrayType() | MultisetType():
            return replace(kind, element=bare(kind.element), nullable=True)
        case MapType():
            return replace(kind, key=bare(kind.key), value=bare(kind.value), nullable=True)
        case RowType():
            fields = tuple(Field(each.name, bare(each.type)) for each in kind.fields)
            return replace(kind, fields=fields, nullable=True)
    return kind.with_nullable(True)


def common_type(types: Sequence[SqlType], *, widest: bool = False) -> SqlType | None:
    """Return the common type to which values of all types are converted; None: there is none.

    If the types are equal, it is the first one, with its time attribute. ``widest``: FLOAT and
    DOUBLE are a DOUBLE; else, as in Flink, what comes first.
    """
    nullable = any(each.nullable for each in types)
    known = [each for each in types if not isinstance(each, NullType)]
    if not known:
        return NullType() if types else None
    if widest and any(isinstance(each, DoubleType) for each in known):
        known.insert(0, DOUBLE)
    elif widest and any(isinstance(each, FloatType) for each in known):
        known = [FloatType() if isinstance(each, NumericType) else each for each in known]
    result: SqlType | None = known[0]
    for each in known[1:]:
        result = None if result is None else _common(result, each, widest)
    return None if result is None else result.with_nullable(nullable)


def _common(one: SqlType, two: SqlType, widest: bool) -> SqlType | None:
    if same_type(one, two):
        return _with_nullable_parts(one, two)
    if isinstance(one, TimestampType | TimestampLtzType):
        one = one.without_attribute()
    if isinstance(two, TimestampType | TimestampLtzType):
        two = two.without_attribute()
    match one, two:
        case CharacterType(), CharacterType():
            return VarCharType(max(one.length, two.length))
        case BytesType(), BytesType():
            return VarBinaryType(max(one.length, two.length))
        case NumericType(), NumericType():
            return common_number(one, two)
        case (TimestampType() as one, TimestampType() as two) | (
            TimestampLtzType() as one,
            TimestampLtzType() as two,
        ):
            return one if one.precision >= two.precision else two
        case (TimestampLtzType() as moment, TimestampType() as other) | (
            TimestampType() as other,
            TimestampLtzType() as moment,
        ):
            if widest:
                return TimestampLtzType(max(moment.precision, other.precision))
            # As in Flink, the first one's kind if the precisions are equal, else the second one's.
            first_kind = moment.precision == other.precision
            is_moment = isinstance(one if first_kind else two, TimestampLtzType)
            precision = max(moment.precision, other.precision)
            return TimestampLtzType(precision) if is_moment else TimestampType(precision)
        case TimeType(), TimeType():
            return TimeType(max(one.precision, two.precision))
        case (MonthIntervalType(), MonthIntervalType()) | (
            SecondIntervalType(),
            SecondIntervalType(),
        ):
            return one
        case ArrayType(), ArrayType():
            element = common_type([one.element, two.element])
            return None if element is None else ArrayType(element)
        case MapType(), MapType():
            key = common_type([one.key, two.key])
            value = common_type([one.value, two.value])
            return None if key is None or value is None else MapType(key, value)
        case RowType(), RowType():
            return _common_row(one, two)
    return None


def _with_nullable_parts(one: SqlType, two: SqlType) -> SqlType:
    match one, two:
        case ArrayType(), ArrayType():
            element = one.element.with_nullable(one.element.nullable or two.element.nullable)
            return ArrayType(element)
        case MapType(), MapType():
            key = one.key.with_nullable(one.key.nullable or two.key.nullable)
            value = one.value.with_nullable(one.value.nullable or two.value.nullable)
            return MapType(key, value)
        case RowType(), RowType():
            found = _common_row(one, two)
            return one if found is None else found
    return one


def _common_row(one: RowType, two: RowType) -> RowType | None:
    if len(one.fields) != len(two.fields):
        return None
    fields = []
    for left, right in zip(one.fields, two.fields, strict=True):
        kind = common_type([left.type, right.type])
        if kind is None:
            return None
        fields.append(Field(left.name, kind))
    return RowType(tuple(fields))


def common_number(one: NumericType, two: NumericType) -> NumericType:
    """Return the type of both numbers; of FLOAT and DOUBLE, as in Flink, the first one's."""
    if isinstance(one, FloatType | DoubleType) and isinstance(two, FloatType | DoubleType):
        return one
    if isinstance(one, DoubleType) or isinstance(two, DoubleType):
        return DOUBLE
    if isinstance(one, FloatType) or isinstance(two, FloatType):
        exact = two if isinstance(one, FloatType) else one
        return DOUBLE if isinstance(exact, DecimalType) else FloatType()
    if isinstance(one, IntegerType) and isinstance(two, IntegerType):
        return one if one.bits >= two.bits else two
    left, right = as_decimal(one), as_decimal(two)
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return DecimalType(min(whole + scale, MAX_PRECISION), scale)


def capped(precision: int, scale: int) -> DecimalType:
    """Return a decimal type; with more than 38 digits, the scale is reduced."""
    if precision <= MAX_PRECISION:
        return DecimalType(precision, scale)
    whole = precision - scale
    return DecimalType(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, LEAST_SCALE)))


def decimal_sum(one: DecimalType, two: DecimalType) -> DecimalType:
    """Return the type of a sum and of a difference."""
    scale = max(one.scale, two.scale)
    whole = max(one.precision - one.scale, two.precision - two.scale)
    return capped(whole + scale + 1, scale)


def decimal_product(one: DecimalType, two: DecimalType) -> DecimalType:
    """Return the type of a product."""
    return capped(one.precision + two.precision + 1, one.scale + two.scale)


def decimal_quotient(one: DecimalType, two: DecimalType) -> DecimalType:
    """Return the type of a quotient."""
    scale = max(LEAST_SCALE, one.scale + two.precision + 1)
    return capped(one.precision - one.scale + two.scale + scale, scale)


def decimal_remainder(one: DecimalType, two: DecimalType) -> DecimalType:
    """Return the type of a remainder."""
    scale = max(one.scale, two.scale)
    whole = min(one.precision - one.scale, two.precision - two.scale)
    return capped(whole + scale, scale)
