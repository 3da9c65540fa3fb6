"""The order in which Flink gives the entries of a map that it reads.

It reads them into a hash table of Java, so the order is that of the hash codes of the keys: of
MurmurHash3 (32 bits) over their UTF-8. A query sees the order where it takes the map apart.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from headrace.common._murmur3 import murmur3

_SMALLEST = 16
"""The slots of an empty table; it doubles when more than three quarters of them are used."""


def in_hash_order(pairs: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return entries with different keys in the order of a hash table of Java."""
    if len(pairs) < 2:
        return pairs
    slots = _SMALLEST
    while len(pairs) * 4 > slots * 3:
        slots *= 2
    return sorted(pairs, key=lambda pair: _spread_hash(pair[0]) & (slots - 1))


@lru_cache(maxsize=4096)
def _spread_hash(key: str) -> int:
    code = murmur3(key.encode())
    return code ^ code >> 16
