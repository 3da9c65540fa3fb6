"""Where records go when they leave a task."""

from __future__ import annotations

import enum
from collections import Counter
from typing import Any

from headrace.common import Row
from headrace.common.typeinfo import Types
from headrace.runtime.block import Envelope
from headrace.runtime.chain.chain import Chain
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.program import ExchangeProgram
from headrace.runtime.user_function import UserFunction
from tests.unit.runtime.programs import (
    Mark,
    chain_of,
    exchange,
    node,
    running,
    to_exchange,
    to_sink,
)


def sending(program: ExchangeProgram, **settings: Any) -> Chain:
    return running(chain_of(node(1, None, to_exchange(0)), exchanges=[program]), **settings)


def by_group(envelopes: Any) -> dict[int, list[Any]]:
    return {envelope.group: envelope.payload.values for envelope in envelopes}


def test_a_record_goes_to_the_group_of_its_key() -> None:
    chain = sending(exchange(0, groups=16, selector=UserFunction(lambda value: value[0])))
    records = [(f"key-{number % 20}", number) for number in range(100)]
    for record in records:
        chain.push(record, None)
    envelopes = list(chain.drain())
    for envelope in envelopes:
        block = envelope.payload
        assert {key_group_of(key, 16) for key in block.keys} == {envelope.group}
        assert block.keys == [key for key, _ in block.values]
        # of one key, and of one group, records keep their order
        assert block.values == [r for r in records if r in block.values]
    assert Counter(v for e in envelopes for v in e.payload.values) == Counter(records)


def test_a_declared_key_type_is_the_type_of_the_key() -> None:
    declared = exchange(0, groups=4, selector=UserFunction(len), key_type=Types.FLOAT())
    chain = sending(declared)
    chain.push("abc", None)
    (envelope,) = chain.drain()
    assert type(envelope.payload.keys[0]) is float
    assert envelope.group == key_group_of(3, 4)


def test_a_row_that_is_a_key_cannot_be_changed_any_more() -> None:
    key = Row(symbol="ABC")
    chain = sending(exchange(0, groups=4, selector=UserFunction(lambda value: key)))
    chain.push("a", None)
    key["symbol"] = "DEF"
    chain.push("b", None)
    keys = [found for envelope in chain.drain() for found in envelope.payload.keys]
    assert sorted(found["symbol"] for found in keys) == ["ABC", "DEF"]


def test_one_changeable_record_isolates_its_block_only() -> None:
    chain = sending(exchange(0, groups=2, selector=UserFunction(lambda value: value[0])))
    groups = {key_group_of(key, 2): key for key in range(10)}
    for value in [(groups[0], 1), (groups[1], 2), [groups[1], 3]]:
        chain.push(value, None)
    copied = {envelope.group: envelope.payload.copied for envelope in chain.drain()}
    assert copied == {0: False, 1: True}


def test_round_robin_gives_each_receiver_the_same_number() -> None:
    chain = sending(exchange(0, mode="round-robin", groups=3))
    for value in range(9):
        chain.push(value, None)
    assert by_group(chain.drain()) == {0: [0, 3, 6], 1: [1, 4, 7], 2: [2, 5, 8]}


def test_senders_start_at_different_receivers() -> None:
    chain = sending(exchange(0, mode="round-robin", groups=3))
    first = []
    for sender in range(6):
        chain.begin(sender, now_ms=0)
        chain.push("only", None)
        (envelope,) = chain.drain()
        first.append(envelope.group)
    assert first == [0, 1, 2, 0, 1, 2]


def test_a_partitioner_is_asked_for_each_record() -> None:
    custom = exchange(
        0,
        mode="custom",
        groups=4,
        selector=UserFunction(lambda value: value["n"]),
        partitioner=UserFunction(lambda key, count: key * 10 % count),
    )
    chain = sending(custom)
    for number in range(4):
        chain.push({"n": number}, 5)
    envelopes: list[Envelope] = list(chain.drain())
    assert [(e.group, len(e.payload.values)) for e in envelopes] == [(0, 2), (2, 2)]
    assert all(e.payload.keys is None for e in envelopes)
    assert all(e.payload.timestamps == [5, 5] for e in envelopes)


def test_forward_stays_in_its_own_subtask() -> None:
    chain = sending(exchange(0, mode="forward", groups=3))
    for current_group in range(4):
        chain.begin(sender=current_group, now_ms=0, current_group=current_group, group_count=4)
        chain.push("a", None)
        (envelope,) = chain.drain()
        assert envelope.group == current_group % 3


def test_records_for_sinks_stay_with_the_group_at_work() -> None:
    chain = running(chain_of(node(1, None, to_sink(7))))
    chain.begin(sender=1, now_ms=0, current_group=5, group_count=8)
    chain.push("a", 3)
    (envelope,) = chain.drain()
    assert (envelope.target, envelope.group, envelope.payload.timestamps) == (7, 5, [3])
    assert envelope.payload.marks == []


def test_idleness_and_watermark_reach_every_receiver() -> None:
    chain = sending(exchange(0, mode="round-robin", groups=2))
    chain.begin_channel("x", {})
    chain.push("a", None)
    chain.push_watermark(5)
    chain.push_watermark(5, True)
    marks = {envelope.group: envelope.payload.marks for envelope in chain.drain()}
    receiver = next(group for group, found in marks.items() if found[0].position == 1)
    assert marks[receiver] == [Mark(1, "0:x", 5, True)]
    assert marks[1 - receiver] == [Mark(0, "0:x", 5, True)]


def test_marks_of_two_splits_do_not_overwrite_each_other() -> None:
    chain = sending(exchange(0, groups=1))
    for split, watermark in [("x", 5), ("y", 3), ("x", 9)]:
        chain.begin_channel(split, {})
        chain.push_watermark(watermark)
    (envelope,) = chain.drain()
    assert envelope.payload.marks == [
        Mark(0, "0:x", 5),
        Mark(0, "0:y", 3),
        Mark(0, "0:x", 9),
    ]


def test_a_row_within_a_key_cannot_be_changed_any_more() -> None:
    row = Row(0)

    def key_of(value: int) -> tuple[Row, str]:
        row[0] = value
        return row, "x"

    chain = sending(exchange(0, groups=1, selector=UserFunction(key_of)))
    for value in (1, 2, 1):
        chain.push(value, None)
    (envelope,) = chain.drain()
    assert [key[0][0] for key in envelope.payload.keys] == [1, 2, 1]
    assert len(set(envelope.payload.keys)) == 2


def test_an_enum_of_a_function_can_be_a_key_within_one_process() -> None:
    class Side(enum.Enum):
        BUY = 1

    chain = sending(exchange(0, groups=1, selector=UserFunction(lambda value: (Side.BUY, value))))
    chain.push("a", None)
    (envelope,) = chain.drain()
    assert envelope.payload.keys == [(Side.BUY, "a")]
