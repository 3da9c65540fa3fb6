"""Which blocks of quoted CSV pyarrow reads."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.table._formats.csv.quoted import quotes_whole_fields
from tests.unit.table._formats.test_flink import make


@pytest.mark.parametrize(
    ("block", "whole"),
    [
        (b'1,"a"', True),
        (b'"1","a, b"\r\n2,"c"\n', True),
        (b'1,"a""b"', False),
        (b'1,x"y"', False),
        (b'1,"x"y', False),
        (b'1,"x\n2,"y"', False),
        (b'1,"x\ny"', False),
        (b'1, "x"', False),
    ],
)
def test_blocks(block: bytes, whole: bool) -> None:
    assert quotes_whole_fields(block, ",") is whole


def test_quoted_fields_become_columns() -> None:
    found: Any = make("csv", "a INT, b STRING", {})
    batch = found._decode_block(b'1,"x, y"\n"2",z', 2)
    assert batch.to_pydict() == {"a": [1, 2], "b": ["x, y", "z"]}
