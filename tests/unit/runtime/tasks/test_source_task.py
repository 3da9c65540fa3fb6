"""A source task: ranges in, blocks and the splits' new states out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common import WatermarkStrategy
from headrace.common._output_tag import OutputTag
from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.connector import BadRecord, Chunk, SplitRange, SplitReader
from headrace.errors import DecodeError
from headrace.metrics.metricbase import MetricGroup
from headrace.operators.timestamps import TimestampsSpec
from headrace.runtime.block import Envelope, Kind
from headrace.runtime.context import TaskInfo
from headrace.runtime.program import ChainProgram, SourceProgram, VertexProgram
from headrace.runtime.tasks.source_task import SourceTask, SourceTaskInput, SplitState, SplitWork
from tests.unit.runtime.programs import (
    Mark,
    chain_of,
    data,
    exchange,
    job_of,
    mapping,
    node,
    sent,
    to_exchange,
    to_node,
    to_sink,
)

BY_VALUE = TimestampsSpec(
    WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value: value)
)
TIMED = chain_of(
    node(1, None, to_node(2)),
    node(2, BY_VALUE, to_exchange(0)),
    exchanges=[exchange(0, groups=1)],
)
TO_SINK = chain_of(node(1, None, to_sink(0)))


class Reader(SplitReader):
    """The payload of a range is its chunks."""

    def __init__(self) -> None:
        self.closed = 0

    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        yield from split_range.payload

    def close(self) -> None:
        self.closed += 1


def source(chain: ChainProgram, number: int = 0, **other: Any) -> SourceProgram:
    return SourceProgram(
        number, f"source {number}", None, None, Reader(), chain, 1, number=number, **other
    )


def task_of(*sources: SourceProgram, vertices: int = 1, **settings: Any) -> SourceTask:
    stage = [VertexProgram(n, 1, True, 2, 1, TO_SINK) for n in range(vertices)]
    job = job_of(sources, *stage, **settings)
    return SourceTask(job, TaskInfo(), MetricGroup())


def reading(*values: Any, split: str = "x") -> tuple[SplitRange, ...]:
    return (SplitRange(split, 0, 1, [Chunk(list(values))]),)


def run(task: SourceTask, *work: SplitWork, sender: int = 0, **other: Any) -> list[Envelope]:
    return list(task.run(SourceTaskInput(sender, 7, 1000, work, **other)))


def states(envelopes: list[Envelope]) -> dict[tuple[int, str], Any]:
    (state,) = [e for e in envelopes if e.kind == Kind.SOURCE_STATE]
    assert (state.stage, state.target) == (2, "")
    epoch, found = state.payload
    assert epoch == 7
    return dict(found)


def marks(envelopes: list[Envelope]) -> list[Mark]:
    return [mark for envelope in data(envelopes) for mark in envelope.payload.marks]


def test_ranges_are_read_in_order_through_the_chain() -> None:
    task = task_of(source(chain_of(node(1, mapping(str), to_sink(0)))))
    ranges = (*reading(1, 2), *reading(3))
    envelopes = run(task, SplitWork(0, "x", ranges))
    assert sent(envelopes, 2) == ["1", "2", "3"]
    assert {e.payload.now_ms for e in data(envelopes)} == {1000}
    assert states(envelopes) == {(0, "x"): SplitState(MIN_WATERMARK, {})}


def test_timestamps_of_the_source_arrive() -> None:
    task = task_of(source(TO_SINK))
    chunks = [Chunk(["a", "b"], [5, None]), Chunk(["c"])]
    envelopes = run(task, SplitWork(0, "x", (SplitRange("x", 0, 3, chunks),)))
    (only,) = data(envelopes)
    assert only.payload.timestamps == [5, None, None]


def test_watermarks_stand_behind_chunks() -> None:
    task = task_of(source(TIMED), chunk_records=2)
    ranges = (SplitRange("x", 0, 5, [Chunk([n]) for n in (10, 30, 20, 50, 40)]),)
    envelopes = run(task, SplitWork(0, "x", ranges))
    assert marks(envelopes) == [Mark(2, "0:x", 29), Mark(4, "0:x", 49)]
    state = states(envelopes)[0, "x"]
    assert state.watermark == 49


def test_a_chain_without_an_exchange_knows_its_watermark_too() -> None:
    """Alignment asks for it."""
    chain = chain_of(node(1, None, to_node(2)), node(2, BY_VALUE, to_sink(0)))
    task = task_of(source(chain))
    first, second = (
        SplitWork(0, split, reading(at, split=split)) for split, at in (("x", 50), ("y", 20))
    )
    found = states(run(task, first, second))
    assert {split: state.watermark for (_, split), state in found.items()} == {"x": 49, "y": 19}


def test_a_large_micro_batch_has_no_more_watermarks_than_a_small_one() -> None:
    def watermark_count(records: int) -> int:
        chunks = [Chunk([n]) for n in range(records)]
        ranges = (SplitRange("x", 0, records, chunks, records),)
        task = task_of(source(TIMED), chunk_records=10)
        found = marks(run(task, SplitWork(0, "x", ranges)))
        assert found[-1].watermark == records - 2
        return len(found)

    assert watermark_count(100) == 10
    assert watermark_count(160) == watermark_count(1_600) == watermark_count(6_400) == 16


def test_watermarks_are_as_far_apart_as_the_task_says() -> None:
    task = task_of(source(TIMED), chunk_records=100)
    ranges = (SplitRange("x", 0, 4, [Chunk([n]) for n in (10, 30, 20, 50)]),)
    envelopes = run(task, SplitWork(0, "x", ranges), chunk_records=2)
    assert marks(envelopes) == [Mark(2, "0:x", 29), Mark(4, "0:x", 49)]


def test_a_split_goes_on_from_its_state() -> None:
    task = task_of(source(TIMED))
    first = states(run(task, SplitWork(0, "x", reading(100))))[0, "x"]
    other = run(task, SplitWork(0, "y", reading(5, split="y")))
    assert marks(other) == [Mark(1, "0:y", 4)]
    envelopes = run(task, SplitWork(0, "x", reading(60), state=first))
    assert marks(envelopes) == []  # behind the watermark that stands
    assert states(envelopes)[0, "x"].watermark == 99
    envelopes = run(task, SplitWork(0, "x", reading(101), state=first))
    assert marks(envelopes) == [Mark(1, "0:x", 100)]


def test_a_finished_split_ends_its_channel_and_is_forgotten() -> None:
    task = task_of(source(TIMED))
    envelopes = run(task, SplitWork(0, "x", reading(10), finished=True))
    assert marks(envelopes)[-1] == Mark(1, "0:x", MAX_WATERMARK)
    assert states(envelopes) == {(0, "x"): None}


def test_an_announced_split_is_known_and_its_state_is_left_to_its_reader() -> None:
    task = task_of(source(TIMED))
    envelopes = run(task, SplitWork(0, "x", announce=True), SplitWork(0, "y", announce=True))
    assert marks(envelopes) == [
        Mark(0, "0:x", MIN_WATERMARK),
        Mark(0, "0:y", MIN_WATERMARK),
    ]
    assert states(envelopes) == {}


def test_a_split_goes_idle_and_wakes_at_its_watermark() -> None:
    task = task_of(source(TIMED))
    state = states(run(task, SplitWork(0, "x", reading(100))))[0, "x"]
    asleep = run(task, SplitWork(0, "x", idle=True, state=state))
    assert marks(asleep) == [Mark(0, "0:x", 99, True)]
    state = states(asleep)[0, "x"]
    awake = run(task, SplitWork(0, "x", reading(150), idle=False, state=state))
    assert marks(awake) == [Mark(0, "0:x", 99), Mark(1, "0:x", 149)]


def test_blocks_leave_when_enough_is_gathered() -> None:
    task = task_of(source(TO_SINK), flush_records=3)
    ranges = (SplitRange("x", 0, 8, [Chunk([n, n]) for n in range(4)]),)
    envelopes = run(task, SplitWork(0, "x", ranges))
    assert [len(e.payload.values) for e in data(envelopes)] == [4, 4]
    assert [e.seq for e in data(envelopes)] == [0, 1]
    assert sent(envelopes, 2) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_two_sources_in_one_task_are_two_senders() -> None:
    task = task_of(source(TO_SINK, 0), source(TO_SINK, 1))
    envelopes = run(
        task,
        SplitWork(0, "x", reading("a")),
        SplitWork(1, "x", reading("b")),
        SplitWork(0, "y", reading("c")),
        sender=3,
    )
    assert {e.sender: e.payload.values for e in data(envelopes)} == {6: ["a", "c"], 7: ["b"]}
    assert set(states(envelopes)) == {(0, "x"), (1, "x"), (0, "y")}


def test_a_tick_tells_every_group_the_time() -> None:
    task = task_of(source(TO_SINK), vertices=2)
    envelopes = run(task, ticks=True)
    by_target = {(e.target, e.group): e.payload for e in data(envelopes)}
    assert set(by_target) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert all(block.values == [] and block.now_ms == 1000 for block in by_target.values())


def bad(position: int) -> BadRecord:
    return BadRecord(b"{", "no JSON", "x", position)


def test_a_bad_record_goes_aside_in_its_place() -> None:
    chain = chain_of(node(1, None, to_sink(0), to_sink(0, "bad")))
    task = task_of(source(chain, bad_record_tag=OutputTag("bad").tag_id))
    chunk = Chunk(["a", "b"], [1, 2], bad=[(0, bad(0)), (1, bad(2)), (2, bad(4)), (2, bad(5))])
    envelopes = run(task, SplitWork(0, "x", (SplitRange("x", 0, 6, [chunk]),)))
    assert sent(envelopes, 2) == [bad(0), "a", bad(2), "b", bad(4), bad(5)]
    (only,) = data(envelopes)
    assert only.payload.timestamps == [None, 1, None, 2, None, None]
    figures = task._metrics.snapshot()
    assert figures["numRecordsIn"] == 6
    assert figures["numRecordsInErrors"] == 4
    assert figures["source 0.numRecordsInErrors"] == 4


def test_what_a_source_leaves_out_is_counted() -> None:
    task = task_of(source(TO_SINK))
    chunks = [Chunk([], skipped=3), Chunk(["a"]), Chunk([], skipped=2)]
    envelopes = run(task, SplitWork(0, "x", (SplitRange("x", 0, 6, chunks),)))
    assert sent(envelopes, task._job.sink_stage) == ["a"]
    figures = task._metrics.snapshot()
    assert (figures["numRecordsIn"], figures["numRecordsSkipped"]) == (1, 5)


def test_without_a_place_for_it_a_bad_record_ends_the_job() -> None:
    task = task_of(source(TO_SINK))
    chunk = Chunk(["a"], bad=[(1, bad(9))])
    with pytest.raises(DecodeError, match="input of source 0 cannot be decoded: no JSON") as caught:
        run(task, SplitWork(0, "x", (SplitRange("x", 0, 1, [chunk]),)))
    assert caught.value.where == {"split": "x at 9", "raw": "b'{'"}
    assert ".on_error(tag)" in str(caught.value)


def test_a_failing_function_is_reported_with_its_record() -> None:
    task = task_of(source(chain_of(node(1, mapping(lambda value: 1 / value), name="invert"))))
    with pytest.raises(ZeroDivisionError) as caught:
        run(task, SplitWork(0, "x", reading(1, 0)))
    assert caught.value.__notes__[0].startswith("operator: invert")


def test_closing_closes_what_was_opened() -> None:
    used, unused = source(TO_SINK, 0), source(TO_SINK, 1)
    task = task_of(used, unused)
    run(task, SplitWork(0, "x", reading("a")))
    run(task, SplitWork(0, "x", reading("b")))
    task.close()
    assert (used.reader.closed, unused.reader.closed) == (1, 0)
