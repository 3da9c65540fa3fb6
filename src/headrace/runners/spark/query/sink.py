"""The data sink of a job for Spark: writers of all sinks in tasks, committers beside the driver."""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from headrace.common._storage.locations import use_access
from headrace.metrics._merging import merge
from headrace.runners import program_classes
from headrace.runners.sinks import has_committer, make_committer
from headrace.runners.spark.checkpoint.checkpoint import commit_of
from headrace.runners.spark.checkpoint.progress import all_sources_ended
from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runners.spark.failures import encodes_errors
from headrace.runners.spark.link import BatchReport, send_report
from headrace.runners.spark.query.driver_plan import DriverPlan, QueryPlan, read_plan
from headrace.runners.spark.query.worker import batch_id
from headrace.runners.spark.query.writing import SentMessage, TaskMessage, write_task
from headrace.runtime.coordination.coordinator import (
    StateChanges,
    States,
    merge_states,
    source_watermarks,
)
from headrace.runtime.failure import sink_error_notes
from headrace.runtime.program import JobProgram

SINKS = "headrace-sinks"

_log = logging.getLogger(__name__)


class _SinkCommit:
    """The commit for stream and batch writers; it runs beside the driver.

    ``batch`` is the job's number of a micro-batch: Spark counts from 0 in each generation.
    """

    def __init__(self, plan: QueryPlan) -> None:
        self._ref = plan.program_ref
        self._checkpoint_folder, self._owner = plan.checkpoint_folder, plan.owner
        self._address, self._token = plan.address, plan.token
        self._spark = plan.checkpoint_folder.spark(plan.generation.number)
        self._first_batch = plan.generation.first_batch

    def _decode_messages(self, messages: Sequence[Any]) -> tuple[JobProgram, list[TaskMessage]]:
        self._ref.dependencies.activate_on_driver()
        use_access(self._ref.storage)
        program, _ = program_classes.loads(self._ref.data)
        return program, [pickle.loads(m.data) for m in messages if isinstance(m, SentMessage)]

    def _publish(self, messages: Sequence[Any], batch: int) -> None:
        began_ns = time.perf_counter_ns()
        program, task_messages = self._decode_messages(messages)
        with commit_of(self._checkpoint_folder, self._owner, batch):
            for sink in program.sinks:
                if not has_committer(sink):
                    continue
                committables = [m.committables.get(sink.id) for m in task_messages]
                committer = make_committer(program, sink)
                with sink_error_notes(sink, "committing"):
                    committer.commit(batch, [p for p in committables if p is not None])
            report = _report(task_messages, batch, self._save_states(task_messages))
            # A new source may not be in a micro-batch that another program has planned.
            sources = {source.id for source in program.sources}
            report.ended = all_sources_ended(self._spark, batch - self._first_batch, sources)
            report.commit_ms = (time.perf_counter_ns() - began_ns) / 1e6
            send_report(self._address, self._token, report)

    def _save_states(self, messages: Sequence[TaskMessage]) -> dict[str, int]:
        reported_states = sorted((s for m in messages for s in m.states), key=itemgetter(0))
        if not reported_states:
            return {}
        committables = [part for *_, part in reported_states]
        return source_watermarks(self._saved_states(reported_states[0][1], committables))

    def _saved_states(self, epoch: int, committables: Sequence[StateChanges]) -> States:
        """Save and return the split states after an epoch, from which the next one starts.

        They exist already if the micro-batch is repeated, or if it has only records of DataFrames:
        then its epoch is that of the micro-batch before.
        """
        states = SplitStates(self._checkpoint_folder.store)
        if epoch == 0 or states.has(epoch):
            return states.load(epoch)
        return states.save(epoch, merge_states(states.load(epoch - 1), committables))

    def _discard(self, messages: Sequence[Any], batch: int) -> None:
        """Discard what tasks have written.

        Errors are only logged: Spark would report them instead of the micro-batch's failure.
        """
        program, task_messages = self._decode_messages(messages)
        for sink in program.sinks:
            if not has_committer(sink):
                continue
            committables = [m.committables.get(sink.id) for m in task_messages]
            try:
                committer = make_committer(program, sink)
                committer.abort(batch, [p for p in committables if p is not None])
            except Exception as error:
                _log.warning(
                    "what the failed micro-batch %d has written for sink %r was not discarded: %s",
                    batch,
                    sink.name,
                    error,
                )


def _report(messages: Sequence[TaskMessage], batch: int, watermarks: dict[str, int]) -> BatchReport:
    report = BatchReport(batch, watermarks=watermarks)
    for message in messages:
        for index, committables in message.delivered.items():
            report.delivered.setdefault(index, []).extend(committables)
        for part_metrics in message.metrics:
            merge(report.metrics, part_metrics)
        report.output += message.output
        report.state += message.pages
    return report


class StreamSinkWriter(_SinkCommit, DataSourceStreamArrowWriter):
    """Writes and commits micro-batches of a stream."""

    @encodes_errors
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's part of a micro-batch."""
        return write_task(self._ref, iterator, self._first_batch + batch_id())

    @encodes_errors
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Publish a micro-batch."""
        self._publish(messages, self._first_batch + batchId)

    @encodes_errors
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Discard a micro-batch."""
        self._discard(messages, self._first_batch + batchId)


class BatchSinkWriter(_SinkCommit, DataSourceArrowWriter):
    """Writes and commits a batch, or a micro-batch of a stream that has ``DataFrameSink``s."""

    def __init__(self, plan: DriverPlan, batch: int) -> None:
        super().__init__(plan.query)
        self._batch, self._is_last = batch, plan.program.batch

    def _saved_states(self, epoch: int, committables: Sequence[StateChanges]) -> States:
        """Save the states in a stream; a batch has none."""
        return (
            merge_states({}, committables)
            if self._is_last
            else super()._saved_states(epoch, committables)
        )

    @encodes_errors
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's part."""
        return write_task(self._ref, iterator, self._batch)

    @encodes_errors
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish the batch."""
        self._publish(messages, self._batch)

    @encodes_errors
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Discard the batch."""
        self._discard(messages, self._batch)


class HeadraceDataSink(DataSource):
    """Spark's data sink for all sinks of a job. ``plan``: the path of a ``PlanFolder``."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return SINKS

    def streamWriter(self, schema: Any, overwrite: bool) -> StreamSinkWriter:
        """Return the writer for a streaming query."""
        return StreamSinkWriter(read_plan(self.options["plan"]).query)

    def writer(self, schema: Any, overwrite: bool) -> Any:
        """Return the writer for a batch."""
        batch = int(self.options.get("batch", "0"))
        return BatchSinkWriter(read_plan(self.options["plan"]), batch)
