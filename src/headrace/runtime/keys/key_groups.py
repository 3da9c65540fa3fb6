"""The key group of a key: from a hash that is equal in every interpreter."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import uuid
from collections.abc import Callable, Iterable
from typing import Any
from zlib import crc32

from headrace.common.types import Row
from headrace.errors import UnstableKeyError
from headrace.runtime.immutability import ATOMIC_TYPES
from headrace.runtime.keys import numpy_keys

MIX = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_CACHED_KEYS = 1 << 18
_MISSES = 1 << 20


def stable_hash(key: Any) -> int:
    """Return a 32-bit hash of a key, equal in every interpreter and for keys that are equal.

    Numbers of different types that compare equal (1, 1.0, True, Decimal(1)) hash alike, as they
    do in a dictionary.

    Raises:
        UnstableKeyError: the key's type has no such hash, or the key is not equal to itself.
    """
    raw = hash(key) if type(key) is int else _raw_hash(key)  # the usual key, without a call
    return (raw * MIX & _MASK) >> 32


def _raw_hash(key: Any) -> int:
    kind = type(key)
    if kind is str:
        return crc32(key.encode("utf-8", "surrogatepass"))
    if kind is int or kind is bool:
        return hash(key)
    if kind is bytes:
        return crc32(key, 0x1B)
    if kind is tuple:
        return _combine_hashes(0x7F, key)
    if key is None:
        return 0x6E
    return (_hashers.get(kind) or _hasher_of(kind, key))(key)


_Hasher = Callable[[Any], int]

_hashers: dict[type, _Hasher] = {}
"""The hash function of each class of keys; it uses what the class compares by."""


def _hasher_of(kind: type, key: Any) -> _Hasher:
    """Return a function that hashes objects of a class by what their ``__eq__`` compares.

    Raises:
        UnstableKeyError: there is no such function.
    """
    equality: Any = kind.__eq__
    hashing: Any = kind.__hash__
    hasher: _Hasher | None
    if equality is object.__eq__:
        hasher = _attributes_hasher(kind) if issubclass(kind, enum.Enum) else None
    elif hashing is None or hashing is object.__hash__:
        hasher = None
    else:
        owner = next(base for base in kind.__mro__ if "__eq__" in vars(base))
        if owner.__module__.partition(".")[0] == "numpy":
            hasher = _python_hasher(kind)
        else:
            bases = (base for base in kind.__mro__ if _has_same_equality(base, owner))
            hasher = next((_BY_CLASS[base] for base in bases), None)
        if hasher is None and dataclasses.is_dataclass(kind) and _is_frozen_by_value(owner):
            hasher = _fields_hasher(kind, owner)
            if not _is_generated(equality, owner):
                raise _custom_equality(key)
        elif hasher is None and any(base in _BY_CLASS for base in kind.__mro__):
            raise _custom_equality(key)
    if hasher is None:
        raise UnstableKeyError(
            f"a {kind.__qualname__} cannot be a key: its hash differs between interpreters",
            where={"key": shorten_repr(key)},
            hint="use str, numbers, bytes, dates, enums, a tuple or Row of these,"
            " or a dataclass declared with frozen=True",
        )
    return _hashers.setdefault(kind, hasher)


EXACT = ATOMIC_TYPES - {float, complex, decimal.Decimal}
"""Types whose values have a stable hash in any case; a number with a fraction may be NaN."""

only_exact = EXACT.issuperset
"""Whether values of some types have a stable hash in any case."""


def has_stable_hash(key: Any) -> bool:
    """Return True if the key has the same hash in every Python process.

    For keys of the usual types, checking the type is sufficient.
    """
    kind = type(key)
    if kind in EXACT or (kind is tuple and only_exact(map(type, key))):
        return True
    if kind is float:
        return bool(key == key)
    try:
        stable_hash(key)
    except TypeError:  # UnstableKeyError is one; Python raises it for what is not hashable
        return False
    return True


def class_has_no_stable_hash(key: Any) -> bool:
    """Return whether no key of this key's class has a stable hash."""
    try:
        _hasher_of(type(key), key)
    except UnstableKeyError:
        return True
    return False


