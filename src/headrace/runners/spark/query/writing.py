"""Writes a task's records to the sinks, and collects what their committers need.

If Spark does nothing between source and sinks, the task that reads also writes: only its message is
sent on, through the JVM, to the sink's worker. Otherwise the sink's worker writes the records.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from headrace.connector import ExecutedBy, WriterContext
from headrace.metrics._merging import MetricId, MetricValue
from headrace.metrics.metricbase import MetricGroup
from headrace.runners.delivery import Delivery
from headrace.runners.sinks import SinkWriting, has_committer
from headrace.runners.spark.link import PageChanges
from headrace.runners.spark.query.packets import (
    payload_bytes,
    payload_of,
)
from headrace.runners.spark.query.spill import SpilledEnvelopes
from headrace.runners.spark.query.traffic import Traffic
from headrace.runners.spark.query.wire import rows_of
from headrace.runners.spark.query.worker import (
    ProgramRef,
    WorkerJob,
    attempt_name,
    partition_id,
    worker_job,
)
from headrace.runners.spark.task_output import OutputLine, take_output
from headrace.runtime.block import Envelope, Kind, records_of
from headrace.runtime.coordination.coordinator import StateChanges
from headrace.runtime.program import JobProgram, SinkProgram

_MAX_THREADS = 16


@dataclass
class SentMessage(WriterCommitMessage):
    """A pickled ``TaskMessage``: Spark unpickles messages before the program is loaded."""

    data: bytes


@dataclass
class TaskMessage:
    """What one task of the sink passes to the commit."""

    committables: dict[str, Any] = field(default_factory=dict)
    delivered: dict[str, list[tuple[int, list[Any]]]] = field(default_factory=dict)
    states: list[tuple[int, int, StateChanges]] = field(default_factory=list)
    """Sender, epoch, and changes of split states."""
    metrics: list[dict[MetricId, MetricValue]] = field(default_factory=list)
    output: list[OutputLine] = field(default_factory=list)
    pages: list[PageChanges | None] = field(default_factory=list)


def writes_where_it_reads(program: JobProgram) -> bool:
    """Return whether tasks that read also write.

    ``program`` must be that of the driver, which has the sources.
    """
    return not program.stages and not program.has_dataframes


def write_in_place(
    job: WorkerJob, sender: int, envelopes: Iterable[Envelope], batch: int
) -> Envelope:
    """Write what a task has read; return the envelope with its message to the commit."""
    spilled: SpilledEnvelopes[str] = SpilledEnvelopes()
    with contextlib.closing(spilled), _open_sinks(job, batch, spilled, in_order=True) as sinks:
        for envelope in envelopes:
            sinks.receive(envelope)
    message = sinks.message
    return Envelope(job.program.sink_stage, 0, "", Kind.WRITTEN, sender, 0, message)


def write_task(ref: ProgramRef, batches: Iterator[pa.RecordBatch], batch: int) -> SentMessage:
    """Write one task's records to all sinks, unless the task that read them has done so."""
    spilled: SpilledEnvelopes[str] = SpilledEnvelopes()
    with contextlib.closing(spilled):
        rows = chain.from_iterable(map(rows_of, batches))
        envelopes = chain.from_iterable(spilled.open(row.payload, row.stage) for row in rows)
        first = next(envelopes, None)
        if first is not None and first.kind == Kind.WRITTEN:
            message = SentMessage(payload_bytes(first))
            assert next(envelopes, None) is None, "this task has the messages of several tasks"
            return message
        with _open_sinks(worker_job(ref), batch, spilled, in_order=False) as sinks:
            for envelope in chain([] if first is None else [first], envelopes):
                sinks.receive(envelope, spilled.store_opened)
    return SentMessage(pickle.dumps(sinks.message, 5))


_StoreEnvelope = Callable[[str, Envelope], None]


