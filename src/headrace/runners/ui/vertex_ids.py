"""The ids of vertices for tools of Flink: 32 hexadecimal digits.

Flink's id of an operator with a uid is the hash of the uid; that of a vertex is its first
operator's (Flink 2.3, ``OperatorIDGenerator`` and ``StreamGraphHasherV2``). So a vertex whose first
operator has a uid has the same id in both.
"""

from __future__ import annotations

from functools import lru_cache

_MASK = (1 << 64) - 1
_C1, _C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


@lru_cache(1024)
def hex_id(vertex_id: str) -> str:
    """Return the id of a vertex as 32 digits; ``vertex_id``: the id of its first operator."""
    return murmur3_128(vertex_id.encode("utf-8", "surrogatepass")).hex()


def murmur3_128(data: bytes) -> bytes:
    """Return MurmurHash3 of some bytes (x64, 128 bits, seed 0).

    Source: Austin Appleby's definition, which is in the public domain.
    """
    first = second = 0
    for at in range(0, len(data), 16):
        block = data[at : at + 16]
        low, high = (int.from_bytes(part, "little") for part in (block[:8], block[8:]))
        first ^= _rotate(low * _C1 & _MASK, 31) * _C2 & _MASK
        second_mixed = second ^ (_rotate(high * _C2 & _MASK, 33) * _C1 & _MASK)
        if len(block) < 16:
            second = second_mixed
            break
        first = (_rotate(first, 27) + second & _MASK) * 5 + 0x52DCE729 & _MASK
        second = (_rotate(second_mixed, 31) + first & _MASK) * 5 + 0x38495AB5 & _MASK
    first, second = first ^ len(data), second ^ len(data)
    first = first + second & _MASK
    second = second + first & _MASK
    first, second = _finish(first), _finish(second)
    first = first + second & _MASK
    second = second + first & _MASK
    return first.to_bytes(8, "little") + second.to_bytes(8, "little")


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> 64 - bits) & _MASK


def _finish(word: int) -> int:
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & _MASK
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return word ^ word >> 33
