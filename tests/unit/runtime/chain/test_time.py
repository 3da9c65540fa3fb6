"""Time in a chain: where watermarks pass, and what operators find again."""

from __future__ import annotations

import pickle
from typing import Any

from headrace.common import WatermarkStrategy
from headrace.common._output_tag import OutputTag
from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.metrics.metricbase import MetricGroup
from headrace.operators.process import ProcessSpec
from headrace.operators.timestamps import TimestampsSpec
from headrace.runtime.chain.chain import Chain
from headrace.runtime.context import TaskInfo
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.program import ChainProgram
from headrace.runtime.user_function import UserFunction
from tests.unit.runtime.programs import (
    Mark,
    Spy,
    chain_of,
    channel,
    exchange,
    job_of,
    node,
    running,
    sent,
    to_exchange,
    to_node,
    to_sink,
)

SINKS = 2
ASIDE = OutputTag("aside")


def both(value: int, ctx: Any) -> Any:
    yield value
    yield ASIDE, -value


def test_a_watermark_passes_every_operator_once() -> None:
    """Also where a stream parts and comes together again."""
    log: list[Any] = []
    joined = Spy("joined", log)
    chain = running(
        chain_of(
            node(1, None, to_node(2), to_node(3)),
            node(2, Spy("left", log), to_node(4)),
            node(3, Spy("right", log), to_node(4)),
            node(4, joined, to_exchange(0)),
            exchanges=[exchange(0, groups=2)],
        )
    )
    chain.begin_channel("split", {})
    chain.push_watermark(5)
    chain.push_watermark(5, True)
    chain.push_watermark(9)
    assert joined.watermarks() == [(5, False), (5, True), (9, False)]
    # behind no record, the last mark is enough
    assert [e.payload.marks for e in chain.drain()] == [[Mark(0, "0:split", 9)]] * 2


