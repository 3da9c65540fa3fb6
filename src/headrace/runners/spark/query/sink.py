"""The one data sink of a job: every sink's writers in the tasks, their committers at the driver."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from headrace.connector import ServedBy, WriterContext
from headrace.metrics.merging import MetricId, Part, merge
from headrace.runners import program_classes
from headrace.runners.delivery import Delivery
from headrace.runners.sinks import (
    Records,
    committer_of,
    served_by_committer,
    write_records,
)
from headrace.runners.spark.checkpoint.checkpoint import commit_of
from headrace.runners.spark.checkpoint.progress import all_sources_ended
from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runners.spark.failures import encoded
from headrace.runners.spark.link import BatchReport, send_report
from headrace.runners.spark.query.driver_plan import DriverPlan, QueryPlan
from headrace.runners.spark.query.spill import SpilledEnvelopes
from headrace.runners.spark.query.wire import payload_of, unpacked
from headrace.runners.spark.query.worker import (
    ProgramRef,
    WorkerJob,
    attempt_name,
    batch_id,
    partition_id,
    worker_job,
)
from headrace.runtime.block import Envelope, Kind, values_of
from headrace.runtime.coordinator import StateChanges, States, merge_states
from headrace.runtime.failure import at_sink
from headrace.runtime.program import JobProgram, SinkProgram


@dataclass
class SentMessage(WriterCommitMessage):
    """A ``TaskMessage``, pickled: Spark reads messages before the program is there."""

    data: bytes


@dataclass
class TaskMessage:
    """What one task of the sink has for the commit."""

    committables: dict[str, Any] = field(default_factory=dict)
    delivered: dict[str, list[tuple[int, list[Any]]]] = field(default_factory=dict)
    states: list[tuple[int, int, StateChanges]] = field(default_factory=list)
    """Sender, epoch, what it says."""
    metrics: list[dict[MetricId, Part]] = field(default_factory=list)


def write_task(ref: ProgramRef, batches: Iterator[pa.RecordBatch], batch: int) -> TaskMessage:
    """Write one task's records to every sink."""
    job = worker_job(ref)
    program = job.program
    message = TaskMessage()
    rows: SpilledEnvelopes[str] = SpilledEnvelopes()
    for arrow in batches:
        for packet in arrow.column("payload").to_pylist():
            for envelope in unpacked(packet):
                if envelope.kind == Kind.SOURCE_STATE:
                    epoch, states = payload_of(envelope.kind, envelope.payload)
                    message.states.append((envelope.sender, epoch, states))
                elif envelope.kind == Kind.METRICS:
                    message.metrics.append(payload_of(envelope.kind, envelope.payload))
                elif program.sink(envelope.target).sink.served_by is not ServedBy.SPARK:
                    rows.add(envelope.target, envelope)  # Spark writes its own
    for target in rows.readers():
        received = rows.take(target)
        sink = program.sink(target)
        if Delivery.takes(sink):
            message.delivered[target] = [
                (envelope.group, values_of(payload_of(Kind.DATA, envelope.payload)))
                for envelope in received
            ]
        else:
            message.committables[target] = write_to(job, sink, received, batch)
    rows.close()
    return message


def sent(message: TaskMessage) -> SentMessage:
    """The message as it travels."""
    return SentMessage(pickle.dumps(message, 5))


def write_to(job: WorkerJob, sink: SinkProgram, received: Iterable[Envelope], batch: int) -> Any:
    """Write one task's records to one sink; gives what its committer is to have."""
    program = job.program
    context = WriterContext(
        program.sink_id(sink),
        program.name,
        batch,
        partition_id(),
        attempt_name(),
        sink_tasks(program),
        job.resources,
    )
    return write_records(sink, context, map(_records, received))


def _records(envelope: Envelope) -> Records:
    block = payload_of(Kind.DATA, envelope.payload)
    return values_of(block), block.timestamps and [*block.timestamps]


def sink_tasks(program: JobProgram) -> int:
    """How many tasks write to the sinks in a micro-batch, at most; DataFrames not counted.

    After a keyed stage they are its partitions. Without one they are the source tasks: one more
    may announce new splits, and one sends the time.
    """
    if program.stages:
        return program.partitions
    return max(program.parallelism, 1) + 1 + int(program.needs_ticks)


