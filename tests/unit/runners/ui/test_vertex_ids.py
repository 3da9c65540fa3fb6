"""The ids of vertices are those of Flink."""

from __future__ import annotations

import pytest

from headrace.runners.ui.vertex_ids import hex_id, murmur3_128


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "00000000000000000000000000000000"),
        # In little-endian order: the reference program prints e34bbc7bbc071b6c7a433ca9c49a9347.
        (b"The quick brown fox jumps over the lazy dog", "6c1b07bc7bbc4be347939ac4a93c437a"),
        # Flink's ids of a program's first source without a uid, alone and with a chained operator.
        (bytes(4), "bc764cd8ddf7a0cff126f51c16239658"),
        (bytes(8), "cbc357ccb763df2852fee8c4fc7d55f2"),
    ],
)
def test_the_hash_is_that_of_flink(data: bytes, found: str) -> None:
    assert murmur3_128(data).hex() == found


def test_an_id_is_that_of_the_uid_in_any_letters() -> None:
    assert hex_id("sums") == "a0f90dae8f3f5f042400509da0ac0fbb"
    ids = {hex_id(uid) for uid in ("sums", "sum", "été", "a" * 16, "a" * 17, "udce9 \udce9")}
    assert len(ids) == 6 and all(len(each) == 32 for each in ids)
