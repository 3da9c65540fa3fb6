"""SHA-256 of Python values by their content, equal in every interpreter.

A digest of the pickle would differ: pickle writes a shared object once, and a set in the order of
its hashes, which changes from interpreter to interpreter.
"""

from __future__ import annotations

import copyreg
import hashlib
import pickle
from collections.abc import Iterable
from typing import Any

_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes})
_PROTOCOL = 4


def content_digest(values: Iterable[Any]) -> str | None:
    """Return the hexadecimal digest of a sequence of values.

    None where a value cannot be pickled, or where objects refer to each other in a cycle.
    """
    digest = hashlib.sha256()
    try:
        for value in values:
            digest.update(_hash_value(value))
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
        return None
    return digest.hexdigest()


def _hash_value(value: Any) -> bytes:
    kind = type(value)
    if kind in _ATOMS or (kind in (list, tuple) and _ATOMS.issuperset(map(type, value))):
        # !a, not !r: which characters repr() escapes depends on the version of Python.
        return hashlib.sha256(f"{kind.__name__} {value!a}".encode()).digest()
    if kind in (list, tuple):
        return _digest_of_parts(kind.__name__, map(_hash_value, value))
    if kind in (set, frozenset):
        return _digest_of_parts(kind.__name__, sorted(map(_hash_value, value)))
    if kind is dict:
        pairs = (_hash_value(key) + _hash_value(item) for key, item in value.items())
        return _digest_of_parts("dict", sorted(pairs))
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return _hash_value(value.__qualname__)  # without its module, which may move
    return _object_digest(value)


def _object_digest(value: Any) -> bytes:
    """Return the digest of what pickle would write: class, arguments, state, items."""
    reduce = copyreg.dispatch_table.get(type(value))
    reduced = reduce(value) if reduce is not None else value.__reduce_ex__(_PROTOCOL)
    if isinstance(reduced, str):  # a global's name
        return _hash_value(reduced)
    _, arguments, *rest = reduced
    state, items, pairs = [*rest, None, None, None][:3]
    contained = [] if items is None else list(items)
    mapped = {} if pairs is None else dict(pairs)
    return _digest_of_parts(
        "object", map(_hash_value, (type(value), arguments, state, contained, mapped))
    )


def _digest_of_parts(kind: str, digests: Iterable[bytes]) -> bytes:
    joined = hashlib.sha256(kind.encode())
    for digest in digests:
        joined.update(digest)
    return joined.digest()
