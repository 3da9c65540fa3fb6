"""StageCall of a keyed stage whose records leave in the same blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common import Row, WatermarkStrategy
from headrace.metrics.metricbase import MetricGroup
from headrace.operators.keyed_process import KeyedProcessSpec
from headrace.operators.timestamps import TimestampsSpec
from headrace.runtime.block import Block, Envelope, Mark, decode, encode, records_of
from headrace.runtime.chain.chain import Chain
from headrace.runtime.context import TaskInfo
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.program import VertexProgram
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.tasks import keyed_task
from headrace.runtime.tasks.keyed_task import KeyedTask, TaskInput
from headrace.runtime.tasks.stage_call import StageCall
from headrace.runtime.user_function import UserFunction
from tests.effort import examples
from tests.unit.runtime.keyed import Harness, Memory
from tests.unit.runtime.programs import (
    chain_of,
    channel,
    exchange,
    job_of,
    node,
    to_exchange,
    to_node,
)

HOMES, RECEIVERS = 4, 8
WATERMARKS = (10, 20, 30)

# What a group does: records (a key of the next stage), and steps to the next watermark. In the end
# all are at the same one, as they all hear of the same.
DEEDS = st.lists(st.one_of(st.integers(0, 5), st.just("next")), max_size=12)
RUNS = st.lists(st.tuples(st.integers(0, HOMES - 1), DEEDS), min_size=1, max_size=5)


def chain() -> Chain:
    program = chain_of(
        node(1, None, to_exchange(0)),
        exchanges=[exchange(0, groups=RECEIVERS, selector=UserFunction(key_of))],
    )
    return Chain(program, job_of(), TaskInfo(), MetricGroup(), merged_marks=True)


@dataclass
class Fill:
    """A record that its owner could change: it is kept as it was."""

    key: int
    run: int
    index: int


def record(key: int, run: int, index: int) -> Any:
    named = {"key": key, "run": run, "index": index}
    shapes = [(key, run, index), [key, run, index], Fill(**named), Row(**named)]
    return shapes[index % len(shapes)]


def key_of(value: Any) -> Any:
    return value.key if isinstance(value, Fill) else value[0]


def sent(
    runs: Iterable[tuple[int, list[Any]]], keep_buffers: bool, drains: bool = False
) -> list[Envelope]:
    """``drains``: within a run as well, as where there is much."""
    running, envelopes = chain(), []
    for number, (current_group, deeds) in enumerate(runs):
        watermarks = iter(WATERMARKS)
        running.begin(number, 7, current_group, HOMES, 0, keep_buffers and number > 0)
        for index, deed in enumerate(deeds):
            if deed != "next":
                running.push(record(deed, number, index), index)
                if drains and deed % 5 == 0:
                    envelopes += running.drain()
            elif (watermark := next(watermarks, None)) is not None:
                running.push_watermark(watermark, watermark == WATERMARKS[-1])
        if any("next" in deeds for _, deeds in runs):
            for watermark in watermarks:
                running.push_watermark(watermark, watermark == WATERMARKS[-1])
        if not keep_buffers:
            envelopes += running.drain()
    return [*envelopes, *running.drain()] if keep_buffers else envelopes


def read(blocks: Iterable[Block]) -> tuple[list[Any], Any]:
    """(watermark, key, value, timestamp) of each record, by watermark, and the last mark."""
    records: list[Any] = []
    last: Mark | None = None
    for block in map(decode, map(encode, blocks)):
        assert block.keys is not None and block.first_watermark_ms is not None
        assert block.merged_channel == channel("0")
        first_watermark_ms, marks = block.first_watermark_ms, [*block.marks]
        stamps = block.timestamps or [None] * len(block.values)
        for at, record in enumerate(zip(block.keys, records_of(block), stamps, strict=True)):
            while marks and marks[0].position <= at:
                first_watermark_ms = max(first_watermark_ms, marks.pop(0).watermark)
            records.append((first_watermark_ms, *record))
        for mark in block.marks:
            if last is None or mark.watermark >= last.watermark:
                last = mark
    return sorted(records, key=lambda found: found[0]), last and last[1:]


def received(envelopes: Iterable[Envelope]) -> dict[int, list[Block]]:
    groups: dict[int, list[Block]] = {}
    for envelope in sorted(envelopes, key=lambda e: (e.sender, e.seq)):
        if envelope.stage == 1:
            groups.setdefault(envelope.group, []).append(envelope.payload)
    return groups


@settings(max_examples=examples(20))
@given(RUNS)
def test_a_receiver_gets_what_it_got_from_each_group(runs: list[Any]) -> None:
    alone, joined = received(sent(runs, False)), received(sent(runs, True))
    assert {group: read(blocks) for group, blocks in joined.items()} == {
        group: read(blocks) for group, blocks in alone.items()
    }
    assert all(len(blocks) == 1 for blocks in joined.values())


@settings(max_examples=examples(20))
@given(RUNS)
def test_so_it_does_where_blocks_leave_within_a_run(runs: list[Any]) -> None:
    runs = [
        *runs,
        *((current_group, []) for current_group in range(HOMES)),
    ]  # each sends to those with its number
    alone, joined = received(sent(runs, False)), received(sent(runs, True, drains=True))
    assert {group: read(blocks) for group, blocks in joined.items()} == {
        group: read(blocks) for group, blocks in alone.items()
    }


def test_objects_of_several_classes_come_back_as_they_were() -> None:
    running = chain()
    running.begin(0, 0, 0, HOMES, 0)
    records = [record(1, 0, index) for index in range(8)]
    for watermark, each in enumerate(records):
        running.push_watermark(watermark)
        running.push(each, None)
    (envelope,) = (e for e in running.drain() if e.payload.values)
    assert records_of(decode(encode(envelope.payload))) == records


def test_a_block_keeps_the_latest_time_of_its_groups() -> None:
    running = chain()
    for now_ms, keep_buffers in [(9, False), (5, True)]:
        running.begin(now_ms, now_ms, 0, HOMES, 0, keep_buffers)
        running.push("a", None)
    assert {e.payload.now_ms for e in running.drain()} == {9}


def test_idleness_is_sent_again_where_a_block_left_before_it() -> None:
    running = chain()
    running.begin(0, 0, 0, HOMES, 0)
    running.push_watermark(30, True)
    running.begin(1, 0, 1, HOMES, 0, keep_buffers=True)
    running.push_watermark(30, False)
    envelopes = [*running.drain()]
    running.push_watermark(30, True)
    envelopes += running.drain()
    last = {group: read(blocks)[1] for group, blocks in received(envelopes).items()}
    assert last == dict.fromkeys([0, 4, 1, 5], (channel("0"), 30, True))
    assert [*running.drain()] == []


def test_of_one_watermark_the_last_word_on_idleness_is_sent() -> None:
    running = chain()
    running.begin(0, 0, 0, HOMES, 0)
    running.push_watermark(30, True)
    running.push_watermark(30, False)
    last = {read(blocks)[1] for blocks in received(running.drain()).values()}
    assert last == {(channel("0"), 30, False)}


def test_what_waits_is_counted_under_every_watermark() -> None:
    running = chain()
    for number in range(3):
        running.begin(number, 0, number, HOMES, 0, keep_buffers=number > 0)
        running.push((1, "before"), None)
        running.push_watermark(10)
        running.push((2, "behind"), None)
        assert running.buffered_records() == 2 * (number + 1)
    assert sum(len(e.payload.values) for e in running.drain()) == 6
    assert running.buffered_records() == 0


def test_what_a_failed_call_left_is_not_sent() -> None:
    running = chain()
    running.begin(0, 0, 0, HOMES, 0)
    running.push("lost", None)
    running.push_watermark(10)
    running.push("lost too", None)
    running.begin(1, 0, 0, HOMES, 0)
    running.push("kept", None)
    (envelope,) = (e for e in running.drain() if e.stage == 1)
    assert (envelope.payload.values, envelope.payload.marks) == (["kept"], [])
    assert envelope.payload.first_watermark_ms == 0


def through(
    function: Any, groups: list[int], behind: OperatorSpec | None = None
) -> tuple[list[Envelope], list[Envelope]]:
    """What a record for each of some groups sends to the next stage: at once, and in the end."""
    head = KeyedProcessSpec(UserFunction(function, "process_element"))
    nodes = [node(1, head, to_exchange(0))]
    if behind is not None:
        nodes = [node(1, head, to_node(2)), node(2, behind, to_exchange(0))]
    program = chain_of(*nodes, exchanges=[exchange(0, groups=1, selector=UserFunction(key_of))])
    vertex = VertexProgram(0, 1, True, 4, 1, program, (channel("0"),))
    task = KeyedTask(vertex, job_of((), vertex), TaskInfo(), MetricGroup())
    backends = {group: HeapBackend() for group in groups}
    work, envelopes = StageCall(), []
    for group in groups:
        block = Block(["a"], ["x"], None, False, [], None, 0)
        envelopes += work.run_group(task, TaskInput(group, [block], 0), backends[group])
    return envelopes, [*work.drain()]


def test_groups_of_a_task_keep_their_state_apart_and_share_its_blocks() -> None:
    envelopes, waiting = through(Memory(), [1, 2, 1])
    assert envelopes == []
    assert [value[1] for e in waiting for value in records_of(e.payload)] == [1, 1, 2]
    assert len({e.group for e in waiting}) == len(waiting)


def test_groups_of_many_records_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed_task, "_FEW_RECORDS", 2)
    envelopes, waiting = through(Memory(), [1, 2, 3])
    assert [len(e.payload.values) for e in envelopes] == [2]
    assert [len(e.payload.values) for e in waiting] == [1]


def test_groups_with_watermarks_of_their_own_do_not_wait() -> None:
    times = TimestampsSpec(WatermarkStrategy.for_monotonous_timestamps())
    envelopes, waiting = through(Memory(), [1, 2, 3], times)
    records = [e for e in envelopes if e.payload.values]
    assert [e.payload.merged_channel for e in records] == [None] * 3
    assert waiting == []


def test_records_for_sinks_do_not_wait() -> None:
    harness = Harness(Memory())
    for group in (1, 2, 3):
        block = Block(["a"], ["x"], None, False, [], None, 0)
        task = TaskInput(group, [block], 0)
        (envelope,) = harness.task.run_group(task, harness.backend(group), keep_buffers=group > 1)
        assert envelope.group == group  # print() names it
