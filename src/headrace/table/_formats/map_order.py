"""The order in which Flink gives the entries of a map that it reads.

It reads them into a hash table of Java, so the order is that of the hash codes of the keys: of
MurmurHash3 (32 bits) over their UTF-8. A query sees the order where it takes the map apart.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

_WORD = 0xFFFFFFFF
_SEED = 42
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
    code = hash_code(key.encode())
    return code ^ code >> 16


def hash_code(data: bytes) -> int:
    """Return the hash code of the bytes of a text, without a sign."""
    code = _SEED
    whole = len(data) - len(data) % 4
    for place in range(0, whole, 4):
        code = _mixed(code, int.from_bytes(data[place : place + 4], "little"))
    for byte in data[whole:]:
        code = _mixed(code, (byte - 256 if byte > 127 else byte) & _WORD)
    code ^= len(data)
    code = (code ^ code >> 16) * 0x85EBCA6B & _WORD
    code = (code ^ code >> 13) * 0xC2B2AE35 & _WORD
    return code ^ code >> 16


def _mixed(code: int, word: int) -> int:
    word = _rotated(word * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD
    return (_rotated(code ^ word, 13) * 5 + 0xE6546B64) & _WORD


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD
