"""A source task: reads ranges of splits and runs the chain that is fused to the source."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headrace.common._watermark_generators import MAX_WATERMARK, MIN_WATERMARK, out_of_range
from headrace.connector import (
    BadRecord,
    Chunk,
    ColumnChunk,
    Pending,
    SplitRange,
    SplitReader,
)
from headrace.errors import DecodeError
from headrace.metrics._measures import KeyGroupValues, MeasuredSum, Milliseconds, Tally
from headrace.metrics._operator_counts import (
    BAD_RECORDS,
    BUSY_MS,
    PENDING_BYTES,
    PENDING_RECORDS,
    RECORDS_IN,
)
from headrace.metrics.metricbase import MetricGroup
from headrace.runtime.block import Block, Envelope, Kind
from headrace.runtime.chain.chain import Chain
from headrace.runtime.context import TaskInfo
from headrace.runtime.failure import annotate
from headrace.runtime.program import JobProgram, SourceProgram
from headrace.runtime.tasks.busy import count_busy_time


class SplitState(NamedTuple):
    """The watermark (ms) and operator states of a split between two micro-batches."""

    watermark: int
    nodes: Mapping[str, Any]


NEW_SPLIT = SplitState(MIN_WATERMARK, {})

TICK = 1 << 40
"""The sequence number of a task's envelopes that send the time alone."""

_WATERMARKS = 16
"""A task emits about this many periodic watermarks of a split in a micro-batch, however large that
is: downstream of a keyed stage every key group gets each of them from every other."""


@dataclass(frozen=True)
class SplitWork:
    """The work of a task on one split: ranges to read, and changes of the split's status.

    ``announce``: the split is new, so every receiver must get a first watermark of it.
    ``resends_watermark``: the split is known, but its receivers are new and get its watermark
    again. ``finished``: these are its last ranges. ``idle``: the split becomes idle (True) or
    active (False); None: no change.
    """

    source: str
    split: str
    ranges: tuple[SplitRange, ...] = ()
    announce: bool = False
    finished: bool = False
    idle: bool | None = None
    state: SplitState = NEW_SPLIT
    resends_watermark: bool = False

    @property
    def only_announces(self) -> bool:
        """True if nothing of the split is read."""
        return (
            not self.ranges
            and not self.finished
            and self.idle is None
            and not self.resends_watermark
        )

    @property
    def records(self) -> int:
        """The approximate number of records to read."""
        return sum(split_range.records for split_range in self.ranges)


@dataclass(frozen=True)
class SourceTaskInput:
    """The work of one source task in one micro-batch (number ``epoch``).

    ``sender``: the position of the task's blocks among those of all tasks. ``ticks``: whether this
    task sends the processing time to every group. ``chunk_records``: the number of records between
    watermarks; None: as in the job's settings. ``pending``: the unread records of each source, to
    be reported.
    """

    sender: int
    epoch: int
    now_ms: int
    work: tuple[SplitWork, ...] = field(default=())
    ticks: bool = False
    chunk_records: int | None = None
    pending: Mapping[str, Pending] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """The approximate number of records to read."""
        return sum(work.records for work in self.work)


class SourceMeasures:
    """The metrics of one source that its chain does not count."""

    def __init__(self, source: SourceProgram, metrics: MetricGroup) -> None:
        measured = metrics.of_operator(source.id, source.name).measured
        self.bad, self.worked_ns = Tally(), Tally()
        measured.of_kind(RECORDS_IN, MeasuredSum).add((self.bad,))
        measured.of_kind(BAD_RECORDS, MeasuredSum).add((self.bad,))
        measured.of_kind(BUSY_MS, Milliseconds).add((self.worked_ns,))
        self._records_left = measured.of_kind(PENDING_RECORDS, KeyGroupValues)
        self._bytes_left = measured.of_kind(PENDING_BYTES, KeyGroupValues)

    def set_pending(self, left: Pending) -> None:
        """Set the metrics of unread records and bytes."""
        if left.records is not None:
            self._records_left.set(0, left.records)
        if left.size_bytes is not None:
            self._bytes_left.set(0, left.size_bytes)


