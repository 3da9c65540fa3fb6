"""Generated columns: each value depends only on its column and on the row's index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.errors import SqlValidationError
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

if TYPE_CHECKING:
    import numpy as np

    U64 = np.ndarray[Any, np.dtype[np.uint64]]
    I64 = np.ndarray[Any, np.dtype[np.int64]]

DAY_MS = 86_400_000
_HEX = b"0123456789abcdef"
_PER_MS = {"ms": 1, "us": 1_000, "ns": 1_000_000}


@dataclass(frozen=True)
class FieldSettings:
    """How the values of a field are made.

    ``sequence``: counted from ``low`` to ``high``, else random between them. ``parts``: settings
    of an array's elements, of a map's keys and values, or of a row's fields.
    """

    sequence: bool = False
    low: Any = None
    high: Any = None
    length: int | None = None
    var_len: bool = False
    null_rate: float = 0.0
    max_past_ms: int = 0
    parts: tuple[FieldSettings, ...] = ()


@dataclass
class Rows:
    """Indexes of rows; ``times``: gives the time at which each is made (ms since the epoch)."""

    indexes: I64
    times: Callable[[], I64]

    @cached_property
    def times_ms(self) -> I64:
        """The times, which most fields do not need."""
        return self.times()


def field_array(kind: SqlType, settings: FieldSettings, seed: int, rows: Rows) -> Any:
    """Return the values of a field for some rows, as an Arrow array."""
    import pyarrow as pa
    import pyarrow.compute as pc

    made = _values(kind, settings, seed, rows)
    if settings.null_rate > 0:
        keep = _fractions(_random(seed, 1, rows.indexes)) >= settings.null_rate
        made = pc.if_else(pa.array(keep), made, pa.scalar(None, made.type))
    return made


def _values(kind: SqlType, settings: FieldSettings, seed: int, rows: Rows) -> Any:
    import numpy as np
    import pyarrow as pa

    count = len(rows.indexes)
    if settings.sequence:
        counted = pa.array(rows.indexes + settings.low)
        return counted.cast(to_arrow(kind))
    match kind:
        case BooleanType():
            return pa.array((_random(seed, 0, rows.indexes) & np.uint64(1)).astype(bool))
        case IntegerType() | MonthIntervalType() | SecondIntervalType():
            whole = _between(_random(seed, 0, rows.indexes), settings.low, settings.high)
            return pa.array(whole).cast(to_arrow(kind))
        case FloatType() | DoubleType():
            part = _fractions(_random(seed, 0, rows.indexes))
            # Written so that the range may be wider than the greatest number.
            found = settings.low * (1 - part) + settings.high * part
            return pa.array(found).cast(to_arrow(kind), safe=False)
        case DecimalType():
            return _decimals(kind, settings, seed, rows)
        case CharacterType():
            return _texts(settings, seed, rows, pa.string())
        case BytesType():
            return _texts(settings, seed, rows, pa.binary())
        case DateType():
            return pa.array((rows.times_ms // DAY_MS).astype(np.int32)).cast(pa.date32())
        case TimeType():
            return pa.array((rows.times_ms % DAY_MS).astype(np.int32)).cast(pa.time32("ms"))
        case TimestampType() | TimestampLtzType():
            past = _between(_random(seed, 0, rows.indexes), 0, settings.max_past_ms)
            ticks = (rows.times_ms - past) * _PER_MS[to_arrow(kind).unit]
            return pa.array(ticks).cast(to_arrow(kind))
        case ArrayType():
            return _lists(kind, settings, seed, rows)
        case MapType() | MultisetType():
            return _maps(kind, settings, seed, rows)
        case RowType():
            fields = [
                field_array(each.type, part, _child(seed, place), rows)
                for place, (each, part) in enumerate(zip(kind.fields, settings.parts, strict=True))
            ]
            return pa.StructArray.from_arrays(fields, fields=[*to_arrow(kind)])
    raise SqlValidationError(f"datagen has no values of type {kind} ({count} rows)")


def _random(seed: int, salt: int, indexes: I64) -> U64:
    """Return 64 random bits for each index (splitmix64, by G. Steele and others, 2014)."""
    import numpy as np

    mixed = (seed * 1_000_003 + salt * 7919 + 1) & 0xFFFFFFFFFFFFFFFF
    with np.errstate(over="ignore"):
        x = (indexes.astype(np.uint64) + np.uint64(mixed)) * np.uint64(0x9E3779B97F4A7C15)
        x ^= np.uint64((mixed * 0xD1342543DE82EF95 + 0x2545F4914F6CDD1D) & 0xFFFFFFFFFFFFFFFF)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found: U64 = x ^ (x >> np.uint64(31))
    return found


def _child(seed: int, place: int) -> int:
    return (seed + 1) * 1_009 + place + 17


def _fractions(bits: U64) -> Any:
    import numpy as np

    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _between(bits: U64, low: int, high: int) -> I64:
    """Return whole numbers from ``low`` to ``high``, both included."""
    import numpy as np

    span = high - low + 1
    with np.errstate(over="ignore"):
        offset = bits if span >= 1 << 64 else bits % np.uint64(span)
        found: I64 = (offset + np.uint64(low & 0xFFFFFFFFFFFFFFFF)).astype(np.int64)
    return found


def _decimals(kind: DecimalType, settings: FieldSettings, seed: int, rows: Rows) -> Any:
    import numpy as np
    import pyarrow as pa

    scale = kind.scale if kind.precision <= 18 else max(kind.scale - (kind.precision - 18), 0)
    unit = 10**scale
    limit = 10 ** min(kind.precision, 18) - 1
    low = max(int(settings.low * unit), -limit)
    high = min(int(settings.high * unit), limit)
    whole = _between(_random(seed, 0, rows.indexes), low, high)
    # The two's complement of 128 bits, little-endian.
    words = np.empty((len(whole), 2), np.int64)
    words[:, 0], words[:, 1] = whole, whole >> 63
    buffers = [None, pa.py_buffer(words)]
    made = pa.Array.from_buffers(pa.decimal128(38, scale), len(whole), buffers)
    return made.cast(to_arrow(kind))


def _lengths(settings: FieldSettings, seed: int, rows: Rows) -> I64:
    import numpy as np

    longest = settings.length or 0
    if not settings.var_len or longest < 1:
        return np.full(len(rows.indexes), longest, np.int64)
    return _between(_random(seed, 2, rows.indexes), 1, longest)


def _texts(settings: FieldSettings, seed: int, rows: Rows, kind: Any) -> Any:
    """Return texts, or bytes, of hexadecimal digits."""
    import numpy as np
    import pyarrow as pa

    count, lengths = len(rows.indexes), _lengths(settings, seed, rows)
    longest = settings.length or 0
    words = -(-max(longest, 1) // 8)
    raw = np.empty((count, words), np.uint64)
    for word in range(words):
        raw[:, word] = _random(seed, 16 + word, rows.indexes)
    if kind == pa.string():
        raw &= np.uint64(0x0F0F0F0F0F0F0F0F)
        letters = np.frombuffer(_HEX, np.uint8)[raw.view(np.uint8).reshape(count, -1)]
    else:
        letters = raw.view(np.uint8).reshape(count, -1)
    letters = letters[:, :longest]
    if settings.var_len:
        letters = letters[np.arange(longest) < lengths[:, None]]
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    data = np.ascontiguousarray(letters)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind, count, buffers)


def _elements(settings: FieldSettings, seed: int, rows: Rows) -> tuple[Any, Rows]:
    """Return the offsets of lists, and rows with an index of its own for each element."""
    import numpy as np

    lengths = _lengths(settings, seed, rows)
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    indexes = np.repeat(rows.indexes, lengths) * max(settings.length or 0, 1) + within
    return offsets, Rows(indexes, lambda: np.repeat(rows.times_ms, lengths))


def _lists(kind: ArrayType, settings: FieldSettings, seed: int, rows: Rows) -> Any:
    import pyarrow as pa

    offsets, inner = _elements(settings, seed, rows)
    values = field_array(kind.element, settings.parts[0], _child(seed, 0), inner)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def _maps(kind: MapType | MultisetType, settings: FieldSettings, seed: int, rows: Rows) -> Any:
    import pyarrow as pa

    offsets, inner = _elements(settings, seed, rows)
    if isinstance(kind, MapType):
        key_kind, values = (
            kind.key,
            field_array(kind.value, settings.parts[1], _child(seed, 1), inner),
        )
    else:
        key_kind, values = kind.element, pa.array([1] * len(inner.indexes), pa.int32())
    keys = field_array(key_kind, settings.parts[0], _child(seed, 0), inner)
    return pa.MapArray.from_arrays(pa.array(offsets), keys, values)
