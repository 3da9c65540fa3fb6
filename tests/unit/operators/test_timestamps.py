"""Watermarks that are made behind a keyed stage: by key group, most of which stay empty."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from headrace.common import Configuration, WatermarkStrategy
from headrace.common.watermark_strategy import (
    MAX_WATERMARK,
    MIN_WATERMARK,
    WatermarkGenerator,
    WatermarkOutput,
)
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.metrics.metricbase import MetricGroup
from headrace.operators.keyed_process import KeyedProcessSpec
from headrace.operators.timestamps import TimestampsSpec
from headrace.runtime.block import Block, Mark
from headrace.runtime.context import TaskInfo
from headrace.runtime.program import VertexProgram
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.runtime.tasks.keyed_task import KeyedTask, TaskInput
from headrace.runtime.user_function import UserFunction
from tests.unit.runtime.programs import (
    Spy,
    block,
    chain_of,
    channel,
    exchange,
    job_of,
    node,
    running,
    to_exchange,
    to_node,
)


class Passing(KeyedProcessFunction):
    """Lets records pass."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value


TIMEOUT_MS = 50
BY_VALUE = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda value: value
)
IMPATIENT = BY_VALUE.with_idleness(timedelta(milliseconds=TIMEOUT_MS))


class Group:
    """One key group that makes watermarks; a new task over the same state for each advance."""

    def __init__(self, strategy: WatermarkStrategy, paged: bool, batch: bool = False) -> None:
        root = node(1, KeyedProcessSpec(UserFunction(Passing(), "process_element")), to_node(2))
        spec = TimestampsSpec(strategy, "last" if batch else "each")
        assigning = node(2, spec, to_exchange(3))
        chain = chain_of(root, assigning, exchanges=[exchange(3, groups=1)])
        self.vertex = VertexProgram(0, 1, True, 4, 1, chain, (channel("0"),))
        self.job = job_of((), self.vertex, batch=batch)
        self.store = MemoryPages()
        self.heap = HeapBackend() if not paged else None

    def backend(self) -> StateBackend:
        return self.heap or PagedBackend(self.store, 1, 200)

    def marks(self, *blocks: Block, now_ms: int) -> list[tuple[int, bool]]:
        """The marks that come out: (watermark, idle)."""
        task_info = TaskInfo(is_batch=self.job.batch)
        task = KeyedTask(self.vertex, self.job, task_info, MetricGroup())
        envelopes = list(task.advance(TaskInput(2, list(blocks), now_ms), self.backend()))
        found = [mark for envelope in envelopes for mark in envelope.payload.marks]
        assert {mark.channel for mark in found} <= {channel("3@2")}
        return [(mark.watermark, mark.idle) for mark in found]


def record(time_ms: int) -> Block:
    return block(time_ms, keys=["a"])


def mark(watermark: int, idle: bool = False) -> Block:
    return block(marks=[Mark(0, channel("0"), watermark, idle)])


@pytest.fixture(params=["heap", "paged"])
def paged(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "paged")


def test_a_group_without_records_for_too_long_is_idle(paged: bool) -> None:
    group = Group(IMPATIENT, paged)
    assert group.marks(record(1000), now_ms=100) == [(999, False)]
    assert group.marks(now_ms=149) == []
    assert group.marks(now_ms=150) == [(999, True)]
    assert group.marks(now_ms=200) == []
    assert group.marks(record(2000), now_ms=210) == [(1999, False)]
    assert group.marks(now_ms=259) == []
    assert group.marks(now_ms=260) == [(1999, True)]


def test_a_group_that_never_had_records_is_idle_after_the_timeout(paged: bool) -> None:
    group = Group(IMPATIENT, paged)
    assert group.marks(now_ms=100) == []
    assert group.marks(now_ms=150) == [(MIN_WATERMARK, True)]


def test_an_idle_group_stays_idle_while_its_input_advances(paged: bool) -> None:
    group = Group(IMPATIENT, paged)
    group.marks(record(1000), now_ms=100)
    assert group.marks(now_ms=150) == [(999, True)]
    assert group.marks(mark(5), now_ms=160) == []
    assert group.marks(mark(5, True), now_ms=170) == []
    assert group.marks(mark(6), now_ms=180) == []
    assert group.marks(mark(MAX_WATERMARK), now_ms=190) == [(MAX_WATERMARK, False)]
    assert group.marks(now_ms=900) == []