class SourceTask:
    """Runs source tasks: one object per worker process, for all sources of the job."""

    def __init__(self, job: JobProgram, task_info: TaskInfo, metrics: MetricGroup) -> None:
        self._job = job
        self._sources = {source.id: source for source in job.sources}
        self._task_info, self._metrics = task_info, metrics
        self._chains: dict[str, Chain] = {}
        self._readers: dict[str, SplitReader] = {}
        self._records_in = metrics.counter(RECORDS_IN)
        self._bad_records = metrics.counter(BAD_RECORDS)
        self._measures = {s.id: SourceMeasures(s, metrics) for s in job.sources}

    def chain(self, source_id: str) -> Chain:
        """Return the running chain of a source, opened when first used."""
        chain = self._chains.get(source_id)
        if chain is None:
            source = self._sources[source_id]
            chain = self._chains[source_id] = Chain(
                source.chain, self._job, self._task_info, self._metrics, merged_marks=False
            )
        return chain

    def _get_reader(self, source_id: str) -> SplitReader:
        reader = self._readers.get(source_id)
        if reader is None:
            reader = self._readers[source_id] = self._sources[source_id].reader
        return reader

    def run(self, task: SourceTaskInput) -> Iterator[Envelope]:
        """Run one task; yield full blocks, and at the end the new states of its splits.

        A finished split's state is None.
        """
        current_group = task.sender % max(self._sink_groups(), 1)
        chunk_records = task.chunk_records or self._job.settings.chunk_records
        for source_id, left in task.pending.items():
            self._measures[source_id].set_pending(left)
        chains: dict[str, Chain] = {}
        states: dict[tuple[str, str], SplitState | None] = {}
        for work in task.work:
            chain = chains.get(work.source)
            if chain is None:
                chain = chains[work.source] = self.chain(work.source)
                # Two sources in one task are two senders, each with an order of its own.
                chain.begin(
                    task.sender * len(self._sources) + self._sources[work.source].number,
                    task.now_ms,
                    current_group,
                )
            yield from self._count_busy_time(
                work.source, self._run_split(chain, work, chunk_records)
            )
            if work.only_announces:
                continue  # what is known of the split is up to its reader
            if work.finished:
                states[work.source, work.split] = None
                continue
            nodes = chain.snapshot()
            reached = [e.watermark for e in chain.writers if e.watermark is not None]
            watermark = max(min(reached, default=MIN_WATERMARK), work.state.watermark)
            states[work.source, work.split] = SplitState(watermark, nodes)
        for source_id, chain in chains.items():
            yield from self._count_busy_time(source_id, chain.drain())
        if task.ticks:
            yield from self._tick_envelopes(task)
        stage = self._job.sink_stage
        yield Envelope(
            stage, current_group, "", Kind.SOURCE_STATE, task.sender, 0, (task.epoch, states)
        )

    def _count_busy_time(self, source_id: str, work: Iterator[Envelope]) -> Iterator[Envelope]:
        return count_busy_time(work, self._task_info.clock_ns, self._measures[source_id].worked_ns)

    def _sink_groups(self) -> int:
        groups = [vertex.groups for stage in self._job.stages for vertex in stage]
        return max(groups, default=1)

    def _tick_envelopes(self, task: SourceTaskInput) -> Iterator[Envelope]:
        empty = Block(None, [], None, False, [], None, task.now_ms)
        for stage in self._job.stages:
            for vertex in stage:
                for group in range(vertex.groups):
                    yield Envelope(
                        vertex.stage, group, vertex.id, Kind.DATA, task.sender, TICK, empty
                    )

    def _run_split(self, chain: Chain, work: SplitWork, chunk_records: int) -> Iterator[Envelope]:
        chain.begin_channel(work.split, work.state.nodes)
        try:
            if work.announce:
                chain.announce()
            if work.idle is False:
                chain.push_watermark(work.state.watermark, False)
            if work.ranges:
                yield from self._read_ranges(chain, work, chunk_records)
            if work.finished:
                chain.push_watermark(MAX_WATERMARK)
            elif work.idle:
                chain.push_watermark(work.state.watermark, True)
            chain.complete()
        except Exception as error:
            annotate(error)
            raise

    def _read_ranges(self, chain: Chain, work: SplitWork, chunk_records: int) -> Iterator[Envelope]:
        source, reader = self._sources[work.source], self._get_reader(work.source)
        push_all = chain.push_all
        chunk_records = max(chunk_records, work.records // _WATERMARKS)
        since_tick = 0
        for split_range in work.ranges:
            for chunk in self._read_chunks(chain, reader, split_range):
                if isinstance(chunk, ColumnChunk):
                    chain.push_column_chunk(chunk)
                    self._records_in.inc(chunk.count)
                    chain.received.count += chunk.count
                    since_tick += chunk.count
                else:
                    if chunk.timestamps is not None:
                        _check_timestamps(source, chunk.values, chunk.timestamps)
                    if chunk.bad:
                        self._push_with_bad(chain, source, chunk)
                    else:
                        push_all(chunk.values, chunk.timestamps)
                    self._records_in.inc(len(chunk.values) + len(chunk.bad))
                    chain.received.count += len(chunk.values)
                    since_tick += len(chunk.values)
                    if chunk.skipped:
                        self._metrics.counter("numRecordsSkipped").inc(chunk.skipped)
                if since_tick >= chunk_records:
                    since_tick = 0
                    chain.tick()
                if chain.is_full:
                    yield from chain.drain()
        chain.complete()
        chain.tick()

    def _read_chunks(
        self, chain: Chain, reader: SplitReader, split_range: SplitRange
    ) -> Iterator[Chunk | ColumnChunk]:
        """Yield the chunks of a range: columns if the reader has them and the chain takes them."""
        if chain.push_columns is not None:
            found = reader.read_columns(split_range)
            if found is not None:
                return found
        return reader.read(split_range)

    def _push_with_bad(self, chain: Chain, source: SourceProgram, chunk: Any) -> None:
        if source.bad_record_tag is None:
            bad: BadRecord = chunk.bad[0][1]
            raise DecodeError(
                f"input of {source.name} cannot be decoded: {bad.reason}",
                where={"split": f"{bad.split} at {bad.position}", "raw": repr(bad.raw[:200])},
                hint="give the source .on_error(tag) to send such input to a side output",
            )
        aside, push = chain.root_outputs.side(source.bad_record_tag), chain.push
        waiting = list(chunk.bad)
        for index in range(len(chunk.values) + 1):
            while waiting and waiting[0][0] == index:
                self._bad_records.inc()
                self._measures[source.id].bad.count += 1
                aside(waiting.pop(0)[1], None)
            if index < len(chunk.values):
                push(chunk.values[index], chunk.timestamps and chunk.timestamps[index])

    def close(self) -> None:
        """Close readers and user functions."""
        with contextlib.ExitStack() as stack:
            for reader in self._readers.values():
                stack.callback(reader.close)
            for chain in self._chains.values():
                stack.callback(chain.close)


def _check_timestamps(
    source: SourceProgram, values: list[Any], timestamps: list[int | None]
) -> None:
    """Check that the timestamps of a chunk fit 64 bits.

    Raises:
        TypeMismatchError: a timestamp does not fit.
    """
    try:
        array("q", timestamps)  # type: ignore[type-var]  # without a loop in Python
        return
    except (OverflowError, TypeError):
        pass  # one is out of range, or None
    for value, timestamp in zip(values, timestamps, strict=True):
        if timestamp is not None and not MIN_WATERMARK <= timestamp <= MAX_WATERMARK:
            record = {"record": repr(value)[:120]}
            raise out_of_range(f"{source.name} gave a record the timestamp", timestamp, record)
