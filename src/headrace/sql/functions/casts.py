"""CAST and TRY_CAST: which types are converted to which, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from headrace.sql.coercion import bare, same_type
from headrace.sql.expressions import Call, Expression
from headrace.sql.functions import moments
from headrace.sql.functions.function import Function, Session, Signature
from headrace.sql.functions.kernels import cast_arrow, is_scalar, map_values, nulls_like
from headrace.sql.functions.numbers import to_decimal, to_double, to_integer
from headrace.sql.functions.text_casts import from_text, to_text
from headrace.sql.types import (
    ArrayType,
    BooleanType,
    BytesType,
    CharacterType,
    CharType,
    DateType,
    DecimalType,
    DoubleType,
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
    to_arrow,
)


def can_cast(source: SqlType, target: SqlType) -> bool:
    """Return whether CAST takes a value of a type to another."""
    if isinstance(source, NullType) or same_type(source, target):
        return True
    match source, target:
        case (ArrayType() | MultisetType(), ArrayType() | MultisetType()):
            return type(source) is type(target) and can_cast(source.element, target.element)
        case (MapType(), MapType()):
            return can_cast(source.key, target.key) and can_cast(source.value, target.value)
        case (RowType(), RowType()):
            return len(source.fields) == len(target.fields) and all(
                can_cast(one.type, two.type)
                for one, two in zip(source.fields, target.fields, strict=True)
            )
        case (_, CharacterType()):
            return True
        case (CharacterType(), ArrayType() | MapType() | RowType() | MultisetType()):
            return False
        case (CharacterType(), MonthIntervalType() | SecondIntervalType()):
            return False
        case (CharacterType(), _):
            return True
        case (BytesType(), BytesType()):
            return True
        case (NumericType() | BooleanType(), NumericType() | BooleanType()):
            return True
        case (DateType(), TimestampType() | TimestampLtzType()):
            return True
        case (TimeType(), TimeType() | TimestampType() | TimestampLtzType()):
            return True
        case (
            TimestampType() | TimestampLtzType(),
            DateType() | TimeType() | TimestampType() | TimestampLtzType(),
        ):
            return True
        case (MonthIntervalType() | SecondIntervalType(), IntegerType() | DecimalType()):
            return True
    return False


def cast_can_fail(source: SqlType, target: SqlType) -> bool:
    """Return whether a conversion raises for some values."""
    match source, target:
        case (CharacterType(), CharacterType() | BytesType()):
            return False
        case (CharacterType(), _) | (FloatType() | DoubleType(), DecimalType()):
            return True
        case (
            DateType() | TimestampType() | TimestampLtzType(),
            TimestampType() | TimestampLtzType(),
        ):
            return target.precision > 6 and not same_type(source, target)
        case (ArrayType(), ArrayType()):
            return cast_can_fail(source.element, target.element)
        case (MapType(), MapType()):
            return cast_can_fail(source.key, target.key) or cast_can_fail(
                source.value, target.value
            )
        case (RowType(), RowType()):
            return any(
                cast_can_fail(one.type, two.type)
                for one, two in zip(source.fields, target.fields, strict=True)
            )
    return False


def convert(value: Any, source: SqlType, target: SqlType, session: Session, strict: bool) -> Any:
    """Return an array or scalar of a type as another type.

    ``strict``: a text that cannot be read raises ``ValueError``; else it is NULL.
    """
    kind = to_arrow(target)
    if isinstance(source, NullType):
        return nulls_like(value, kind)
    if bare(source) == bare(target):
        return cast_arrow(value, kind)
    match source, target:
        case (ArrayType(), ArrayType()):
            return _convert_array(value, source, target, session, strict)
        case (MapType(), MapType()):
            return _convert_map(value, source, target, session, strict)
        case (RowType(), RowType()):
            return _convert_row(value, source, target, session, strict)
        case (CharacterType(), CharacterType()):
            return _fit_text(value, target)
        case (_, CharacterType()):
            return _fit_text(to_text(value, source, session), target)
        case (BytesType(), BytesType()):
            return _fit_bytes(value, target)
        case (CharacterType(), BytesType()):
            return _fit_bytes(cast_arrow(value, kind), target)
        case (CharacterType(), _):
            return from_text(value, target, session, strict)
        case (BooleanType(), NumericType()):
            import pyarrow as pa

            return convert_number(cast_arrow(value, pa.int32()), IntegerType(), target, strict)
        case (NumericType(), BooleanType()):
            import pyarrow.compute as pc

            return pc.not_equal(value, zero(value.type))
        case (NumericType() | MonthIntervalType() | SecondIntervalType(), NumericType()):
            return convert_number(value, source, target, strict)
    if not strict and not isinstance(source, TimeType):
        value = moments.within(value, kind)
    return moments.convert(value, source, target, session)


def zero(kind: Any) -> Any:
    """Return 0 as an Arrow scalar."""
    import pyarrow as pa

    return pa.scalar(Decimal(0) if pa.types.is_decimal(kind) else 0, kind)


def convert_number(value: Any, source: SqlType, target: SqlType, strict: bool) -> Any:
    """Return a number as a number of another type, as Java converts them."""
    match target:
        case IntegerType():
            return to_integer(value, to_arrow(target))
        case DecimalType():
            return to_decimal(value, target, single=isinstance(source, FloatType), strict=strict)
        case DoubleType() | FloatType():
            return cast_arrow(to_double(value), to_arrow(target))
    raise AssertionError(target)


def _fit_text(value: Any, target: SqlType) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    assert isinstance(target, CharacterType)
    value = cast_arrow(value, pa.string())
    if isinstance(target, VarCharType) and target.summary == "STRING":
        return value
    value = pc.utf8_slice_codeunits(value, 0, target.length)
    if isinstance(target, CharType):
        value = pc.utf8_rpad(value, target.length)
    return value


def _fit_bytes(value: Any, target: SqlType) -> Any:
    assert isinstance(target, BytesType)
    if isinstance(target, VarBinaryType) and target.summary == "BYTES":
        return value
    pads = not isinstance(target, VarBinaryType)

    def fit(each: bytes) -> bytes:
        part = each[: target.length]
        return part.ljust(target.length, b"\0") if pads else part

    return map_values(fit, [value], to_arrow(target))


def _arrays(value: Any) -> Any:
    """Return a value as an array, of one row for a scalar."""
    import pyarrow as pa

    return pa.array([value.as_py()], value.type) if is_scalar(value) else value


def _same_shape(value: Any, array: Any) -> Any:
    return array[0] if is_scalar(value) else array


def _convert_array(
    value: Any, source: ArrayType, target: ArrayType, session: Session, strict: bool
) -> Any:
    import pyarrow as pa

    array = _compacted(_arrays(value))
    element = convert(array.values, source.element, target.element, session, strict)
    made = pa.ListArray.from_arrays(
        array.offsets, element, type=to_arrow(target), mask=array.is_null()
    )
    return _same_shape(value, made)


def _convert_map(
    value: Any, source: MapType, target: MapType, session: Session, strict: bool
) -> Any:
    import pyarrow as pa

    array = _compacted(_arrays(value))
    keys = convert(array.keys, source.key, target.key, session, strict)
    items = convert(array.items, source.value, target.value, session, strict)
    made = pa.MapArray.from_arrays(
        array.offsets, keys, items, type=to_arrow(target), mask=array.is_null()
    )
    return _same_shape(value, made)


def _compacted(array: Any) -> Any:
    """Return a list array whose offsets start at 0 of its own values."""
    import pyarrow as pa

    return array.take(pa.array(range(len(array)), pa.int64())) if array.offset else array


def _convert_row(
    value: Any, source: RowType, target: RowType, session: Session, strict: bool
) -> Any:
    import pyarrow as pa

    array = _arrays(value)
    parts = [
        convert(part, one.type, two.type, session, strict)
        for part, one, two in zip(array.flatten(), source.fields, target.fields, strict=True)
    ]
    made = pa.StructArray.from_arrays(parts, fields=list(to_arrow(target)), mask=array.is_null())
    return _same_shape(value, made)


def _rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    """CAST is made by ``calls.cast``, which knows the target."""
    return None


def _kernel(strict: bool) -> Callable[[Call, Sequence[Any], Session], Any]:
    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        (value,) = arguments
        source = call.arguments[0].type
        return convert(value, source, call.type, session, strict)

    return kernel


def _may_fail(call: Call) -> bool:
    return cast_can_fail(call.arguments[0].type, call.type)


FUNCTIONS = (
    Function(
        "CAST",
        _rule,
        _kernel(strict=True),
        ("CAST(value AS type)",),
        "The value as another type; a text that cannot be read as the type fails the job.",
        (
            ("CAST('42' AS INT)", "42"),
            ("CAST(1.25 AS DECIMAL(10, 1))", "1.3"),
            ("CAST(TRUE AS STRING)", "TRUE"),
        ),
        can_fail=_may_fail,
        of_session=True,
    ),
    Function(
        "TRY_CAST",
        _rule,
        _kernel(strict=False),
        ("TRY_CAST(value AS type)",),
        "The value as another type, or NULL if it cannot be read as the type.",
        (("TRY_CAST('abc' AS INT)", None), ("TRY_CAST('42' AS INT)", "42")),
        of_session=True,
    ),
)
