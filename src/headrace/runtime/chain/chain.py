"""Operators fused into one task: each record is pushed from one to the next, depth first."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.connector import ColumnChunk
from headrace.metrics.metricbase import MetricGroup
from headrace.runtime.block import Envelope
from headrace.runtime.chain.build import ChainBuilder
from headrace.runtime.channel import ALL_TASKS, Channel
from headrace.runtime.context import TaskInfo
from headrace.runtime.exchange.send_context import MAX_BUFFERED_BYTES, SendContext
from headrace.runtime.exchange.writer import ExchangeWriter
from headrace.runtime.loops import Push
from headrace.runtime.operator import Outputs
from headrace.runtime.program import ChainProgram, JobProgram, input_watermarks_key
from headrace.runtime.state.broadcast_state import BroadcastStateStore
from headrace.runtime.user_function import close_function
from headrace.runtime.watermarks import InputWatermarks

if TYPE_CHECKING:
    from headrace.runtime.columns.batch import PushColumns


class Chain:
    """A running chain: push records in at the root, take envelopes out at the end.

    One chain is built per worker process and job run and used for one task run after another:
    ``begin``, then any of ``push``, ``push_watermark`` and ``tick``, then ``complete``, then
    ``drain``. Its user functions are copies of the program's: no other chain, and no second
    operator, has the same objects.
    """

    def __init__(
        self,
        program: ChainProgram,
        job: JobProgram,
        task_info: TaskInfo,
        metrics: MetricGroup,
        merged_marks: bool,
        root_inputs: InputWatermarks | None = None,
        broadcast_states: BroadcastStateStore | None = None,
    ) -> None:
        self._job = job
        self.send_context = SendContext(job.settings.object_reuse, task_info.overflow())
        self.send_context.spill_buffers = self._spill
        # Watermarks that the chain makes itself are a sequence of their own in each group.
        timed = program.exchanges_with_new_watermarks()
        self._merged = frozenset(
            e.id for e in program.exchanges if merged_marks and e.id not in timed
        )
        self.merged = merged_marks and not timed
        """Whether all groups go through one sequence of watermarks, whatever they send to."""
        builder = ChainBuilder(
            program,
            job,
            task_info,
            metrics,
            self.send_context,
            self._merged,
            root_inputs,
            broadcast_states,
        )
        self._builder = builder
        self.program, self.key_context = builder.program, builder.key_context
        self.operators, self.contexts = builder.operators, builder.contexts
        self.received = builder.counts.received
        """The number of records pushed at the root; the caller of ``push`` increases it."""
        self._exchanges, self._sinks = builder.exchanges, builder.sinks
        self.push_all, self.push_all_by_input = builder.push_all, builder.push_all_by_input
        self.column_pushes = _columns_into(builder)
        """For each input of the root what takes columns; none where the chain is given rows."""
        self.push_columns = self.column_pushes[0] if self.column_pushes else None

    @property
    def push(self) -> Push:
        """Takes a record (value, timestamp in ms or None) at the root."""
        return self._builder.pushes[self.program.root]

    def push_column_chunk(self, chunk: ColumnChunk) -> None:
        """Push a chunk of columns in at the root of a chain that takes them."""
        assert self.push_columns is not None, "this chain is given rows"
        if chunk.count:
            from headrace.runtime.columns.building import from_chunk

            self.push_columns(from_chunk(chunk))

    @property
    def root_outputs(self) -> Outputs:
        """The outputs of the root."""
        return self._builder.outputs(self.program.nodes[self.program.root])

    def push_watermark(self, watermark: int, idle: bool = False) -> None:
        """Pass a watermark (and idleness) through the chain and out to its receivers."""
        self._builder.watermark_pushes[self.program.root](watermark, idle)

    def announce(self) -> None:
        """Send the current watermark to every receiver, even if it is known there.

        A receiver without a watermark gets the minimum, and so waits for this chain. Downstream of
        a union or of a watermark generator, the watermark of that operator is sent.
        """
        self._builder.unannounced.update(self._builder.inputs)
        self.push_watermark(MIN_WATERMARK)

    def tick(self) -> None:
        """Call ``tick`` of the operators, after each chunk: watermark generators may emit."""
        for operator in self._builder.ticking_operators:
            operator.tick()

    def complete(self) -> None:
        """Call ``complete`` of the operators, upstream first: they emit what they buffer.

        Call it after the last record of a task run, and again after a ``push_watermark``.
        """
        for operator in self._builder.buffering_operators:
            operator.complete()

    def begin(
        self,
        sender: int,
        now_ms: int,
        current_group: int = 0,
        group_count: int = 1,
        watermark: int | None = None,
        keep_buffers: bool = False,
    ) -> None:
        """Start a task run.

        ``current_group``: the number of the group, out of ``group_count``; in a source, the sink
        task that gets its output. ``watermark``: that of a keyed task, None in a source.
        ``keep_buffers``: keep the buffered output of the run before; only in a ``merged`` chain.
        """
        self.key_context.now_ms = now_ms
        self.send_context.begin(sender, now_ms, current_group, group_count, watermark, keep_buffers)
        for writer in self._sinks.values():
            writer.begin(None, False)
        for exchange, writer in self._exchanges.items():
            merged = exchange in self._merged
            writer.begin(
                Channel(exchange, group=None if merged else current_group), merged, keep_buffers
            )

    @property
    def writers(self) -> Iterable[ExchangeWriter]:
        """The writers for other tasks and for sinks."""
        return (*self._exchanges.values(), *self._sinks.values())

    def begin_shared_channel(self) -> None:
        """Assign the following records and marks to the common channel of a DataFrame's tasks."""
        for exchange, writer in self._exchanges.items():
            writer.begin(Channel(exchange, group=ALL_TASKS), merged=True)

    def begin_channel(self, split: str, states: Mapping[str, Any]) -> None:
        """Assign the following records and marks to a split, and restore the operators' states."""
        for exchange, writer in self._exchanges.items():
            writer.open_channel(Channel(exchange, split))
        for writer in self._sinks.values():
            writer.watermark = None
        self.restore(states)

    def restore(self, states: Mapping[str, Any]) -> None:
        """Call ``restore`` of the operators with a result of ``snapshot``.

        One chain serves many splits or key groups: state that is not restored would be mixed up.
        """
        for node_id, operator in self.operators.items():
            operator.restore(states.get(node_id))
        for node_id, inputs in self._builder.inputs.items():
            inputs.restore(states.get(input_watermarks_key(node_id)))

    def reopen(self) -> None:
        """Call ``reopen`` of the operators: an input that had ended gets records again."""
        for operator in self.operators.values():
            operator.reopen()
        for inputs in self._builder.inputs.values():
            inputs.reopen()

    def snapshot(self) -> dict[str, Any]:
        """Return the states of the operators for ``restore``, by node id.

        The watermarks of a node's inputs, if it has several, are under ``<node id>/inputs``.
        """
        states = {node_id: operator.snapshot() for node_id, operator in self.operators.items()}
        for node_id, inputs in self._builder.inputs.items():
            states[input_watermarks_key(node_id)] = inputs.to_data()
        return {node_id: state for node_id, state in states.items() if state is not None}

    def buffered_records(self) -> int:
        """Return how many records are gathered for other tasks and sinks."""
        return sum(e.buffered_records() for e in (*self._exchanges.values(), *self._sinks.values()))

    @property
    def is_full(self) -> bool:
        """Whether the buffers have reached their limit of records or bytes."""
        send_context = self.send_context
        if send_context.overflow or self.buffered_records() >= self._job.settings.flush_records:
            return True
        writers = (*self._exchanges.values(), *self._sinks.values())
        # Loops over a chunk do not weigh what they gather.
        found = sum(writer.buffered_bytes() for writer in writers)
        return max(send_context.buffered_bytes, found) >= MAX_BUFFERED_BYTES

    def drain(self, early: bool = False) -> Iterator[Envelope]:
        """Yield and remove all buffered output; ``early``: keep small batches of columns."""
        yield from self.send_context.overflow.drain()
        self.send_context.buffered_bytes = 0
        for writer in self._exchanges.values():
            if early and writer.prefers_larger_batches:
                self.send_context.buffered_bytes += writer.buffered_bytes()
            else:
                yield from writer.drain()
        yield from self._drain_sinks()

    def drain_sinks(self) -> Iterator[Envelope]:
        """Yield and remove the buffered output for sinks, under the current group's number."""
        yield from self.send_context.overflow.drain()
        yield from self._drain_sinks()

    def _drain_sinks(self) -> Iterator[Envelope]:
        for writer in self._sinks.values():
            yield from writer.drain()

    def _spill(self) -> None:
        """Move all buffers into the overflow, in the middle of a call, when nothing can be sent."""
        send_context = self.send_context
        send_context.buffered_bytes = 0
        for writer in (*self._exchanges.values(), *self._sinks.values()):
            for envelope in writer.drain():
                send_context.overflow.put(envelope)

    def close(self) -> None:
        """Close the user functions."""
        with contextlib.ExitStack() as stack:
            for program in self.program.exchanges:
                for function in (program.selector, program.partitioner):
                    if function is not None:
                        stack.callback(close_function, function)
            for operator in self.operators.values():
                stack.callback(operator.close)


def _columns_into(builder: ChainBuilder) -> tuple[PushColumns, ...]:
    if not builder.program.has_columns:
        return ()
    from headrace.runtime.chain.column_paths import ColumnPaths  # jobs with rows start without it

    return ColumnPaths(builder).pushes