def by_bound(bound_ms: int) -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(timedelta(milliseconds=bound_ms))
    return strategy.with_timestamp_assigner(lambda value: value)


def test_a_changed_bound_holds_from_the_restart_on() -> None:
    group = Group(by_bound(5), paged=True)
    assert group.marks(record(1000), now_ms=100) == [(994, False)]
    wider = Group(by_bound(60), paged=True)
    wider.store = group.store
    assert wider.marks(record(1010), now_ms=200) == []
    assert wider.marks(record(1100), now_ms=300) == [(1039, False)]
    narrower = Group(by_bound(1), paged=True)
    narrower.store = group.store
    assert narrower.marks(record(7), now_ms=400) == [(1098, False)]


def test_without_a_timeout_no_group_becomes_idle(paged: bool) -> None:
    group = Group(BY_VALUE, paged)
    group.marks(record(1000), now_ms=100)
    assert group.marks(now_ms=10**9) == []


def test_in_a_batch_no_group_becomes_idle() -> None:
    group = Group(IMPATIENT, paged=False, batch=True)
    assert group.marks(record(1000), now_ms=100) == [(MAX_WATERMARK, False)]


# The whole way, with 128 key groups as on a cluster.


class Alarm(KeyedProcessFunction):
    """A timer 1 ms behind each record."""

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(value[1] + 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp


def fired(keys: str, strategy: WatermarkStrategy, steps: int) -> list[list[int]]:
    """The timers by micro-batch of 30 records, one per 1000 ms; the keys take turns."""
    from headrace.graph.stream_graph import StreamGraph
    from headrace.runners import launch
    from headrace.runners.clock import RunClock
    from headrace.runners.delivery import Delivery
    from headrace.runners.local import LocalRun

    # Few key groups to go through, and each of the keys a to f is in one of its own.
    configuration = Configuration.from_dict({"pipeline.max-parallelism": "32"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    source = DataGeneratorSource(
        lambda i: (keys[min(i // 30, len(keys) // 3 - 1) * 3 + i % 3], i * 1000)
    )
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    stamped = (
        stream.key_by(lambda value: value[0])
        .process(Passing())
        .assign_timestamps_and_watermarks(strategy)
    )
    timers = stamped.key_by(lambda value: value[0]).process(Alarm())
    graph = StreamGraph.of([timers._collecting_sink()])
    program = launch.program_of(graph, configuration, "job")
    delivery, ticks = Delivery(), itertools.count(0, 1000)
    run = LocalRun(
        program,
        delivery,
        clock=RunClock(lambda: next(ticks), None),
        budgets=itertools.repeat(30),
        one_key_group=False,
    )
    found = []
    for _ in range(steps):
        run.step()
        found.append(sorted(delivery.ready()))
    return found


BY_SECOND = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda value: value[1]
)


def test_groups_without_records_hold_nothing_back() -> None:
    """What is certain after i records is i - 3: the last record of the slowest of three keys."""
    batches = fired("abc", BY_SECOND, 3)
    assert len(batches[0]) > 20
    assert len([time_ms for batch in batches for time_ms in batch]) > 80


def test_a_group_that_falls_silent_holds_back_until_its_timeout() -> None:
    """Keys a to c are followed by d to f."""
    waiting = [len(batch) for batch in fired("abcdef", BY_SECOND, 6)]
    assert sum(waiting) < 40
    timeout = BY_SECOND.with_idleness(timedelta(milliseconds=500))
    going_on = [len(batch) for batch in fired("abcdef", timeout, 6)]
    assert sum(going_on) > 100


class Told(WatermarkGenerator):
    """Says what the records say."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if isinstance(event, int):
            output.emit_watermark(event)
        else:
            getattr(output, event)()

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Say nothing."""


def test_a_generator_ends_and_begins_idleness_once() -> None:
    after = Spy("after")
    times = TimestampsSpec(WatermarkStrategy.for_generator(Told))
    task = running(chain_of(node(1, times, to_node(2)), node(2, after)))
    for event in (5, "mark_idle", "mark_idle", "mark_active", "mark_active", "mark_idle", 7):
        task.push(event, 0)
    assert after.watermarks() == [(5, False), (5, True), (5, False), (5, True), (7, False)]
