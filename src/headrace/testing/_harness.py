"""Harnesses that run one operator in a test, and show its output, state and timers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self

from headrace.common._output_tag import OutputTag
from headrace.common._time_domain import TimeDomain
from headrace.common.watermark_strategy import (
    MAX_WATERMARK,
    MIN_WATERMARK,
    WatermarkStrategy,
)
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.keys import to_key_selector
from headrace.datastream._build.nodes import require_sendable
from headrace.datastream.functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeySelector,
)
from headrace.datastream.state import MapStateDescriptor
from headrace.errors import PlanError
from headrace.metrics._operator_counts import OperatorCounts, operator_counts
from headrace.metrics.metricbase import MetricGroup
from headrace.runtime.block import Block, Mark
from headrace.runtime.channel import Channel
from headrace.runtime.context import TaskContext, TaskInfo
from headrace.runtime.failure import unwrapping_user_errors
from headrace.runtime.keys.serialized_key import SerializedKey, to_internal_key, user_key
from headrace.runtime.operator import NodeProgram, OperatorSpec
from headrace.runtime.program import ChainProgram, JobProgram, Settings, VertexProgram
from headrace.runtime.record_copies import copy_record
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.runtime.state.ttl import CLEANUP
from headrace.runtime.tasks.keyed_task import KeyedTask, TaskInput
from headrace.runtime.tasks.stage_call import StageCall
from headrace.runtime.user_function import close_function, open_function
from headrace.testing._captured import Captured, CapturedSpec, CapturedWatermarks
from headrace.testing._clock import ManualClock
from headrace.testing._function_specs import spec_for
from headrace.testing._snapshot import Snapshot, pending_timers

BackendName = Literal["heap", "paged"]
KeyBy = Callable[[Any], Any] | KeySelector | int | str


def _make_channel(input: int) -> Channel:
    return Channel(f"input {input}")


class PendingTimer(NamedTuple):
    """A registered timer: its time (ms), its key, and event or processing time."""

    time_ms: int
    key: Any
    domain: TimeDomain


class _Harness:
    """The base of both harnesses. Records are pickled on input and output, as between tasks.

    ``batch`` runs the operator in batch mode: records are buffered until ``end_input``, and then
    processed in the order of their timestamps.

    An operator's spec may have several inputs, numbered from 0, each with its own watermark. Only
    the inputs in ``broadcast`` may change broadcast state.
    """

    def __init__(
        self,
        spec: OperatorSpec,
        keyed: bool,
        backend: BackendName,
        watermarks: WatermarkStrategy | None,
        batch: bool,
        clock: ManualClock | None,
        broadcast: Iterable[int],
    ) -> None:
        site = call_site()
        for function in spec.functions:
            require_sendable(function, type(self).__name__, "the harness", site)
        if batch:
            spec = spec.with_final_results()  # the planner does the same
        self.clock = clock or ManualClock()
        self._captured = Captured()
        node = NodeProgram(
            "under test", spec.label, None, str(site), CapturedSpec(spec, self._captured), ()
        )
        numbers = range(spec.traits.inputs)
        vertex = VertexProgram(
            node.id,
            1,
            keyed,
            1,
            1,
            ChainProgram(node.id, {node.id: node}, ()),
            tuple(_make_channel(number) for number in numbers),
            inputs={_make_channel(number).exchange: number for number in numbers},
            broadcast=frozenset(broadcast),
        )
        self._vertex = vertex
        self._inputs = numbers
        job = JobProgram("harness", "", (), ((vertex,),), (), Settings(), 1, batch)
        task_info = TaskInfo(max_parallelism=1, is_batch=batch)
        self.metrics = MetricGroup()
        self._store = MemoryPages() if backend == "paged" else None
        self._heap = HeapBackend()
        self._shared_store = MemoryPages() if backend == "paged" else None
        self._shared_heap = HeapBackend()
        self._task = KeyedTask(vertex, job, task_info, self.metrics)
        self._strategy = watermarks
        self._generator = watermarks.create_generator() if watermarks is not None else None
        self._is_batch = batch
        self._buffered: list[Block] = []
        self._ended: set[int] = set()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the function; later calls have no effect."""
        if not self._closed:
            self._closed = True
            self._task.close()

    # Input

    def _compute_keys(self, value: Any, input: int) -> list[Any] | None:
        return None

    def process(self, value: Any, timestamp: int | None = None, *, input: int = 0) -> None:
        """Process one record of an input, with its timestamp in ms.

        With a watermark strategy, its assigner sets the timestamp, and its generator may then
        advance the watermark of the input.

        Raises:
            PlanError: the input has ended, or there is no input of this number.
        """
        if input not in self._inputs:
            raise PlanError(f"there is no input {input}", hint="inputs are numbered from 0")
        if self.input_watermark(input) >= MAX_WATERMARK:
            raise PlanError(
                f"a record was given after the end of input {input}",
                hint="call process() before end_input()",
            )
        strategy, generator = self._strategy, self._generator
        if strategy is not None and strategy.timestamp_of is not None:
            timestamp = strategy.timestamp_of(value, timestamp)
        keys, values = self._compute_keys(value, input), [copy_record(value)]
        opening = ((0, _make_channel(input)),)
        block = Block(
            keys, values, [timestamp], False, [], None, 0, channel_starts=opening, input=input
        )
        if self._is_batch:
            self._buffered.append(block)
            return
        self._advance(block)
        if generator is not None and timestamp is not None:
            output = CapturedWatermarks()
            generator.on_event(value, timestamp, output)
            generator.on_periodic_emit(output)
            for moment in output.emitted:
                self.advance_watermark(moment, input)

    def advance_watermark(self, to_ms: int, input: int | None = None) -> None:
        """Advance the watermark to ``to_ms`` (ms), and fire event-time timers that are due.

        With ``input``, only the watermark of that input advances; the operator's watermark is the
        minimum of its inputs. A watermark never goes back.

        Raises:
            PlanError: in batch mode, which has only the watermark at the end of the input.
        """
        if self._is_batch and to_ms < MAX_WATERMARK:
            raise PlanError(
                f"the watermark cannot advance to {to_ms} in batch mode",
                hint="call end_input()",
            )
        self._push_watermark(to_ms, False, self._inputs if input is None else [input])

    def mark_idle(self, input: int) -> None:
        """Mark an input idle until its next watermark: the operator does not wait for it."""
        self._push_watermark(self.input_watermark(input), True, [input])

    def _push_watermark(self, to_ms: int, idle: bool, inputs: Iterable[int]) -> None:
        if self._is_batch:
            if to_ms == MAX_WATERMARK:
                self._ended.update(inputs)
            if len(self._ended) < len(self._inputs):
                return  # a batch runs as one micro-batch after all inputs have ended
        marks = [
            Block([], [], None, False, [Mark(0, _make_channel(n), to_ms, idle)], None, 0, input=n)
            for n in inputs
        ]
        self._advance(*self._buffered, *marks)
        self._buffered.clear()

    def advance_processing_time(self, to_ms: int) -> None:
        """Set the clock to ``to_ms`` (ms since the epoch), and fire timers that are due.

        Raises:
            PlanError: the clock is already later.
        """
        self.clock.advance(to_ms - self.clock())
        if not self._is_batch:  # a batch runs as one micro-batch at its end
            self._advance(Block([], [], None, False, [], None, 0))

    def end_input(self, input: int | None = None) -> None:
        """End all inputs, or only ``input``: the watermark becomes 2**63 - 1.

        In batch mode the operator runs when all inputs have ended.
        """
        self.advance_watermark(MAX_WATERMARK, input)

    def _advance(self, *blocks: Block) -> None:
        now_ms = self.clock()
        blocks = tuple(block._replace(now_ms=now_ms) for block in blocks)
        broadcast_blocks = [block for block in blocks if self._is_broadcast(block)]
        own_blocks = [block for block in blocks if not self._is_broadcast(block)]
        call = StageCall(lambda vertex, group: self._shared_backend())
        if broadcast_blocks:
            call.broadcast(self._vertex, broadcast_blocks, [0] * len(broadcast_blocks))
        with unwrapping_user_errors():
            sent = [*call.run_group(self._task, TaskInput(0, own_blocks, now_ms), self._backend())]
            sent += call.drain()
        if sent:
            raise AssertionError(f"the harness has no receivers, but {sent} was sent")

    def _is_broadcast(self, block: Block) -> bool:
        return block.input in self._vertex.broadcast

    def _backend(self) -> StateBackend:
        # A new backend for each call, as in each micro-batch: only the store survives.
        return self._heap if self._store is None else PagedBackend(self._store, 1)

    def _shared_backend(self) -> StateBackend:
        store = self._shared_store
        return self._shared_heap if store is None else PagedBackend(store, 1)

    # Output

    def output(self) -> list[Any]:
        """Return the records of the main output so far, in order."""
        return [value for value, _ in self._captured.main]

    def output_with_timestamps(self) -> list[tuple[Any, int | None]]:
        """Return the records of the main output so far, each with its timestamp (ms) or None."""
        return list(self._captured.main)

    def side_output(self, tag: OutputTag) -> list[Any]:
        """Return the records of a side output so far, in order."""
        return [value for value, _ in self._captured.side_outputs.get(tag.tag_id, [])]

    def watermarks(self) -> list[int]:
        """Return the watermarks (ms) that the operator has emitted so far."""
        return list(self._captured.watermarks)

    def counts(self) -> OperatorCounts:
        """Return the operator's counters so far. Side outputs are counted too; durations are 0."""
        (counts,) = operator_counts(self.metrics.values(), self._vertex.chain.nodes.values())
        return replace(counts, records_out=self._captured.records)

    def clear_output(self) -> None:
        """Drop the output so far."""
        self._captured.clear()

    # State

    @property
    def watermark(self) -> int:
        """The operator's watermark (ms): the minimum of its inputs."""
        watermark: int = self._backend().header.get("watermark", MIN_WATERMARK)
        return watermark

    def input_watermark(self, input: int) -> int:
        """Return the watermark (ms) of one input."""
        if input in self._ended:
            return MAX_WATERMARK
        reached = self._backend().header.get("inputs")
        return self.watermark if reached is None else int(reached[input])

    def broadcast_state(self, name: str) -> dict[Any, Any]:
        """Return a copy of a broadcast state, in the order in which the keys were put."""
        keyed_by_order = [
            (entry[name], key) for key, entry in self._shared_backend().scan() if name in entry
        ]
        in_order = sorted(keyed_by_order, key=lambda one: one[0][0])
        return {copy_record(key): copy_record(value) for (_, value), key in in_order}

    def snapshot(self) -> Snapshot:
        """Return a copy of state, timers and watermark, which any harness can ``restore``."""
        generator = copy.deepcopy(self._generator)
        if self._store is not None and self._shared_store is not None:
            shared = dict(self._shared_store.records)
            return Snapshot(dict(self._store.records), self.clock(), generator, shared)
        return Snapshot.of(self._heap, self.clock(), generator, self._shared_heap)

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot, of either backend; the clock never goes back."""
        if self._store is not None and self._shared_store is not None:
            self._store.records = dict(snapshot.records)
            self._shared_store.records = dict(snapshot.shared)
        else:
            self._heap, self._shared_heap = snapshot.on_heap()
        if self._strategy is not None:
            generator = copy.deepcopy(snapshot.generator)
            self._generator = generator or self._strategy.create_generator()
        self._buffered.clear()
        self.clock.advance(max(snapshot.now_ms - self.clock(), 0))


class KeyedHarness(_Harness):
    """Runs one function on a keyed stream, with state and timers.

    Args:
        function: a ``KeyedProcessFunction``, a Map-, FlatMap-, Filter- or ReduceFunction, a
            function of two streams, or an operator's spec.
        key_by: as in ``DataStream.key_by``. For several inputs one for all, or a tuple with one
            for each, which is None for a broadcast input.
        backend: ``heap``, or ``paged`` as on Spark, which serializes all state after each call.
        watermarks: a strategy for timestamps and watermarks; without it, the test sets both.
        batch: run in batch mode.
        clock: the source of processing time; by default a new ``ManualClock``.
        broadcast_states: the states of a ``KeyedBroadcastProcessFunction``. Its input 1 is the
            broadcast one.

    Raises:
        PlanError: the function cannot run here, or the number of keys is wrong.
    """

    def __init__(
        self,
        function: Any,
        key_by: KeyBy | tuple[KeyBy | None, ...],
        *,
        backend: BackendName = "heap",
        watermarks: WatermarkStrategy | None = None,
        batch: bool = False,
        clock: ManualClock | None = None,
        broadcast_states: Sequence[MapStateDescriptor] = (),
    ) -> None:
        site = call_site()
        spec = spec_for(function, True, broadcast_states)
        given: tuple[KeyBy | None, ...]
        if isinstance(key_by, tuple):
            given = key_by
        elif isinstance(function, KeyedBroadcastProcessFunction):
            given = (key_by, None)
        else:
            given = (key_by,) * spec.traits.inputs
        if len(given) != spec.traits.inputs:
            raise PlanError(
                f"{spec.label} has {spec.traits.inputs} inputs, but {len(given)} keys were given",
                hint="give key_by one key selector for all inputs, or a tuple with one for each",
            )
        self._selectors = {
            number: to_key_selector(each, "key_by", "the harness", site)
            for number, each in enumerate(given)
            if each is not None
        }
        broadcast = {*range(len(given))} - self._selectors.keys()
        super().__init__(spec, True, backend, watermarks, batch, clock, broadcast)
        task_info = TaskInfo(max_parallelism=1, is_batch=batch)
        for selector in self._selectors.values():
            open_function(selector, TaskContext("key_by", str(site), task_info, self.metrics, None))
        self._key_of = {number: each.as_callable() for number, each in self._selectors.items()}

    def close(self) -> None:
        """Close the function and the key selectors; later calls have no effect."""
        if not self._closed:
            for selector in self._selectors.values():
                close_function(selector)
        super().close()

    def _compute_keys(self, value: Any, input: int) -> list[Any] | None:
        if input not in self._key_of:
            return None
        # As a sender does, compute the key from the original record. Then copy it, so that the
        # function cannot change it.
        key = to_internal_key(self._key_of[input](value))
        return [key if type(key) is SerializedKey else copy_record(key)]

    def timers(self) -> list[PendingTimer]:
        """Return the registered timers in the order of firing, event-time timers first."""
        backend = self._backend()
        kinds = (
            (backend.event_timers, TimeDomain.EVENT_TIME),
            (backend.processing_timers, TimeDomain.PROCESSING_TIME),
        )
        return [
            PendingTimer(timer.time_ms, user_key(timer.key), domain)
            for store, domain in kinds
            for timer in pending_timers(store)
            if timer.namespace != CLEANUP
        ]

    def keys(self) -> list[Any]:
        """Return the keys that have state, in no particular order."""
        return [*map(user_key, self._backend().keys())]

    def state(self, name: str, key: Any) -> Any:
        """Return a copy of a key's state: a value or None, a list, or a dict, by the kind of state.

        Raises:
            PlanError: the function has not requested a state with this name.
        """
        context, key_context = self._captured.context, self._captured.key_context
        assert context is not None and key_context is not None and context.states is not None
        handle: Any = context.states._handles.get(name)
        if handle is None:
            known = ", ".join(sorted(context.states._handles)) or "none"
            raise PlanError(
                f"there is no state {name!r}", hint=f"the function has asked for: {known}"
            )
        scratch, key = HeapBackend(), to_internal_key(key)
        scratch.enter(key).update(copy_record(dict(self._backend().enter(key))))
        context.states.attach(scratch)
        key_context.enter(key)
        key_context.now_ms = self.clock()
        if handle.kind == "map":
            return dict(handle.items())
        if handle.kind == "list":
            return handle.get()
        return handle.value() if hasattr(handle, "value") else handle.get()


class ProcessHarness(_Harness):
    """Runs one function on a stream without keys.

    Args:
        function: a Process-, Map-, FlatMap-, Filter- or AsyncFunction, a function of two streams,
            or an operator's spec. An AsyncFunction has no timeout here; its results are there
            after ``process``.
        watermarks: a strategy for timestamps and watermarks; without it, the test sets both.
        batch: run in batch mode.
        clock: the source of processing time; by default a new ``ManualClock``.
        broadcast: the numbers of the inputs that are broadcast.
        broadcast_states: the states of a ``BroadcastProcessFunction``. Its input 1 is the
            broadcast one.
    """

    def __init__(
        self,
        function: Any,
        *,
        watermarks: WatermarkStrategy | None = None,
        batch: bool = False,
        clock: ManualClock | None = None,
        broadcast: Iterable[int] = (),
        broadcast_states: Sequence[MapStateDescriptor] = (),
    ) -> None:
        spec = spec_for(function, False, broadcast_states)
        if isinstance(function, BroadcastProcessFunction):
            broadcast = {1}
        super().__init__(spec, False, "heap", watermarks, batch, clock, broadcast)
