"""A keyed task in a test, and functions that return what they see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.datastream import KeyedProcessFunction
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from headrace.metrics.metricbase import MetricGroup
from headrace.operators.keyed_process import KeyedProcessSpec
from headrace.runtime.block import Block, records_of
from headrace.runtime.context import TaskInfo
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.program import VertexProgram
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.runtime.tasks.keyed_task import KeyedTask, TaskInput
from headrace.runtime.user_function import UserFunction
from tests.unit.runtime.programs import chain_of, channel, job_of, node, to_sink


class Timers(KeyedProcessFunction):
    """A record is a list of (method of the timer service, ms); says when it is called.

    A timer at a multiple of 100 sets one 1 ms, and one 50 ms later.
    """

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        for method, time_ms in value:
            getattr(timers, method)(time_ms)
        yield ctx.get_current_key(), "record", ctx.timestamp(), timers.current_watermark()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        assert ctx.timestamp() == timestamp
        if timestamp % 100 == 0:
            timers.register_event_time_timer(timestamp + 50)
            timers.register_event_time_timer(timestamp + 1)
        yield ctx.get_current_key(), ctx.time_domain().name, timestamp, timers.current_watermark()


def at(*times_ms: int) -> list[Any]:
    """A record that sets event-time timers."""
    return [("register_event_time_timer", time_ms) for time_ms in times_ms]


def by_clock(*times_ms: int) -> list[Any]:
    """A record that sets processing-time timers."""
    return [("register_processing_time_timer", time_ms) for time_ms in times_ms]


class Memory(KeyedProcessFunction):
    """Keeps each record in three kinds of state, and yields what they hold then."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all"))
        self.often = runtime_context.get_map_state(MapStateDescriptor("often"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        self.all.add(value)
        self.often.put(value, (self.often.get(value) or 0) + 1)
        held = (self.count.value(), list(self.all.get()), dict(self.often.items()))
        yield ctx.get_current_key(), *held
        if value == "clear":
            for state in (self.count, self.all, self.often):
                state.clear()


class Harness:
    """A keyed task with its backends: state of ``group`` is kept from one advance to the next.

    With ``paged`` each advance has a new task and a new backend over the same bytes.
    """

    def __init__(
        self,
        function: Any,
        *channels: str,
        paged: bool = False,
        batch: bool = False,
        keyed: bool = True,
        **settings: Any,
    ) -> None:
        spec = function
        if not isinstance(function, OperatorSpec):
            spec = KeyedProcessSpec(UserFunction(function, "process_element"))
        if batch:
            spec = spec.with_final_results()
        root = node(1, spec, to_sink(0), name="under test", uid="test")
        self.vertex = VertexProgram(
            0, 1, keyed, 4, 1, chain_of(root), tuple(map(channel, channels))
        )
        self.job = job_of((), self.vertex, batch=batch, **settings)
        self.paged = paged
        self.stores: dict[int, MemoryPages] = {}
        self.backends: dict[int, StateBackend] = {}
        self.task = self.new_task()

    def new_task(self) -> KeyedTask:
        task_info = TaskInfo(is_batch=self.job.batch)
        self.metrics = MetricGroup()
        return KeyedTask(self.vertex, self.job, task_info, self.metrics)

    def backend(self, group: int) -> StateBackend:
        if self.paged:
            return PagedBackend(self.stores.setdefault(group, MemoryPages()), 1, 200)
        return self.backends.setdefault(group, HeapBackend())

    def advance(self, *blocks: Block, now_ms: int = 0, group: int = 0) -> list[Any]:
        """The records that came out."""
        if self.paged:
            self.task = self.new_task()
        task = TaskInput(group, list(blocks), now_ms)
        return [
            value
            for envelope in self.task.advance(task, self.backend(group))
            for value in records_of(envelope.payload)
        ]
