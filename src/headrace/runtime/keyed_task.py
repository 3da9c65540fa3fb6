"""One vertex at work on one of its groups: the records, marks and timers of a micro-batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import attrgetter, le
from typing import Any, NamedTuple

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.metrics.metricbase import MetricGroup
from headrace.runtime.block import Block, Envelope, Mark, values_of
from headrace.runtime.chain.chain import Chain
from headrace.runtime.channel import Channel
from headrace.runtime.context import TaskFacts
from headrace.runtime.exchange import SENDERS_PER_VERTEX
from headrace.runtime.failure import annotate
from headrace.runtime.operator import KeyedOperator
from headrace.runtime.program import JobProgram, VertexProgram
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.quiescence import quiescent
from headrace.runtime.state.ttl import CLEANUP
from headrace.runtime.watermarks import ChannelState, ChannelWatermarks, QuietChannels

_RUN_RECORDS = 512
"""Runs under one watermark are put together up to this many records."""

_FEW_RECORDS = 4_096
"""Fewer records wait for those of the next group, as their blocks would be short. More leave at
once, while they are in the processor's cache (docs/adr/0010-cost-per-record.md)."""


class TaskInput(NamedTuple):
    """What one group of one vertex gets in one micro-batch, in the order of (sender, seq)."""

    group: int
    blocks: list[Block]
    now_ms: int


class _Run(NamedTuple):
    """Records between two marks of a merged channel; ``since`` is the sender's watermark."""

    since: int
    block: Block
    values: list[Any]
    start: int
    stop: int


def _joined(runs: Iterable[_Run]) -> Iterator[_Run]:
    """The same records in fewer runs: between two watermarks a sender has often but one or two."""
    short: list[_Run] = []
    records = 0
    for run in runs:
        short.append(run)
        records += run.stop - run.start
        if records >= _RUN_RECORDS:
            yield _one_run(short)
            short, records = [], 0
    if short:
        yield _one_run(short)


def _one_run(runs: list[_Run]) -> _Run:
    if len(runs) == 1:
        return runs[0]
    keys: list[Any] = []
    values: list[Any] = []
    stamps: list[int | None] = []
    for _, block, found, start, stop in runs:
        values += found[start:stop]
        if block.keys is not None:
            keys += block.keys[start:stop]
        known = block.timestamps
        stamps += known[start:stop] if known is not None else [None] * (stop - start)
    whole = Block(keys or None, values, stamps, False, [], None, 0)
    return _Run(runs[0].since, whole, values, 0, len(values))


def _by_time(run: _Run) -> _Run:
    """The records in the order of their timestamps, those without one first."""
    _, block, values, *_ = run
    assert block.timestamps is not None
    moments = [MIN_WATERMARK if stamp is None else stamp for stamp in block.timestamps]
    if all(map(le, moments, islice(moments, 1, None))):
        return run  # senders that do not overlap in time
    order = sorted(range(len(moments)), key=moments.__getitem__)
    keys = None if block.keys is None else [*map(block.keys.__getitem__, order)]
    stamps = [*map(block.timestamps.__getitem__, order)]
    values = [*map(values.__getitem__, order)]
    return _Run(
        0, block._replace(keys=keys, values=values, timestamps=stamps), values, 0, len(values)
    )


def sender_of(vertex: VertexProgram, group: int) -> int:
    """The sender number of a group of a vertex; those of sources lie below all of them."""
    return (vertex.number + 1) * SENDERS_PER_VERTEX + group


class Groups:
    """The groups that one call works through: what they send goes to the same blocks."""

    def __init__(self) -> None:
        self._begun: dict[KeyedTask, None] = {}

    def work(self, task: KeyedTask, given: TaskInput, backend: StateBackend) -> Iterator[Envelope]:
        """Work through a group's micro-batch."""
        joins = task in self._begun
        self._begun[task] = None
        return task.work(given, backend, joins)

    def drain(self) -> Iterator[Envelope]:
        """What still waits to be sent."""
        for task in self._begun:
            yield from task.drain()