class _SinkTask:
    """The writers of one task for all sinks, and its ``message`` to the commit.

    ``spilled``: received envelopes, closed by the caller. ``stack`` closes the writers.
    """

    def __init__(
        self,
        job: WorkerJob,
        batch: int,
        spilled: SpilledEnvelopes[str],
        in_order: bool,
        stack: contextlib.ExitStack,
    ) -> None:
        self._job, self._batch, self._in_order, self._stack = job, batch, in_order, stack
        self._open: dict[str, SinkWriting] = {}
        self._spilled = spilled
        self._metrics = MetricGroup()
        self._traffic = Traffic(job.program, self._metrics)
        self.message = TaskMessage()

    def receive(self, envelope: Envelope, store_envelope: _StoreEnvelope | None = None) -> None:
        """Take an envelope; ``store_envelope`` stores it for a sink."""
        if envelope.kind == Kind.SOURCE_STATE:
            epoch, states = payload_of(envelope)
            self.message.states.append((envelope.sender, epoch, states))
        elif envelope.kind == Kind.METRICS:
            self.message.metrics.append(payload_of(envelope))
        elif envelope.kind == Kind.OUTPUT:
            self.message.output += payload_of(envelope)
        elif envelope.kind == Kind.PAGES:
            self.message.pages.append(payload_of(envelope))
        else:
            sink = self._job.program.sink(envelope.target)
            self._traffic.count(envelope)
            if self._in_order and has_committer(sink):
                self._write(envelope)
            elif sink.sink.executed_by is not ExecutedBy.SPARK:  # Spark writes its own
                (store_envelope or self._spilled.add)(sink.id, envelope)

    def end(self) -> None:
        """Write the stored envelopes, and prepare the commit."""
        in_threads = []
        for sink_id in self._spilled.readers():
            sink = self._job.program.sink(sink_id)
            if Delivery.takes(sink):
                received = self._spilled.pop(sink_id)
                records = [(each.group, records_of(payload_of(each))) for each in received]
                self.message.delivered[sink_id] = records
            elif sink.sink.writes_in_thread:
                in_threads.append(sink)
            else:
                self._write_stored(sink)
        self._write_in_threads(in_threads)
        for sink_id in [*self._open]:
            self._prepare_commit(sink_id)
        counted = self._metrics.nonzero_values(partition_id())
        if counted:
            self.message.metrics.append(counted)
        self.message.output += take_output()

    def _write(self, envelope: Envelope) -> None:
        sink_id = envelope.target
        if sink_id not in self._open:
            sink = self._job.program.sink(sink_id)
            writing = SinkWriting(sink, _make_context(self._job, sink, self._batch))
            self._open[sink_id] = self._stack.enter_context(writing)
        self._open[sink_id].write(payload_of(envelope))

    def _write_in_threads(self, sinks: Sequence[SinkProgram]) -> None:
        """Write the stored envelopes of these sinks side by side: each waits for its servers.

        All have ended when the first error is raised.
        """
        if len(sinks) < 2:
            for sink in sinks:
                self._write_stored(sink)
            return
        with ThreadPoolExecutor(min(len(sinks), _MAX_THREADS)) as threads:
            for _ in threads.map(self._write_stored, sinks):
                pass  # raises the error of a thread

    def _write_stored(self, sink: SinkProgram) -> None:
        """Write a sink's stored envelopes, and prepare its commit."""
        with SinkWriting(sink, _make_context(self._job, sink, self._batch)) as writing:
            for envelope in self._spilled.pop(sink.id):
                writing.write(payload_of(envelope))
            self.message.committables[sink.id] = writing.prepare_commit()

    def _prepare_commit(self, sink_id: str) -> None:
        self.message.committables[sink_id] = self._open.pop(sink_id).prepare_commit()


@contextlib.contextmanager
def _open_sinks(
    job: WorkerJob, batch: int, spilled: SpilledEnvelopes[str], in_order: bool
) -> Iterator[_SinkTask]:
    """Make the writers of one task; at the end each sink's records are written by (sender, seq).

    ``in_order``: the envelopes come in a deterministic order, so they are written at once. A sink
    that commits by task is written at the end in any case: it may hold a transaction open, which
    should not wait for reading or computation.
    """
    with contextlib.ExitStack() as stack:
        sinks = _SinkTask(job, batch, spilled, in_order, stack)
        yield sinks
        sinks.end()


def _make_context(job: WorkerJob, sink: SinkProgram, batch: int) -> WriterContext:
    program = job.program
    return WriterContext(
        program.sink_id(sink),
        program.name,
        batch,
        partition_id(),
        attempt_name(),
        sink_tasks(program),
        job.resources,
    )


def sink_tasks(program: JobProgram) -> int:
    """Return the maximum number of tasks that write to sinks in a micro-batch.

    DataFrames are not counted. After a keyed stage: its number of partitions. Otherwise: the source
    tasks, plus a task that may announce new splits, and a task that sends the time.
    """
    if program.stages:
        return program.partitions
    return max(program.parallelism, 1) + 1 + int(program.needs_ticks)