class _Commit:
    """The part that both kinds of writer share; it runs beside the driver.

    ``batch`` is the job's number of a micro-batch: Spark counts from 0 in each generation.
    """

    def __init__(self, plan: QueryPlan) -> None:
        self._ref = plan.workers
        self._place, self._owner = plan.place, plan.owner
        self._address, self._token = plan.address, plan.token
        self._spark = plan.place.spark(plan.generation.number)
        self._first_batch = plan.generation.first_batch

    def _received(self, messages: Sequence[Any]) -> tuple[JobProgram, list[TaskMessage]]:
        self._ref.brought.enter_beside_driver()
        program, _ = program_classes.loads(self._ref.data)
        return program, [pickle.loads(m.data) for m in messages if isinstance(m, SentMessage)]

    def _publish(self, messages: Sequence[Any], batch: int) -> None:
        program, present = self._received(messages)
        with commit_of(self._place, self._owner, batch):
            for sink in program.sinks:
                if not served_by_committer(sink):
                    continue
                parts = [m.committables.get(sink.id) for m in present]
                committer = committer_of(program, sink)
                with at_sink(sink, "committing"):
                    committer.commit(batch, [p for p in parts if p is not None])
            watermark = self._save_states(present)
            report = _report(present, batch, watermark)
            # One that was added may not be in a micro-batch that another program has planned.
            sources = {source.id for source in program.sources}
            report.ended = all_sources_ended(self._spark, batch - self._first_batch, sources)
            send_report(self._address, self._token, report)

    def _save_states(self, messages: Sequence[TaskMessage]) -> int | None:
        said = sorted((s for m in messages for s in m.states), key=itemgetter(0))
        if not said:
            return None
        parts = [part for *_, part in said]
        merged = self._kept(said[0][1], parts)
        return min((state.watermark for state in merged.values()), default=None)

    def _kept(self, epoch: int, parts: Sequence[StateChanges]) -> States:
        """The split states after an epoch, for the next one to start from.

        They are there already where the micro-batch comes again, and where it has records of
        DataFrames alone: then the epoch is the one before.
        """
        states = SplitStates(self._place.store)
        if epoch == 0 or states.has(epoch):
            return states.load(epoch)
        return states.save(epoch, merge_states(states.load(epoch - 1), parts))

    def _discard(self, messages: Sequence[Any], batch: int) -> None:
        program, present = self._received(messages)
        for sink in program.sinks:
            if not served_by_committer(sink):
                continue
            parts = [m.committables.get(sink.id) for m in present]
            committer = committer_of(program, sink)
            with at_sink(sink, "aborting"):
                committer.abort(batch, [p for p in parts if p is not None])


def _report(messages: Sequence[TaskMessage], batch: int, watermark: int | None) -> BatchReport:
    report = BatchReport(batch, watermark=watermark)
    for message in messages:
        for index, parts in message.delivered.items():
            report.delivered.setdefault(index, []).extend(parts)
        for told in message.metrics:
            merge(report.metrics, told)
    return report


class StreamSinkWriter(_Commit, DataSourceStreamArrowWriter):
    """Writes and commits micro-batches."""

    @encoded
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's part of a micro-batch."""
        return sent(write_task(self._ref, iterator, self._first_batch + batch_id()))

    @encoded
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Publish a micro-batch."""
        self._publish(messages, self._first_batch + batchId)

    @encoded
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Discard a micro-batch."""
        self._discard(messages, self._first_batch + batchId)


class BatchSinkWriter(_Commit, DataSourceArrowWriter):
    """Writes and commits a batch, or one micro-batch of a stream that has ``DataFrameSink``s."""

    def __init__(self, plan: DriverPlan, batch: int) -> None:
        super().__init__(plan.query)
        self._batch, self._is_last = batch, plan.program.batch

    def _kept(self, epoch: int, parts: Sequence[StateChanges]) -> States:
        """No micro-batch comes after a batch; one does in a stream."""
        return merge_states({}, parts) if self._is_last else super()._kept(epoch, parts)

    @encoded
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's part."""
        return sent(write_task(self._ref, iterator, self._batch))

    @encoded
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish the batch."""
        self._publish(messages, self._batch)

    @encoded
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Discard the batch."""
        self._discard(messages, self._batch)