class KeyedTask:
    """Drives a vertex: one object per worker process and vertex, for all groups in turn.

    ``advance`` is the whole of it: blocks, state and time in; envelopes out. State is in the
    backend it is given, and nowhere else. ``work`` and ``drain`` do the same for several groups
    (see ``Groups``).
    """

    def __init__(
        self, vertex: VertexProgram, job: JobProgram, facts: TaskFacts, metrics: MetricGroup
    ) -> None:
        self.vertex = vertex
        self._job = job
        self._facts = facts
        self._chain = Chain(vertex.chain, job, facts, metrics, merged_marks=True)
        self._chain.cell.clocked = True
        head = self._chain.operators[vertex.chain.root]
        self._keyed = head if isinstance(head, KeyedOperator) and vertex.keyed else None
        self._quiet = QuietChannels(vertex, job)
        self._context = self._chain.contexts[vertex.chain.root]
        self._records_in = self._context.get_metrics_group().counter("numRecordsIn")

    def advance(self, task: TaskInput, backend: StateBackend) -> Iterator[Envelope]:
        """Work through a micro-batch; gives out what is to be sent, and flushes the backend."""
        yield from self.work(task, backend, joins=False)
        yield from self.drain()

    def drain(self) -> Iterator[Envelope]:
        """Give out what waits to be sent."""
        return self._chain.drain()

    def work(self, task: TaskInput, backend: StateBackend, joins: bool) -> Iterator[Envelope]:
        """Work through a group's micro-batch and flush the backend.

        Few records for a next stage wait for ``drain``, unless the chain makes watermarks of its
        own. ``joins``: what waits already is of other groups in this micro-batch, else of a call
        that failed, and is forgotten.
        """
        chain, cell, header = self._chain, self._chain.cell, backend.header
        self._backend = backend
        self._watermarks = self._channels_of(header)
        self._quiet.expect(self._watermarks, task.blocks)
        now_ms = max(task.now_ms, header.get("now", 0))
        watermark = self._watermarks.current
        chain.begin(
            sender_of(self.vertex, task.group),
            now_ms,
            task.group,
            self.vertex.groups,
            watermark,
            joins and chain.merged,
        )
        cell.watermark = watermark
        if self._context.states is not None:
            self._context.states.attach(backend)
        else:
            cell.backend, cell.entry = backend, None
        chain.restore(header.get("nodes", {}))
        try:
            self._fire_processing_timers(now_ms)
            order = self._batch_order if self._facts.is_batch else self._in_order
            for step in order(task.blocks):
                if isinstance(step, Mark):
                    self._mark(step)
                else:
                    self._records(step.block, step.values, step.start, step.stop)
                    if chain.waiting() >= self._job.settings.flush_records:
                        yield from chain.drain()
            chain.tick()
            if self._watermarks.current >= MAX_WATERMARK and not header.get("finished"):
                self._finish()
        except Exception as error:
            annotate(error)
            raise
        header["channels"] = self._watermarks.stored()
        header["program"] = self._job.fingerprint
        header["watermark"] = self._watermarks.current
        if self._keyed is not None and self._keyed_uses_clock:
            header["now"] = now_ms
        nodes = chain.snapshot()
        if nodes:
            header["nodes"] = nodes
        backend.flush()
        if not chain.merged or chain.waiting() >= _FEW_RECORDS:
            yield from chain.drain()
        else:
            yield from chain.drain_sinks()

    def _channels_of(self, header: Mapping[str, Any]) -> ChannelWatermarks:
        """Where the channels stood at the end of the last micro-batch.

        Where another program ran then, exchanges may have gone, and others have come.
        """
        state: ChannelState = header.get("channels", {})
        if header.get("program") != self._job.fingerprint:
            exchanges, expected = self._job.inputs_of(self.vertex), self.vertex.input_channels
            state = {
                channel: at
                for channel, at in state.items()
                if channel in expected or (channel[0] in exchanges and channel[1] is not None)
            }
            for channel in expected:
                state.setdefault(channel, (MIN_WATERMARK, False))
        return ChannelWatermarks(state, header.get("watermark", MIN_WATERMARK))

    @property
    def _keyed_uses_clock(self) -> bool:
        return self._backend.processing_timers.earliest_ms() is not None

    # Records and marks, in the one order that every run of a micro-batch agrees on.

    def _in_order(self, blocks: Iterable[Block]) -> Iterator[_Run | Mark]:
        merged: dict[Channel, list[Block]] = {}
        for block in blocks:
            if block.merged_channel is not None:
                merged.setdefault(block.merged_channel, []).append(block)
                continue
            values, position = values_of(block), 0
            for mark in block.marks:
                if mark.position > position:
                    yield _Run(0, block, values, position, mark.position)
                    position = mark.position
                yield mark
            if position < len(values):
                yield _Run(0, block, values, position, len(values))
        for channel, senders in sorted(merged.items()):
            if channel.of_dataframe:
                yield from self._dataframe_order(senders)
            else:
                yield from self._merged_order(channel, senders)

    def _merged_order(self, channel: Channel, blocks: list[Block]) -> Iterator[_Run | Mark]:
        """All senders' records under one watermark before any record under the next.

        Every group upstream goes through the same sequence of watermarks, so a record emitted
        under one of them may be placed behind it, whoever sent it.
        """
        runs: list[_Run] = []
        last: Mark | None = None
        for block in blocks:
            values = values_of(block)
            since, position = block.since if block.since is not None else MIN_WATERMARK, 0
            for mark in block.marks:
                if mark.position > position:
                    runs.append(_Run(since, block, values, position, mark.position))
                    position = mark.position
                since = max(since, mark.watermark)
                if last is None or mark.watermark >= last.watermark:
                    last = mark
            if position < len(values):
                runs.append(_Run(since, block, values, position, len(values)))
        runs.sort(key=attrgetter("since"))
        reached, _ = self._watermarks.state.get(channel, (MIN_WATERMARK, False))
        for since, under in groupby(runs, attrgetter("since")):
            if since > reached:
                yield Mark(0, channel, since)
                reached = since
            yield from _joined(under)
        if last is not None:
            yield last

    def _dataframe_order(self, blocks: list[Block]) -> Iterator[_Run | Mark]:
        """All records first: the tasks of a DataFrame read at once what lies side by side."""
        lowest: Mark | None = None
        for block in blocks:
            values = values_of(block)
            if values:
                yield _Run(0, block, values, 0, len(values))
            for mark in block.marks:
                if mark.watermark == MIN_WATERMARK:
                    yield mark
                elif lowest is None or mark.watermark < lowest.watermark:
                    lowest = mark
        if lowest is not None:
            yield lowest

    def _batch_order(self, blocks: Sequence[Block]) -> Iterator[_Run | Mark]:
        """All records by timestamp (those without one first), then the marks, as in Flink."""
        marks = [mark for block in blocks for mark in block.marks]
        full = [block for block in blocks if block.values]
        every = (_Run(0, block, values_of(block), 0, len(block.values)) for block in full)
        if all(block.timestamps is None for block in full):
            yield from _joined(every)
        else:
            yield _by_time(_one_run([*every]))
        # A batch is all there is: behind its records every input has ended.
        channels = dict.fromkeys([*self._watermarks.state, *(mark.channel for mark in marks)])
        for channel in channels:
            self._watermarks.state.setdefault(channel, (MIN_WATERMARK, False))
        for channel in channels:
            yield Mark(0, channel, MAX_WATERMARK)

    def _records(self, block: Block, values: list[Any], start: int, stop: int) -> None:
        keys, timestamps = block.keys, block.timestamps
        if start or stop != len(values):
            values = values[start:stop]
            keys = keys[start:stop] if keys is not None else None
            timestamps = timestamps[start:stop] if timestamps is not None else None
        self._records_in.inc(len(values))
        if self._keyed is not None:
            assert keys is not None
            self._keyed.process(keys, values, timestamps)
            return
        self._chain.push_all(values, timestamps)

    def _mark(self, mark: Mark) -> None:
        watermarks = self._watermarks
        if self._quiet.stays(watermarks, mark):
            return
        if not watermarks.update(mark.channel, mark.watermark, mark.idle):
            return
        chain, watermark = self._chain, watermarks.current
        chain.tick()
        if watermark > chain.cell.watermark:
            chain.cell.watermark = watermark
            if self._keyed is not None:
                timers, fire = self._backend.event_timers, self._keyed.fire
                while (timer := timers.pop_due(watermark)) is not None:
                    fire(timer, True)
        chain.signal(watermark, watermarks.idle)

    def _fire_processing_timers(self, now_ms: int) -> None:
        if self._keyed is None:
            return
        timers, fire = self._backend.processing_timers, self._keyed.fire
        while (timer := timers.pop_due(now_ms)) is not None:
            # At the end of a batch the clock stands still, so no value expires any more.
            if now_ms < MAX_WATERMARK or timer.namespace != CLEANUP:
                fire(timer, False)

    def _finish(self) -> None:
        """The input has ended: a batch fires what waits for the clock, and its final results."""
        self._backend.header["finished"] = True
        if self._facts.is_batch and self._keyed is not None:
            with quiescent(self._backend) as dropped:
                self._fire_processing_timers(MAX_WATERMARK)
            if dropped.timers:
                metrics = self._context.get_metrics_group()
                metrics.counter("numTimersDropped").inc(dropped.timers)
            self._keyed.finish(self._backend)

    def close(self) -> None:
        """Close the user functions."""
        self._chain.close()
