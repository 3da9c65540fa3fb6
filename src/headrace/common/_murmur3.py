"""MurmurHash3 (x86, 32 bits) as Spark and Flink compute it."""

from __future__ import annotations

_WORD = 0xFFFFFFFF
_SEED = 42


def murmur3(data: bytes) -> int:
    """Return the hash of some bytes, with seed 42 and without a sign.

    Each byte after the last whole word is mixed in as a signed word of its own. Source:
    ``Murmur3_x86_32`` of Spark 4.3, ``MurmurHashUtils`` of Flink 2.3.
    """
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