def register_hasher(kind: type, hasher: _Hasher) -> None:
    """Let keys of a class of ours be hashed by a function that is equal in every interpreter."""
    _BY_CLASS[kind] = hasher


def _has_same_equality(base: type, owner: type) -> bool:
    """Return whether the ``__eq__`` of ``owner`` compares objects as that of ``base`` does."""
    # What pandas adds to a base of Python's (datetime) keeps its order of equal values.
    trusted = owner.__module__.partition(".")[0] == "pandas"
    return base in _BY_CLASS and (trusted or vars(owner)["__eq__"] is vars(base)["__eq__"])


def _python_hasher(kind: type) -> _Hasher | None:
    value_of = numpy_keys.value_getter(kind)
    return None if value_of is None else lambda key: _raw_hash(value_of(key))


def _custom_equality(key: Any) -> UnstableKeyError:
    kind = type(key).__qualname__
    return UnstableKeyError(
        f"a {kind} cannot be a key: it compares by an __eq__ of its own, so what it must be hashed"
        " by cannot be known",
        where={"key": shorten_repr(key)},
        hint=f"let key_by give what {kind}.__eq__ compares: a str, a number, or a tuple of these",
    )


def _is_generated(equality: Any, owner: type) -> bool:
    """Return whether ``__eq__`` was generated by ``dataclass`` for the fields of ``owner``."""
    model: Any = dataclasses.make_dataclass("Model", _compared_fields(owner), frozen=True)
    code, written = getattr(equality, "__code__", None), model.__eq__.__code__
    return code is not None and all(
        getattr(code, part) == getattr(written, part)
        for part in ("co_code", "co_consts", "co_names", "co_varnames", "co_freevars")
    )


def _compared_fields(kind: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(kind) if field.compare]


def _fields_hasher(kind: type, owner: type) -> _Hasher:
    seed, names = crc32(kind.__qualname__.encode()), _compared_fields(owner)
    return lambda key: _combine_hashes(seed, [getattr(key, name) for name in names])


def _attributes_hasher(kind: type) -> _Hasher:
    return lambda key: _combine_hashes(0x3D, (kind.__qualname__, key._name_))


def _numeric_hasher(hash_of: Callable[[Any], int]) -> _Hasher:
    """Return a hasher that uses Python's numeric hash: unsalted, equal across number types."""

    def hasher(key: Any) -> int:
        # A signaling NaN cannot even be compared.
        if key.is_nan() if isinstance(key, decimal.Decimal) else key != key:
            raise UnstableKeyError(f"{key!r} cannot be a key: it is not equal to itself")
        return hash_of(key)

    return hasher


def _hash_datetime(key: Any) -> int:
    if key != key:  # pandas.NaT
        raise UnstableKeyError(f"{key!r} cannot be a key: it is not equal to itself")
    key = key.replace(fold=0)  # two that differ in their fold alone are equal
    offset = key.utcoffset()
    if offset is not None:
        try:
            key = key.astimezone(dt.UTC)
        except OverflowError:  # the moment lies outside of the years 1 to 9999 in UTC
            return _combine_hashes(0x2A, (key.replace(tzinfo=None) - dt.datetime.min - offset,))
    return crc32(dt.datetime.isoformat(key).encode(), 0x2B)


def _hash_time(key: dt.time) -> int:
    if (offset := key.utcoffset()) is not None:
        # 12:00 in UTC and 13:00 an hour east of it are equal
        moment = dt.datetime.combine(dt.date.min, key.replace(tzinfo=None)) - dt.datetime.min
        return _combine_hashes(0x2C, (moment - offset,))
    return crc32(dt.time.isoformat(key).encode(), 0x2C)


def _hash_row(row: Row) -> int:
    """Hash a row by its values; a named row by its names too, in any order of the fields."""
    names = getattr(row, "_fields", None)
    values = list(row)
    if names is not None:
        pairs = sorted(zip(names, values, strict=False), key=lambda pair: pair[0])
        values = [value for _, value in pairs]
    return _combine_hashes(0x2F, values)


