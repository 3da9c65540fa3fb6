"""The one data sink of a job: every sink's writers in the tasks, their committers at the driver."""

from __future__ import annotations

import fcntl
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from headrace.connector import CommitterContext, ServedBy, WriterContext
from headrace.errors import CheckpointLockedError
from headrace.metrics.merging import Part, merge
from headrace.runners.delivery import Delivery
from headrace.runners.spark.checkpoint.progress import OWNER_FILE, all_sources_ended
from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runners.spark.failures import encoded
from headrace.runners.spark.link import BatchReport, send_report
from headrace.runners.spark.query.spill import SpilledEnvelopes
from headrace.runners.spark.query.wire import payload_of, unpacked
from headrace.runners.spark.query.worker import (
    ProgramRef,
    attempt_name,
    batch_id,
    partition_id,
    worker_job,
)
from headrace.runners.spark.shipping import classes
from headrace.runtime.block import Envelope, Kind, values_of
from headrace.runtime.coordinator import StateChanges, merge_states
from headrace.runtime.program import JobProgram, SinkProgram

if TYPE_CHECKING:
    from headrace.runners.spark.query.source import DriverPlan


@dataclass
class SentMessage(WriterCommitMessage):
    """A ``TaskMessage``, pickled: Spark reads messages before the program is there."""

    data: bytes


@dataclass
class TaskMessage:
    """What one task of the sink has for the commit."""

    committables: dict[int, Any] = field(default_factory=dict)
    delivered: dict[int, list[tuple[int, list[Any]]]] = field(default_factory=dict)
    states: list[tuple[int, int, StateChanges]] = field(default_factory=list)
    """Sender, epoch, what it says."""
    metrics: list[dict[str, Part]] = field(default_factory=list)


def served_by_committer(sink: SinkProgram) -> bool:
    """True for sinks with writers and a committer: not those that the driver or Spark serves."""
    return bool(sink.sink.served_by is ServedBy.TASKS)


def write_task(ref: ProgramRef, batches: Iterator[pa.RecordBatch], batch: int) -> TaskMessage:
    """Write one task's records to every sink."""
    program = worker_job(ref).program
    message = TaskMessage()
    rows = SpilledEnvelopes()
    for arrow in batches:
        for packet in arrow.column("payload").to_pylist():
            for envelope in unpacked(packet):
                if envelope.kind == Kind.SOURCE_STATE:
                    epoch, states = payload_of(envelope.kind, envelope.payload)
                    message.states.append((envelope.sender, epoch, states))
                elif envelope.kind == Kind.METRICS:
                    message.metrics.append(payload_of(envelope.kind, envelope.payload))
                else:
                    if program.sinks[envelope.target].sink.served_by is not ServedBy.SPARK:
                        rows.add(envelope.target, envelope)  # Spark writes its own
    for target in rows.readers():
        received = rows.take(target)
        sink = program.sinks[target]
        if Delivery.takes(sink):
            message.delivered[target] = [
                (envelope.group, values_of(payload_of(Kind.DATA, envelope.payload)))
                for envelope in received
            ]
        else:
            message.committables[target] = write_to(program, sink, received, batch)
    rows.close()
    return message


def sent(message: TaskMessage) -> SentMessage:
    """The message as it travels."""
    return SentMessage(pickle.dumps(message, 5))


def write_to(
    program: JobProgram, sink: SinkProgram, received: Iterable[Envelope], batch: int
) -> Any:
    """Write one task's records to one sink; gives what its committer is to have."""
    context = WriterContext(
        program.sink_id(sink), program.name, batch, partition_id(), attempt_name()
    )
    writer = sink.sink.writer(context)
    try:
        for envelope in received:
            block = payload_of(Kind.DATA, envelope.payload)
            values = values_of(block)
            writer.write(values, block.timestamps or [None] * len(values))
        return writer.prepare_commit()
    except Exception:
        writer.abort()
        raise


class _Commit:
    """The part that both kinds of writer share; it runs beside the driver."""

    def __init__(self, plan: DriverPlan) -> None:
        self._ref = plan.workers
        self._directory = plan.directory
        self._address, self._token = plan.address, plan.token

    def _received(self, messages: Sequence[Any]) -> tuple[JobProgram, list[TaskMessage]]:
        program, _ = classes.loads(self._ref.data)
        return program, [pickle.loads(m.data) for m in messages if isinstance(m, SentMessage)]

    def _publish(self, messages: Sequence[Any], batch: int) -> None:
        program, present = self._received(messages)
        with _commit_lock(Path(self._directory), self._ref.run_id):
            for sink in program.sinks:
                if not served_by_committer(sink):
                    continue
                parts = [m.committables.get(sink.index) for m in present]
                context = CommitterContext(program.sink_id(sink), program.name)
                sink.sink.committer(context).commit(batch, [p for p in parts if p is not None])
            watermark = self._save_states(present)
            report = _report(present, batch, watermark)
            report.ended = all_sources_ended(Path(self._directory) / "spark", batch)
            send_report(self._address, self._token, report)

    def _save_states(self, messages: Sequence[TaskMessage]) -> int | None:
        said = sorted((s for m in messages for s in m.states), key=itemgetter(0))
        if not said:
            return None
        states = SplitStates(Path(self._directory) / "splits")
        _, epoch, _ = said[0]
        merged = merge_states(states.load(epoch - 1), [part for *_, part in said])
        states.save(epoch, merged)
        return min((state.watermark for state in merged.values()), default=None)

    def _discard(self, messages: Sequence[Any], batch: int) -> None:
        program, present = self._received(messages)
        for sink in program.sinks:
            if not served_by_committer(sink):
                continue
            parts = [m.committables.get(sink.index) for m in present]
            context = CommitterContext(program.sink_id(sink), program.name)
            sink.sink.committer(context).abort(batch, [p for p in parts if p is not None])


def _report(messages: Sequence[TaskMessage], batch: int, watermark: int | None) -> BatchReport:
    report = BatchReport(batch, watermark=watermark)
    for message in messages:
        for index, parts in message.delivered.items():
            report.delivered.setdefault(index, []).extend(parts)
        for told in message.metrics:
            merge(report.metrics, told)
    return report


@contextmanager
def _commit_lock(directory: Path, run_id: str) -> Iterator[None]:
    """Hold off a commit of a driver that was killed while its commit went on.

    Raises:
        CheckpointLockedError: another run owns the checkpoint by now.
    """
    with (directory / "commit.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        owner = (directory / OWNER_FILE).read_text()
        if owner != run_id:
            raise CheckpointLockedError(
                "another driver has taken over this checkpoint",
                where={"checkpoint": str(directory)},
            )
        yield


class StreamSinkWriter(_Commit, DataSourceStreamArrowWriter):
    """Writes and commits micro-batches."""

    @encoded
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's part of a micro-batch."""
        return sent(write_task(self._ref, iterator, batch_id()))

    @encoded
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Publish a micro-batch."""
        self._publish(messages, batchId)

    @encoded
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Discard a micro-batch."""
        self._discard(messages, batchId)


class BatchSinkWriter(_Commit, DataSourceArrowWriter):
    """Writes and commits a batch as its one micro-batch."""

    def __init__(self, plan: DriverPlan, batch: int) -> None:
        super().__init__(plan)
        self._batch = batch

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
