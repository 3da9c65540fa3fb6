"""The hash of bytes: codes that Flink gives for texts."""

from __future__ import annotations

import pytest

from headrace.common._murmur3 import murmur3


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"", 142593372), (b"a", 1485273170), ("żółw".encode(), 4007758484)],
)
def test_hash_codes(data: bytes, code: int) -> None:
    assert murmur3(data) == code
