"""A task of one vertex for one group: processes a micro-batch's records, marks and timers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain as one_after_another
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.metrics._measures import KeyGroupMinimum, KeyGroupValues, Milliseconds, Tally
from headrace.metrics._operator_counts import BUSY_MS, STATE_BYTES, STATE_ENTRIES, WATERMARK
from headrace.metrics.metricbase import MetricGroup
from headrace.runtime.block import Block, Envelope, Mark
from headrace.runtime.chain.chain import Chain
from headrace.runtime.channel import ALL_SPLITS, Channel
from headrace.runtime.context import TaskInfo
from headrace.runtime.exchange.send_context import MAX_BUFFERED_BYTES, SENDERS_PER_VERTEX
from headrace.runtime.failure import annotate
from headrace.runtime.operator import KeyedOperator, ProcessColumns
from headrace.runtime.ordering.batches import known_channels, merge_batch_blocks, with_watermarks
from headrace.runtime.ordering.column_runs import to_row_run
from headrace.runtime.ordering.run import Read, Run
from headrace.runtime.ordering.streams import merge_stream_blocks
from headrace.runtime.program import JobProgram, VertexProgram
from headrace.runtime.record_copies import copy_record
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.broadcast_state import BroadcastStateStore, Change
from headrace.runtime.state.quiescence import quiescent
from headrace.runtime.state.ttl import CLEANUP
from headrace.runtime.tasks.broadcast import BroadcastInput
from headrace.runtime.tasks.busy import count_busy_time
from headrace.runtime.watermarks import (
    ChannelState,
    ChannelWatermarks,
    EmptyGroupIdleness,
    InputWatermarks,
    reopened_watermark,
)

if TYPE_CHECKING:
    from headrace.runtime.columns.batch import Columns
    from headrace.runtime.columns.keys import ColumnKeys

_FEW_RECORDS = 4_096
"""Fewer records wait for those of the next group, as their blocks would be short. More leave at
once, while they are in the processor's cache (docs/adr/0010-cost-per-record.md)."""


class TaskInput(NamedTuple):
    """The input of one key group of a vertex in one micro-batch.

    ``blocks``: sorted by (sender, seq).

    ``senders``: the sender of each block; empty if all blocks have the same sender.
    ``broadcast``: what all groups of the task get, for a vertex that has a broadcast input.
    """

    group: int
    blocks: Sequence[Block]
    now_ms: int
    senders: Sequence[int] = ()
    broadcast: BroadcastInput | None = None


def sender_of(vertex: VertexProgram, group: int) -> int:
    """Return the sender number of a vertex's group, which is above those of sources."""
    return (vertex.number + 1) * SENDERS_PER_VERTEX + group


def _describe_root(vertex: VertexProgram) -> str:
    root = vertex.chain.nodes[vertex.chain.root]
    return f"{root.name} (uid={root.uid})" if root.uid else root.name


