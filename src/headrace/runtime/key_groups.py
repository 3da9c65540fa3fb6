"""Where a key lives: a hash equal in every interpreter, and the key group it falls into."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import uuid
from collections.abc import Callable
from typing import Any
from zlib import crc32

from headrace.common.types import Row
from headrace.errors import UnstableKeyError

_MIX = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_CACHED_KEYS = 1 << 18
_MISSES = 1 << 20


def stable_hash(key: Any) -> int:
    """A 32-bit hash of a key, equal in every interpreter and for keys that are equal.

    Numbers of different types that compare equal (1, 1.0, True, Decimal(1)) hash alike, as they
    do in a dictionary.

    Raises:
        UnstableKeyError: the key's type has no such hash, or the key is not equal to itself.
    """
    raw = hash(key) if type(key) is int else _raw_hash(key)  # the usual key, without a call
    return (raw * _MIX & _MASK) >> 32


def _raw_hash(key: Any) -> int:
    kind = type(key)
    if kind is str:
        return crc32(key.encode("utf-8", "surrogatepass"))
    if kind is int or kind is bool:
        return hash(key)
    if kind is bytes:
        return crc32(key, 0x1B)
    if kind is tuple:
        return _combine(0x7F, key)
    if key is None:
        return 0x6E
    if isinstance(key, float | decimal.Decimal | fractions.Fraction | complex):
        # A signaling NaN cannot even be compared.
        if key.is_nan() if isinstance(key, decimal.Decimal) else key != key:
            raise UnstableKeyError(f"{key!r} cannot be a key: it is not equal to itself")
        return hash(key)  # numeric hashes are not salted, and equal across numeric types
    if isinstance(key, enum.Enum):
        if isinstance(key, int | str):
            return _raw_hash(key.value)
        return _combine(0x3D, (kind.__qualname__, key.name))
    if isinstance(key, int):
        return hash(int(key))
    if isinstance(key, str):
        return _raw_hash(str.__str__(key))
    if isinstance(key, dt.datetime):
        key = key.replace(fold=0)  # two that differ in their fold alone are equal
        offset = key.utcoffset()
        if offset is not None:
            try:
                key = key.astimezone(dt.UTC)
            except OverflowError:  # the moment lies outside of the years 1 to 9999 in UTC
                return _combine(0x2A, (key.replace(tzinfo=None) - dt.datetime.min - offset,))
        return crc32(key.isoformat().encode(), 0x2B)
    if isinstance(key, dt.time) and (offset := key.utcoffset()) is not None:
        # 12:00 in UTC and 13:00 an hour east of it are equal
        moment = dt.datetime.combine(dt.date.min, key.replace(tzinfo=None)) - dt.datetime.min
        return _combine(0x2C, (moment - offset,))
    if isinstance(key, dt.date | dt.time):
        return crc32(key.isoformat().encode(), 0x2C)
    if isinstance(key, dt.timedelta):
        return _combine(0x2D, (key.days, key.seconds, key.microseconds))
    if isinstance(key, uuid.UUID):
        return crc32(key.bytes, 0x2E)
    if isinstance(key, Row):
        return _combine(0x2F, _row_values(key))
    if isinstance(key, tuple):
        return _combine(0x7F, key)
    if isinstance(key, frozenset):
        return sum(_raw_hash(item) for item in key)
    if dataclasses.is_dataclass(key) and _frozen_by_value(kind):
        names = [field.name for field in dataclasses.fields(key) if field.compare]
        return _combine(crc32(kind.__qualname__.encode()), [getattr(key, n) for n in names])
    raise UnstableKeyError(
        f"a {kind.__qualname__} cannot be a key: its hash differs between interpreters",
        where={"key": _short(key)},
        hint="use str, numbers, bytes, dates, enums, a tuple or Row of these,"
        " or a dataclass declared with frozen=True",
    )


def _row_values(row: Row) -> list[Any]:
    """The values; of a named row by name, as rows are equal whatever the order of their fields."""
    names = getattr(row, "_fields", None)
    if names is None:
        return list(row)
    return [value for _, value in sorted(zip(names, row, strict=False), key=lambda pair: pair[0])]


def _combine(seed: int, items: Any) -> int:
    value = seed
    for item in items:
        value = (value * 1000003 ^ _raw_hash(item)) & _MASK
    return value


def _frozen_by_value(kind: type) -> bool:
    params = getattr(kind, "__dataclass_params__", None)
    return bool(params and params.frozen and params.eq)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


def key_group_of(key: Any, max_parallelism: int) -> int:
    """The key group of a key: ``stable_hash(key) % max_parallelism``."""
    return stable_hash(key) % max_parallelism


class KeyGroups(dict[Any, int]):
    """A mapping from key to key group that fills itself, for a sender's hot loop.

    A look-up of a known key costs one dictionary access. It holds 262,144 keys; when it is full
    others are worked out each time, and once that happened a million times it begins anew.
    """

    __slots__ = ("_misses", "count")

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self._misses = 0

    def __missing__(self, key: Any) -> int:
        group = stable_hash(key) % self.count
        if len(self) < _CACHED_KEYS:
            self[key] = group
        else:
            self._misses += 1
            if self._misses >= _MISSES:
                self.clear()
                self._misses = 0
        return group


def page_hasher(max_parallelism: int) -> Callable[[Any], int]:
    """A function that gives what is left of a key's hash once its key group is known."""
    return lambda key: stable_hash(key) // max_parallelism


def pair_page_hasher(max_parallelism: int) -> Callable[[tuple[Any, Any]], int]:
    """``page_hasher`` for pairs of key and namespace: all pairs of a key have one hash.

    ``stable_hash`` is written out: it is called for every pair that a micro-batch touches.
    """

    def hash_of(pair: tuple[Any, Any]) -> int:
        key = pair[0]
        raw = hash(key) if type(key) is int else _raw_hash(key)
        return ((raw * _MIX & _MASK) >> 32) // max_parallelism

    return hash_of


def subtask_of(group: int, parallelism: int, max_parallelism: int) -> int:
    """The subtask that owns a key group: contiguous ranges, as in Flink's rescaling model."""
    return group * parallelism // max_parallelism
