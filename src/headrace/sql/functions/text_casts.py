"""Values as texts and texts as values, for CAST."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from headrace.errors import SqlError
from headrace.sql.functions import moments, text_formats
from headrace.sql.functions.function import Session
from headrace.sql.functions.kernels import cast_arrow, is_scalar, map_values
from headrace.sql.types import (
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
    to_arrow,
)

_WHOLE_UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}


def to_text(value: Any, source: SqlType, session: Session) -> Any:
    """Return values as texts, as Flink prints them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pa.string()
    match source:
        case CharacterType():
            return value
        case BooleanType():
            return pc.if_else(value, "TRUE", "FALSE")
        case IntegerType():
            return cast_arrow(value, text)
        case DecimalType():
            return map_values(text_formats.write_decimal, [value], text)
        case DoubleType():
            return map_values(text_formats.java_double, [value], text)
        case FloatType():
            return map_values(lambda each: text_formats.java_double(each, True), [value], text)
        case BytesType():
            return map_values(lambda each: each.decode("utf-8", "replace"), [value], text)
        case DateType():
            return map_values(text_formats.write_date, [cast_arrow(value, pa.int32())], text)
        case TimeType():
            number = cast_arrow(value, pa.int32())
            return map_values(
                lambda each: text_formats.write_time(each, source.precision), [number], text
            )
        case TimestampLtzType():
            local = moments.to_local(value, session)
            return to_text(local, TimestampType(source.precision), session)
        case TimestampType() if source.precision in _WHOLE_UNITS:
            unit = pa.timestamp(_WHOLE_UNITS[source.precision])
            return cast_arrow(moments.to_unit(value, unit), text)
        case TimestampType():
            factor = 1_000_000_000 // moments.PER_SECOND[value.type.unit]
            number = cast_arrow(value, pa.int64())
            return map_values(
                lambda each: text_formats.write_timestamp(each * factor, source.precision),
                [number],
                text,
            )
        case MonthIntervalType():
            return map_values(text_formats.write_month_interval, [value], text)
        case SecondIntervalType():
            return map_values(text_formats.write_second_interval, [value], text)
        case ArrayType() | MapType() | MultisetType() | RowType():
            return _nested_to_text(value, source, session)
    raise AssertionError(source)


def _nested_to_text(value: Any, source: SqlType, session: Session) -> Any:
    import pyarrow as pa

    array = pa.array([value.as_py()], value.type) if is_scalar(value) else value
    texts = _texts(array, source, session)
    made = pa.array(texts, pa.string())
    return made[0] if is_scalar(value) else made


def _texts(array: Any, source: SqlType, session: Session) -> list[str | None]:
    """Return the text of each value of an array; None for NULL."""
    valid = array.is_valid().to_pylist()
    match source:
        case ArrayType():
            parts = _written(_texts(array.values, source.element, session))
            return [
                f"[{', '.join(parts[start:end])}]" if known else None
                for known, (start, end) in zip(valid, _ranges(array), strict=True)
            ]
        case MapType() | MultisetType():
            key, item = (
                (source.key, source.value)
                if isinstance(source, MapType)
                else (source.element, IntegerType())
            )
            keys = _written(_texts(array.keys, key, session))
            items = _written(_texts(array.items, item, session))
            pairs = [f"{one}={two}" for one, two in zip(keys, items, strict=True)]
            return [
                f"{{{', '.join(pairs[start:end])}}}" if known else None
                for known, (start, end) in zip(valid, _ranges(array), strict=True)
            ]
        case RowType():
            columns = [
                _written(_texts(part, each.type, session))
                for part, each in zip(array.flatten(), source.fields, strict=True)
            ]
            rows = zip(*columns, strict=True)
            return [
                f"({', '.join(row)})" if known else None
                for known, row in zip(valid, rows, strict=True)
            ]
    texts: list[str | None] = to_text(array, source, session).to_pylist()
    return texts


def _ranges(array: Any) -> list[tuple[int, int]]:
    offsets = array.offsets.to_pylist()
    return [*pairwise(offsets)]


def _written(texts: Sequence[str | None]) -> list[str]:
    return ["NULL" if each is None else each for each in texts]


def from_text(value: Any, target: SqlType, session: Session, strict: bool) -> Any:
    """Return texts as values of a type; strict: raise if one cannot be read, else it is NULL."""
    import pyarrow as pa

    kind = to_arrow(target)
    read, made = _reader(target)

    def safe(text: str) -> Any:
        try:
            return read(text)
        except (ValueError, OverflowError) as error:
            if strict:
                raise SqlError(
                    f"cannot cast {text!r} to {target.summary}: {error}",
                    hint="TRY_CAST gives NULL where a text cannot be read",
                ) from None
            return None

    found = map_values(safe, [value], made or kind)
    if isinstance(target, TimestampType):
        return cast_arrow(found, kind)
    if isinstance(target, TimestampLtzType):
        local = cast_arrow(found, pa.timestamp(kind.unit))
        return moments.from_local(local, session)
    return cast_arrow(found, kind)


def _reader(target: SqlType) -> tuple[Callable[[str], Any], Any]:
    """Return a parser of texts, and the Arrow type of its results if that is not the target's."""
    import pyarrow as pa

    match target:
        case BooleanType():
            return text_formats.read_boolean, None
        case IntegerType():
            return lambda text: text_formats.read_integer(text, target.bits), None
        case DecimalType():
            return (
                lambda text: text_formats.read_decimal(text, target.precision, target.scale),
                None,
            )
        case DoubleType() | FloatType():
            return text_formats.read_double, None
        case DateType():
            return text_formats.read_date, None
        case TimeType():
            return lambda text: text_formats.read_time_ns(text) // 1_000_000, pa.int32()
        case TimestampType() | TimestampLtzType():
            step = 10 ** (9 - target.precision)
            unit = 1_000_000_000 // moments.PER_SECOND[to_arrow(target).unit]

            def stamp(text: str) -> int:
                found: int = text_formats.read_timestamp_ns(text) // step * step // unit
                if not -(1 << 63) <= found < 1 << 63:
                    raise ValueError(moments.BEYOND)
                return found

            return stamp, pa.int64()
    raise AssertionError(target)