class KeyedTask:
    """Runs a vertex: one object per worker process and vertex, for one group after another.

    ``advance`` processes a group's micro-batch: blocks, state and time in, envelopes out. All state
    is in the backend that it gets. ``run_group`` and ``drain`` do the same for several groups (see
    ``StageCall``).
    """

    def __init__(
        self, vertex: VertexProgram, job: JobProgram, task_info: TaskInfo, metrics: MetricGroup
    ) -> None:
        self.vertex = vertex
        self.job = job
        self.task_info = task_info
        root = vertex.chain.nodes[vertex.chain.root].spec
        count = 1 if root is None else root.traits.inputs
        self._broadcast_states = (
            BroadcastStateStore(_describe_root(vertex)) if vertex.broadcast else None
        )
        self._inputs = InputWatermarks(count, self._input_of) if count > 1 else None
        self._chain = Chain(
            vertex.chain,
            job,
            task_info,
            metrics,
            merged_marks=True,
            root_inputs=self._inputs,
            broadcast_states=self._broadcast_states,
        )
        self._chain.key_context.clocked = True
        head = self._chain.operators[vertex.chain.root]
        self._keyed = head if isinstance(head, KeyedOperator) and vertex.keyed else None
        self._column_processors: tuple[ProcessColumns, ...] = ()
        if self._keyed is not None and root is not None and root.traits.takes_columns:
            self._column_processors = self._keyed.column_processors()
        self._timed_batches = root is not None and root.traits.watermarks_in_batch
        self._processors = () if self._keyed is None else self._keyed.processors()
        self._empty_groups = EmptyGroupIdleness(vertex, job)
        self._broadcast_input: BroadcastInput | None = None
        self._runs_broadcast = False
        self._changes: list[Change] = []
        """The changes of the broadcast state under the current group."""
        self._context = self._chain.contexts[vertex.chain.root]
        measured = self._context.get_metrics_group().measured
        self._busy_ns = Tally()
        measured.of_kind(BUSY_MS, Milliseconds).add((self._busy_ns,))
        self._watermark_of = measured.of_kind(WATERMARK, KeyGroupMinimum)
        self._entries_of = measured.of_kind(STATE_ENTRIES, KeyGroupValues)
        self._bytes_of = measured.of_kind(STATE_BYTES, KeyGroupValues)

    def advance(self, task: TaskInput, backend: StateBackend) -> Iterator[Envelope]:
        """Process a group's micro-batch; yield all output, and flush the backend."""
        yield from self.run_group(task, backend, keep_buffers=False)
        yield from self.drain()

    def convert_state(self, backend: StateBackend, now_ms: int) -> None:
        """Convert what a key group has stored under an earlier program, outside of a micro-batch.

        ``now_ms``: the time of the last one. States that the user's functions ask for after
        ``open`` are left.
        """
        if self._context.states is not None:
            self._chain.key_context.now_ms = now_ms
            self._attach(backend)
            backend.flush()

    def _attach(self, backend: StateBackend) -> None:
        """Use a key group's states, which are converted if an earlier program has stored them."""
        assert self._context.states is not None
        self._context.states.attach(backend)
        backend.evolve()
        if self._keyed is not None:
            self._keyed.take_converted_state()

    def convert_broadcast_state(self, backend: StateBackend) -> None:
        """Convert broadcast state that was stored under an earlier program."""
        if self._broadcast_states is not None:
            self._broadcast_states.load(backend)

    def drain(self) -> Iterator[Envelope]:
        """Yield and remove the buffered output."""
        return self._count_busy_time(self._chain.drain())

    def _count_busy_time(self, work: Iterator[Envelope]) -> Iterator[Envelope]:
        return count_busy_time(work, self.task_info.clock_ns, self._busy_ns)

    def run_group(
        self, task: TaskInput, backend: StateBackend, keep_buffers: bool
    ) -> Iterator[Envelope]:
        """Process a group's micro-batch; yield output, and flush the backend.

        A few records for the next stage are buffered until ``drain``, unless the chain has
        watermark generators. ``keep_buffers``: whether buffered records are of other groups in this
        micro-batch; otherwise they are of a failed call, and are dropped.
        """
        return self._count_busy_time(self._run_group(task, backend, keep_buffers))

    def _run_group(
        self, task: TaskInput, backend: StateBackend, keep_buffers: bool
    ) -> Iterator[Envelope]:
        chain, key_context, header = self._chain, self._chain.key_context, backend.header
        self._backend = backend
        self._watermarks = self._restore_channels(header)
        self._enter_broadcast(task)
        self._empty_groups.update_idleness(self._watermarks, self._all_blocks(task))
        now_ms = max(task.now_ms, header.get("now", 0))
        watermark = self._watermarks.current
        chain.begin(
            sender_of(self.vertex, task.group),
            now_ms,
            task.group,
            self.vertex.groups,
            watermark,
            keep_buffers and chain.merged,
        )
        key_context.watermark = watermark
        if self._context.states is not None:
            self._attach(backend)
        else:
            key_context.backend, key_context.entry = backend, None
        chain.restore(header.get("nodes", {}))
        if self._may_go_on(header):
            header.pop("finished", None)
            chain.reopen()
        try:
            if header.get("program", self.job.identity) != self.job.identity:
                # Receivers may be others than before, so the time is sent to them again.
                chain.announce()
                chain.push_watermark(watermark, self._watermarks.idle)
            yield from self._fire_processing_timers(now_ms)
            for step in self._merge_inputs(task):
                if isinstance(step, Mark):
                    yield from self._process_mark(step)
                elif isinstance(step, int):
                    yield from self._advance_event_time(step)
                else:
                    self._process_run(step)
                    if chain.is_full:
                        yield from chain.drain(early=True)
            chain.complete()
            chain.tick()
            if self._watermarks.current >= MAX_WATERMARK and not header.get("finished"):
                yield from self._finish(now_ms)
            chain.complete()
        except Exception as error:
            annotate(error)
            raise
        self._leave_broadcast()
        header["channels"] = self._watermarks.to_data()
        header["program"] = self.job.identity
        header["watermark"] = self._watermarks.current
        if self._inputs is not None:
            header["inputs"] = self._inputs.list_watermarks()
        if self._keyed is not None and self._uses_clock(self._keyed):
            header["now"] = now_ms
        nodes = chain.snapshot()
        if nodes:
            header["nodes"] = nodes
        else:
            header.pop("nodes", None)
        backend.flush()
        self._report_state_size(task.group, backend)
        if not chain.merged:
            yield from chain.drain()
        elif chain.buffered_records() >= _FEW_RECORDS or chain.is_full:
            yield from chain.drain(early=True)
        else:
            yield from chain.drain_sinks()

    def _report_state_size(self, group: int, backend: StateBackend) -> None:
        """Set the metrics of the group's watermark and of the size of its state."""
        self._watermark_of.set(group, self._watermarks.current)
        if self._context.states is None and not self.vertex.has_operator_state:
            return  # it keeps no state
        entries, size_bytes = backend.size()
        self._entries_of.set(group, entries)
        if size_bytes is not None:
            self._bytes_of.set(group, size_bytes)

    def _restore_channels(self, header: Mapping[str, Any]) -> ChannelWatermarks:
        """Return the channel watermarks as they were after the last micro-batch.

        If another program ran then, channels of removed exchanges are dropped, and new channels are
        added. An ended channel may continue: if it does not, its end is sent again.
        """
        state: ChannelState = header.get("channels", {})
        if header.get("program") != self.job.identity:
            exchanges, expected = self.job.exchanges_to(self.vertex), self.vertex.input_channels
            state = {
                channel: at
                for channel, at in state.items()
                if channel in expected or (channel[0] in exchanges and channel[1] is not None)
            }
            for channel in expected:
                watermark, idle = state.get(channel, (MIN_WATERMARK, False))
                state[channel] = reopened_watermark(watermark), idle
        current = header.get("watermark", MIN_WATERMARK)
        if self._may_go_on(header):
            current = MIN_WATERMARK
        if self._inputs is None:
            return ChannelWatermarks(state, current)
        reached = header.get("inputs", ())
        if header.get("program") != self.job.identity:
            reached = [reopened_watermark(at) for at in reached]
        self._inputs.restart(state, current, reached)
        return self._inputs

    def _may_go_on(self, header: Mapping[str, Any]) -> bool:
        """Return True if the input ended under another program, so that this one may read more."""
        ended: bool = header.get("watermark", MIN_WATERMARK) >= MAX_WATERMARK
        return ended and header.get("program") != self.job.identity

    def _uses_clock(self, keyed: KeyedOperator) -> bool:
        return keyed.uses_clock or self._backend.processing_timers.earliest_ms() is not None

    def _input_of(self, channel: Channel) -> int:
        return self.vertex.inputs.get(channel[0], 0)

    def _merge_inputs(self, task: TaskInput) -> Iterator[Read | int]:
        """Return records and marks in a deterministic order, equal in each run of a micro-batch.

        In a batch there may be watermarks (ms) between them, which the operator alone gets.
        """
        state, broadcast = self._watermarks.state, task.broadcast
        if not self.task_info.is_batch:
            if broadcast is None:
                return merge_stream_blocks(task.blocks, task.senders, state)
            # Under equal watermarks, what is broadcast comes first.
            lanes = broadcast.merged_blocks(state)
            senders = [*range(-len(lanes), 0), *(task.senders or [0] * len(task.blocks))]
            return merge_stream_blocks([*lanes, *task.blocks], senders, state)
        channels = known_channels(self._all_blocks(task), state)
        for channel in channels:
            state.setdefault(channel, (MIN_WATERMARK, False))
        first = broadcast.batch_runs() if broadcast is not None else ()
        order = merge_batch_blocks(task.blocks, channels)
        return one_after_another(first, with_watermarks(order) if self._timed_batches else order)

    @staticmethod
    def _all_blocks(task: TaskInput) -> Sequence[Block]:
        return task.blocks if task.broadcast is None else [*task.broadcast.blocks, *task.blocks]

    def _enter_broadcast(self, task: TaskInput) -> None:
        broadcast_input = self._broadcast_input = task.broadcast
        self._changes = []
        if broadcast_input is not None:
            assert self._broadcast_states is not None
            self._broadcast_states.in_first_group = task.group == 0
            broadcast_input.load_into(self._broadcast_states)
            self._runs_broadcast = broadcast_input.claim_first_run() or not self.vertex.keyed

    def _leave_broadcast(self) -> None:
        """Revert this group's changes: the next group starts with the same broadcast state."""
        if self._broadcast_states is not None:
            self._broadcast_states.revert_changes(self._changes)

    def _broadcast_records(self, run: Run) -> None:
        """Run the operator on broadcast records, or apply the changes that an earlier run made."""
        broadcast_input, broadcast_states, place = (
            self._broadcast_input,
            self._broadcast_states,
            (run.input, run.start),
        )
        assert broadcast_input is not None and broadcast_states is not None
        if self._runs_broadcast:
            self._chain.received.count += len(run.values)
            self._run_broadcast(run)
            changes = broadcast_states.take_changes()
            broadcast_input.record_changes(place, changes, broadcast_states.asked_all_groups)
        else:
            if broadcast_input.is_for_all(place):
                broadcast_states.repeating = True
                try:
                    self._run_broadcast(run)
                finally:
                    broadcast_states.repeating = False
                broadcast_states.revert_changes(
                    broadcast_states.take_changes()
                )  # those of the first group count
            changes = broadcast_input.changes_at(place)
            broadcast_states.apply_changes(changes)
        self._changes += changes

    def _run_broadcast(self, run: Run) -> None:
        broadcast_states = self._broadcast_states
        assert broadcast_states is not None
        values: Any = run.values
        if not isinstance(values, list) and self._chain.column_pushes:
            self._chain.column_pushes[run.input](values)
            return
        if not isinstance(values, list):
            run = to_row_run(run)
            values = run.values
        elif not self._chain.send_context.object_reuse:
            values = [*map(copy_record, values)]  # others of the task's groups may get them, too
        self._chain.key_context.key = self._chain.key_context.entry = None
        self._chain.key_context.event_ms = None
        broadcast_states.writable, broadcast_states.asked_all_groups = True, False
        try:
            if self._keyed is not None:
                self._processors[run.input]([], values, run.timestamps)  # type: ignore[arg-type]
            else:
                self._chain.push_all_by_input[run.input](values, run.timestamps)
        finally:
            broadcast_states.writable = False

    def _process_run(self, run: Run) -> None:
        if self._broadcast_input is not None and run.input in self.vertex.broadcast:
            self._broadcast_records(run)
            return
        keys: Any
        values: Any
        timestamps: Any
        keys, values, timestamps, number, _ = run
        self._chain.received.count += len(values)
        if type(values) is not list:
            if self._column_processors or self._chain.column_pushes:
                self._process_columns(keys, values, number)
                return
            keys, values, timestamps, *_ = to_row_run(run)
        if self._keyed is not None:
            assert keys is not None
            self._processors[number](keys, values, timestamps)
            return
        self._chain.push_all_by_input[number](values, timestamps)

    def _process_columns(self, keys: ColumnKeys, columns: Columns, input_index: int) -> None:
        if self._keyed is not None:
            node = self._keyed.node  # noqa: F841  for ``annotate``
            self._column_processors[input_index](keys, columns)
        else:
            self._chain.column_pushes[input_index](columns)

    def _process_mark(self, mark: Mark) -> Iterator[Envelope]:
        watermarks = self._watermarks
        if mark.channel[1] == ALL_SPLITS:  # channels of a header are plain tuples
            watermarks.forget_splits(mark.channel[0])
            if mark.watermark < MAX_WATERMARK:
                return  # those that there are come next
        elif self._empty_groups.should_ignore(watermarks, mark):
            return
        if not watermarks.update(mark.channel, mark.watermark, mark.idle):
            return
        self._chain.tick()
        yield from self._advance_event_time(watermarks.current)
        self._chain.push_watermark(watermarks.current, watermarks.idle)

    def _advance_event_time(self, watermark: int) -> Iterator[Envelope]:
        """Advance the event time, and fire the event-time timers that are due."""
        chain, send_context = self._chain, self._chain.send_context
        if watermark > chain.key_context.watermark:
            chain.key_context.watermark = watermark
            if self._keyed is not None:
                timers, fire = self._backend.event_timers, self._keyed.fire_timer
                while (timer := timers.pop_due(watermark)) is not None:
                    fire(timer, True)
                    if send_context.buffered_bytes >= MAX_BUFFERED_BYTES or send_context.overflow:
                        yield from chain.drain()

    def _fire_processing_timers(self, now_ms: int) -> Iterator[Envelope]:
        if self._keyed is None:
            return
        chain, send_context = self._chain, self._chain.send_context
        timers, fire = self._backend.processing_timers, self._keyed.fire_timer
        while (timer := timers.pop_due(now_ms)) is not None:
            # At the end of a batch the clock stands still, so no value expires any more.
            if now_ms < MAX_WATERMARK or timer.namespace != CLEANUP:
                fire(timer, False)
                if send_context.buffered_bytes >= MAX_BUFFERED_BYTES or send_context.overflow:
                    yield from chain.drain()

    def _finish(self, now_ms: int) -> Iterator[Envelope]:
        """Finish at the end of the input: fire timers, and in a batch call ``finish``.

        A stream fires those that were set to a time which has passed: no later call would.
        """
        self._backend.header["finished"] = True
        if self._keyed is None:
            return
        if not self.task_info.is_batch:
            yield from self._fire_processing_timers(now_ms)
        else:
            with quiescent(self._backend) as dropped:
                yield from self._fire_processing_timers(MAX_WATERMARK)
            if dropped.timers:
                metrics = self._context.get_metrics_group()
                metrics.counter("numTimersDropped").inc(dropped.timers)
            self._keyed.finish(self._backend)

    def close(self) -> None:
        """Close the user functions."""
        self._chain.close()