_BY_CLASS: dict[type, _Hasher] = {
    str: lambda key: crc32(str.encode(key, "utf-8", "surrogatepass")),
    bytes: lambda key: crc32(key, 0x1B),
    int: int.__hash__,
    float: _numeric_hasher(float.__hash__),
    complex: _numeric_hasher(complex.__hash__),
    decimal.Decimal: _numeric_hasher(decimal.Decimal.__hash__),
    fractions.Fraction: _numeric_hasher(fractions.Fraction.__hash__),
    tuple: lambda key: _combine_hashes(0x7F, tuple.__iter__(key)),
    frozenset: lambda key: sum(map(_raw_hash, frozenset.__iter__(key))),
    dt.datetime: _hash_datetime,
    dt.date: lambda key: crc32(dt.date.isoformat(key).encode(), 0x2C),
    dt.time: _hash_time,
    dt.timedelta: lambda key: _combine_hashes(0x2D, (key.days, key.seconds, key.microseconds)),
    uuid.UUID: lambda key: crc32(key.bytes, 0x2E),
    Row: _hash_row,
}
"""How objects of a class, and of those that inherit its ``__eq__``, are hashed."""


def _combine_hashes(seed: int, items: Iterable[Any]) -> int:
    value = seed
    for item in items:
        value = (value * 1000003 ^ _raw_hash(item)) & _MASK
    return value


def _is_frozen_by_value(kind: type) -> bool:
    params = getattr(kind, "__dataclass_params__", None)
    return bool(params and params.frozen and params.eq)


def shorten_repr(value: Any) -> str:
    """Return the value's ``repr``, cut after 200 characters."""
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


def key_group_of(key: Any, max_parallelism: int) -> int:
    """Return the key group of a key: ``stable_hash(key) % max_parallelism``."""
    return stable_hash(key) % max_parallelism


def int_key_group(key: str, max_parallelism: int) -> str:
    """Return a Python expression for the key group of an int; ``key``: the variable with the int.

    It is as fast as a look-up in a small ``KeyGroups``, for any number of keys.
    """
    if max_parallelism & (max_parallelism - 1):
        return f"(hash({key}) * {MIX} >> 32 & {_MASK >> 32}) % {max_parallelism}"
    # Higher bits of the factor have no effect on the group, and make the product longer.
    factor = MIX & ((max_parallelism << 32) - 1)
    return f"hash({key}) * {factor} >> 32 & {max_parallelism - 1}"


class KeyGroups(dict[Any, int]):
    """A mapping from key to key group, computed at the first access; for a sender's hot loop.

    A known key costs one dictionary access. At most 262,144 keys are stored. Then other keys are
    hashed at each access; after a million of these the mapping is emptied.
    """

    __slots__ = ("_misses", "count")

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self._misses = 0

    def __missing__(self, key: Any) -> int:
        # ``stable_hash`` is written out for the usual keys: among many keys most are not stored.
        kind = type(key)
        if kind is str:
            raw = crc32(key.encode("utf-8", "surrogatepass"))
        else:
            raw = hash(key) if kind is int else _raw_hash(key)
        group = ((raw * MIX & _MASK) >> 32) % self.count
        if len(self) < _CACHED_KEYS:
            self[key] = group
        else:
            self._misses += 1
            if self._misses >= _MISSES:
                self.clear()
                self._misses = 0
        return group


def page_hasher(max_parallelism: int) -> Callable[[Any], int]:
    """Return a hash function for pages: the part of a key's hash that its key group leaves."""

    def hash_of(key: Any) -> int:
        raw = hash(key) if type(key) is int else _raw_hash(key)  # ``stable_hash``, written out
        return ((raw * MIX & _MASK) >> 32) // max_parallelism

    return hash_of


def pair_page_hasher(max_parallelism: int) -> Callable[[tuple[Any, Any]], int]:
    """Return ``page_hasher`` for pairs of key and namespace; the namespace has no effect."""

    def hash_of(pair: tuple[Any, Any]) -> int:
        key = pair[0]
        raw = hash(key) if type(key) is int else _raw_hash(key)
        return ((raw * MIX & _MASK) >> 32) // max_parallelism

    return hash_of


def subtask_of(group: int, parallelism: int, max_parallelism: int) -> int:
    """Return the subtask that owns a key group: contiguous ranges, as in Flink."""
    return group * parallelism // max_parallelism
