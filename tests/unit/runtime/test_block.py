"""What a block keeps of its records on their way."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from headrace.common import Row
from headrace.runtime.block import Block, BlockBuffer, Mark, decode, encode, records_of, to_block
from headrace.runtime.channel import Channel
from tests.unit.runtime.test_immutability import PLAIN, Open, Shrinking

STAGE = Channel("0")
SPLIT_AT_5 = Mark(0, Channel("0", "split"), 5)


def block_of(values: list[Any], **other: Any) -> Block:
    parts: dict[str, Any] = {
        "keys": None,
        "timestamps": None,
        "copied": False,
        "marks": [],
        "first_watermark_ms": None,
        "now_ms": 0,
    }
    return Block(values=values, **(parts | other))


@pytest.mark.parametrize(
    "block",
    [
        block_of([]),
        block_of([value for value in PLAIN if not isinstance(value, type)], now_ms=7),
        block_of([1, 2], keys=["a", ("b", 1)], timestamps=[10, None], merged_channel=STAGE),
        block_of([], marks=[SPLIT_AT_5, Mark(0, Channel("1"), -(2**63), True)]),
        block_of([Open("a"), Row(x=1), Shrinking("a")]),
        block_of([b"x" * 5_000_000] * 2),
        block_of(list(range(300_000)), keys=[0] * 300_000),
    ],
    ids=["empty", "plain", "keyed", "marks only", "objects", "large records", "many records"],
)
def test_round_trip(block: Block) -> None:
    returned = decode(encode(block))
    assert returned == block
    assert type(returned) is Block
    assert all(type(mark) is Mark for mark in returned.marks)


def test_what_cannot_be_pickled_is_reported() -> None:
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError), match="lambda"):
        encode(block_of([lambda: None]))


def test_isolating_keeps_what_was_gathered() -> None:
    buffer = BlockBuffer(first_watermark_ms=3)
    buffer.values.extend([1, "a"])
    buffer.copy_values()
    record = {"n": 1}
    buffer.values.append(pickle.dumps(record, 5))
    record["n"] = 2
    buffer.timestamps.extend([None, None, 5])
    block = to_block(buffer, keyed=False, now_ms=9, merged_channel=None)
    assert block.copied
    assert block.keys is None
    assert block.timestamps == [None, None, 5]
    assert (block.first_watermark_ms, block.now_ms) == (3, 9)
    assert records_of(decode(encode(block))) == [1, "a", {"n": 1}]


def test_isolated_records_are_fresh_at_every_reading() -> None:
    buffer = BlockBuffer(first_watermark_ms=None)
    buffer.copy_values()
    buffer.values.append(pickle.dumps([1], 5))
    block = to_block(buffer, keyed=False, now_ms=0, merged_channel=None)
    (first,), (second,) = records_of(block), records_of(block)
    first.append(2)
    assert second == [1]


def test_timestamps_are_left_out_where_there_are_none() -> None:
    buffer = BlockBuffer(first_watermark_ms=None)
    buffer.keys.extend(["a", "b"])
    buffer.values.extend([1, 2])
    buffer.timestamps.extend([None, None])
    block = to_block(buffer, keyed=True, now_ms=0, merged_channel=Channel("4"))
    assert block.timestamps is None
    assert block.keys == ["a", "b"]
    assert block.merged_channel == Channel("4")


def test_time_zero_is_a_timestamp() -> None:
    buffer = BlockBuffer(first_watermark_ms=None)
    buffer.values.append(1)
    buffer.timestamps.append(0)
    assert to_block(buffer, keyed=False, now_ms=0, merged_channel=None).timestamps == [0]


def test_the_input_travels() -> None:
    sent = Block(["k"], [1], [5], False, [], None, 0, input=1)
    assert decode(encode(sent)).input == 1
