"""Keys that have no stable hash: lists, dicts and plain objects go by their serialized form.

Such a key is replaced, where the record is sent, by a ``SerializedKey``, which compares and hashes
by its bytes. State, timers, pages and shuffles see that one only; the user's functions get the key
itself (``user_key``). Why, and what is equal: docs/adr/0007-key-equality.md.
"""

from __future__ import annotations

import io
import math
import pickle
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from numbers import Rational, Real
from typing import Any, ClassVar
from zlib import crc32

from headrace.common.typeinfo import MapTypeInfo, TypeInformation
from headrace.common.types import Row, row_of
from headrace.errors import UnstableKeyError
from headrace.runtime.keys.key_groups import has_stable_hash, register_hasher, shorten_repr

_NOT_ALIKE = re.compile(rb"[\x8f\x91]|G[\x7f\xff][\xf0-\xff]|numpy|Decimal")
"""Where the pickles of equal keys may differ: the opcodes of sets and frozen sets, and what a NaN
may be: a float without a finite value, a scalar of numpy, a decimal."""


class SerializedKey:
    """A key by its serialized form. Equal bytes are one key."""

    __slots__ = ("_hash", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._hash = crc32(data, 0x5E)

    @classmethod
    def of(cls, key: Any) -> SerializedKey:
        """Return the serialized form of a key.

        Raises:
            UnstableKeyError: the key cannot be pickled.
        """
        try:
            return cls(serialize_key(key))
        except Exception as error:  # pickling runs arbitrary code and raises arbitrary errors
            raise UnstableKeyError(
                f"a {type(key).__qualname__} cannot be a key: it has no hash that is equal in every"
                " interpreter, and cannot be serialized",
                where={"key": shorten_repr(key), "reason": str(error)},
                hint="use str, numbers, bytes, dates, enums, a tuple or Row of these, or an object"
                " of a class at the top level of its module",
            ) from None

    def value(self) -> Any:
        """Return the key itself: a new object with each call, which its receiver may change."""
        return pickle.loads(self.data)

    def __eq__(self, other: object) -> bool:
        return type(other) is SerializedKey and self.data == other.data

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return SerializedKey, (self.data,)

    def __repr__(self) -> str:
        return repr(self.value())


register_hasher(SerializedKey, SerializedKey.__hash__)


def to_internal_key(key: Any) -> Any:
    """Return the key itself if it has a stable hash, else its ``SerializedKey``.

    Raises:
        UnstableKeyError: the key has no stable hash, and cannot be serialized.
    """
    return key if has_stable_hash(key) else SerializedKey.of(key)


def user_key(key: Any) -> Any:
    """Return the key as the user's key selector gave it."""
    return key.value() if type(key) is SerializedKey else key


def serialize_key(key: Any) -> bytes:
    """Pickle a key by value: equal keys have equal bytes.

    It makes no difference whether equal parts are one object or several. Elements of sets are
    sorted by their bytes, as Python's order differs between processes. Every NaN is written as the
    same float.
    """
    out = io.BytesIO()
    pickler = pickle.Pickler(out, protocol=5)
    pickler.fast = True  # without references to what came before
    pickler.dump(key)
    data = out.getvalue()
    if _NOT_ALIKE.search(data) is None:
        return data
    out = io.BytesIO()
    alike = _DeterministicPickler(out, protocol=5)
    alike.fast = True
    alike.dump(key)
    return out.getvalue()


class _DeterministicPickler(pickle._Pickler):
    """Python's own pickler, as the one in C does not let a program say how sets are written."""

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        """Write a value; every NaN in the same way."""
        super().save(math.nan if _is_nan(obj) else obj, save_persistent_id)  # type: ignore[misc]

    def save_set(self, value: Iterable[Any]) -> None:
        """Write a set as a call of its class with a list."""
        elements = sorted(value, key=serialize_key)
        self.save_reduce(type(value), (elements,), obj=value)  # type: ignore[attr-defined]

    dispatch: ClassVar[dict[type, Callable[..., None]]] = {
        **pickle._Pickler.dispatch,
        set: save_set,
        frozenset: save_set,
    }


def _is_nan(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, Real) and not isinstance(value, Rational) and bool(value != value)


def contains_maps(type_info: TypeInformation) -> bool:
    """Return whether values of a declared type hold maps, whose entries have no order."""
    parts = [part for part in vars(type_info).values() if part is not type_info]
    inner = [
        each for part in parts for each in (part if isinstance(part, list | tuple) else [part])
    ]
    return isinstance(type_info, MapTypeInfo) or any(
        contains_maps(each) for each in inner if isinstance(each, TypeInformation)
    )


def sort_map_entries(value: Any) -> Any:
    """Return the same value with the entries of its dicts in the order of their serialized keys."""
    if isinstance(value, Row):
        names = getattr(value, "_fields", None)
        return row_of(names, [sort_map_entries(v) for v in value], value.get_row_kind())
    if type(value) is dict:
        entries = sorted(value.items(), key=lambda entry: serialize_key(entry[0]))
        return {key: sort_map_entries(inner) for key, inner in entries}
    if type(value) in (list, tuple):
        return type(value)(map(sort_map_entries, value))
    return value