def test_where_streams_meet_the_slower_counts() -> None:
    """One branch has time of its own; the least of both counts behind the union."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v)
    joined = Spy("joined")
    chain = running(
        chain_of(
            node(1, None, to_node(2), to_node(3)),
            node(2, TimestampsSpec(strategy), to_node(3)),
            node(3, joined),
        )
    )
    chain.begin_channel("split", {})
    chain.push_watermark(100)
    assert joined.watermarks() == []
    chain.push(31, None)
    chain.tick()
    assert joined.watermarks() == [(30, False)]
    chain.push(501, None)
    chain.tick()
    assert joined.watermarks() == [(30, False), (100, False)]
    chain.push_watermark(MAX_WATERMARK)
    assert joined.watermarks()[-1] == (MAX_WATERMARK, False)


def test_one_reader_of_both_outputs_gets_a_watermark_once() -> None:
    joined = Spy("joined")
    chain = running(
        chain_of(
            node(1, ProcessSpec(UserFunction(both)), to_node(2), to_node(2, "aside")),
            node(2, joined),
        )
    )
    chain.push_watermark(7)
    chain.push(1, None)
    assert joined.watermarks() == [(7, False)]
    assert joined.records() == [1, -1]


def test_marks_stand_between_the_records_of_every_group() -> None:
    chain = running(
        chain_of(node(1, None, to_exchange(0), to_sink(0)), exchanges=[exchange(0, groups=2)])
    )
    chain.begin_channel("split", {})
    keys = ["a", "b", "c", "d"]
    for key in keys:
        chain.push(key, None)
    chain.push_watermark(10)
    chain.push("a", None)
    chain.push_watermark(20)
    chain.push_watermark(30)
    blocks = {e.group: e.payload for e in chain.drain() if e.stage == 1}
    for group in range(2):
        mine = [key for key in keys if key_group_of(key, 2) == group]
        last = mine + ["a"] * (key_group_of("a", 2) == group)
        assert blocks[group].values == blocks[group].keys == last
        expected = {len(mine): 10} | {len(last): 30}
        assert {mark.position: mark.watermark for mark in blocks[group].marks} == expected


# What is found again


def test_splits_that_share_a_chain_do_not_share_time() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v)
    after, joined = Spy("after"), Spy("joined")
    chain = running(
        chain_of(
            node(1, None, to_node(2), to_node(4)),
            node(2, TimestampsSpec(strategy), to_node(3)),
            node(3, after, to_node(4)),
            node(4, joined),
        )
    )
    states: dict[str, Any] = {"one": {}, "two": {}}

    def read(split: str, value: int) -> None:
        chain.begin_channel(split, states[split])
        chain.push(value, None)
        chain.tick()
        chain.push_watermark(value)
        states[split] = pickle.loads(pickle.dumps(chain.snapshot()))

    read("one", 100)
    read("two", 10)
    assert after.watermarks() == [(99, False), (9, False)]
    assert joined.watermarks() == [(99, False), (9, False)]
    read("one", 50)  # behind what was said: nothing new
    read("two", 20)
    assert after.watermarks() == [(99, False), (9, False), (19, False)]
    assert joined.watermarks() == [(99, False), (9, False), (10, False), (19, False)]
    # how many records each operator saw is its own split's number
    assert states["one"][3] == states["two"][3] == 2
    assert states["one"]["4/inputs"] == ({1: (100, False), 3: (99, False)}, 99)
    assert states["two"]["4/inputs"] == ({1: (20, False), 3: (19, False)}, 19)


def test_nothing_to_remember_is_nothing_stored() -> None:
    chain = running(chain_of(node(1, Spy("spy")), node(2, None)))
    assert chain.snapshot() == {}
    chain.push("a", None)
    assert chain.snapshot() == {1: 1}
    chain.restore({})
    assert chain.snapshot() == {}


def test_an_input_added_since_holds_back() -> None:
    """The program of today has an input that the snapshot does not know."""
    joined = Spy("joined")
    chain = running(
        chain_of(
            node(1, None, to_node(2), to_node(3)),
            node(2, Spy("new"), to_node(4)),
            node(3, Spy("old"), to_node(4)),
            node(4, joined),
        )
    )
    chain.restore({"4/inputs": ({3: (50, False), "gone": (1, False)}, 50)})
    chain.push_watermark(40)
    assert joined.watermarks() == []
    chain.push_watermark(60)
    assert joined.watermarks() == [(60, False)]
    assert chain.snapshot()["4/inputs"] == ({2: (60, False), 3: (60, False)}, 60)


def test_a_new_task_run_starts_with_empty_buffers() -> None:
    chain = running(
        chain_of(node(1, None, to_exchange(0), to_sink(0)), exchanges=[exchange(0, groups=2)])
    )
    chain.push("lost", None)
    assert chain.buffered_records() == 2
    chain.begin(sender=4, now_ms=2000)
    assert chain.buffered_records() == 0
    chain.push("kept", None)
    envelopes = list(chain.drain())
    assert sent(envelopes, SINKS) == sent(envelopes, 1) == ["kept"]
    assert {(e.sender, e.payload.now_ms) for e in envelopes} == {(4, 2000)}
    assert sorted(e.seq for e in envelopes) == [0, 1]


def test_behind_a_keyed_stage_one_group_marks_its_own_number() -> None:
    """And those it has records for; the others hear it from the group of their number."""
    program = chain_of(node(1, None, to_exchange(0)), exchanges=[exchange(0, groups=8)])
    chain = Chain(program, job_of(), TaskInfo(), MetricGroup(), merged_marks=True)
    chain.begin(sender=9, now_ms=0, current_group=1, group_count=4, watermark=5)
    far = next(key for key in range(100) if key_group_of(key, 8) == 2)
    chain.push(far, None)
    chain.push_watermark(10)
    blocks = {e.group: e.payload for e in chain.drain()}
    assert set(blocks) == {1, 2, 5}
    assert all(found.merged_channel == channel("0") for found in blocks.values())
    assert all(found.marks[-1].watermark == 10 for found in blocks.values())
    # first_watermark_ms: the sender's watermark when the first record was emitted
    assert blocks[2].first_watermark_ms == 5
    chain.push(far, None)
    (again,) = chain.drain()
    assert again.payload.first_watermark_ms == 10


def meeting(log: list[Any]) -> ChainProgram:
    """A chain whose branches meet twice, with an exchange before, between and after."""
    return chain_of(
        node(1, None, to_node(2), to_node(3), to_exchange(0)),
        node(2, Spy("left", log), to_node(3), to_node(4)),
        node(3, Spy("met", log), to_node(4), to_exchange(1)),
        node(4, Spy("met again", log), to_exchange(2)),
        exchanges=[exchange(number, groups=1) for number in range(3)],
    )


def marks_of(chain: Chain) -> list[Any]:
    return [envelope.payload.marks for envelope in chain.drain()]


def test_where_streams_meet_a_channel_is_announced_to_every_receiver() -> None:
    log: list[Any] = []
    chain = running(meeting(log))
    log.clear()
    chain.begin_channel("split", {})
    chain.announce()
    least = (MIN_WATERMARK, False)
    assert [(name, *at) for name, _, *at in log] == [
        ("left", *least),
        ("met", *least),
        ("met again", *least),
    ]
    assert marks_of(chain) == [[Mark(0, f"{number}:split", MIN_WATERMARK)] for number in range(3)]


def test_another_programs_receivers_get_the_watermark_where_streams_meet() -> None:
    before = running(meeting([]))
    before.begin_channel("split", {})
    before.push_watermark(5)
    known = pickle.loads(pickle.dumps(before.snapshot()))
    chain = running(meeting([]))
    chain.begin_channel("split", known)
    chain.announce()
    chain.push_watermark(5)
    assert marks_of(chain) == [[Mark(0, f"{number}:split", 5)] for number in range(3)]
