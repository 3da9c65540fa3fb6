"""One attempt of a job on Spark: a streaming query, or a batch write."""

from __future__ import annotations

import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from tempfile import gettempdir
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.common._storage.locations import hadoop_url
from headrace.errors import CheckpointError, HeadraceError, JobError, SparkEndedError, StorageError
from headrace.runners.observers import Slots
from headrace.runners.spark.checkpoint.checkpoint import Checkpoint, started_jvm_pid
from headrace.runners.spark.checkpoint.damage import causes_of, damage_in, java_reason
from headrace.runners.spark.checkpoint.progress import is_committed
from headrace.runners.spark.checkpoint.spark_files import commit_size_bytes
from headrace.runners.spark.failures import failure_in, output_in
from headrace.runners.spark.jvm import lost_jvm_error, without_py4j_logging
from headrace.runners.spark.link import DriverLink
from headrace.runners.spark.losses import LossWatch, slots_of, watching_slots
from headrace.runners.spark.missing_on_workers import import_hint
from headrace.runners.spark.queried import QueriedState
from headrace.runners.spark.query.dataframes import (
    dataframe_sinks,
    write_dataframes,
)
from headrace.runners.spark.query.driver_plan import PlanFolder, QueryPlan
from headrace.runners.spark.query.frames import batch_frame, streaming_frame
from headrace.runners.spark.query.sink import SINKS, HeadraceDataSink
from headrace.runners.spark.query.source import HeadraceDataSource
from headrace.runners.spark.query.worker import ProgramRef
from headrace.runners.spark.reasons import explain_failure, full_disk_error, read_only_error
from headrace.runners.spark.reports import Reports
from headrace.runners.spark.startup.fork_server import WORKERS_VARIABLE
from headrace.runners.spark.startup.session import settings_of_query
from headrace.runners.spark.task_output import OutputLine
from headrace.runners.stop import Stop
from headrace.runners.temporary_files import log_path
from headrace.runtime.coordination.replay_fingerprints import commits_by_task
from headrace.runtime.program import JobProgram

_POLL_SECONDS = 0.1
_CANCEL_SECONDS = 1.0
_ANSWER_POLL_SECONDS = 0.01


@dataclass
class Attempt:
    """One attempt of a job, starting from the checkpoint if there is one.

    Fields:
        name: the query's name, for Spark's listeners and logs.
        group: Spark's job group, by which a batch is cancelled.
        show_output: prints and logs the output of the functions of a failed task.
        cancelled: the attempt stops when this is set; it is checked every 0.1 s.
        is_outdated: returns whether another attempt must continue, because the tokens of this
            attempt's workers will expire.
        must_rescale: returns whether another attempt must continue, in other partitions.
        stop: returns the stop that was requested, if ``cancelled`` is set for one.
        take_failure: returns, once, an error with which the attempt is to fail.
        queried: the state that is kept for queries.
        on_slots: called about once a second with the executors, if the job has observers.
        on_taken_over: called when the checkpoint needs no older state, such as a savepoint's.
    """

    spark: SparkSession
    program: JobProgram
    ref: ProgramRef
    checkpoint: Checkpoint
    plans: PlanFolder
    link: DriverLink
    reports: Reports
    name: str
    group: str
    queried: QueriedState
    show_output: Callable[[Sequence[OutputLine]], None]
    cancelled: threading.Event
    is_outdated: Callable[[], bool] = lambda: False
    must_rescale: Callable[[], bool] = lambda: False
    stop: Callable[[], Stop | None] = lambda: None
    take_failure: Callable[[], BaseException | None] = lambda: None
    on_slots: Callable[[Slots | None], None] = lambda slots: None
    on_taken_over: Callable[[], None] = lambda: None
    outdated: bool = field(default=False, init=False)
    """Whether the attempt stopped only because another attempt must continue."""
    _write_error: BaseException | None = field(default=None, init=False)
    _stop_by: float | None = field(default=None, init=False)

    def run(self) -> None:
        """Run to the end of the input, or until the job is cancelled or the attempt outdated.

        Raises:
            JobError: it failed, and not in the user's code; otherwise the user's own exception.
        """
        failure = self._write_error = None
        _register(self.spark)
        try:
            with without_py4j_logging():
                if self.program.batch:
                    self._run_batch()
                else:
                    self._run_stream()
        except (PySparkException, Py4JError, ConnectionError) as error:
            failure = self._to_user_error(error)
        if failure is not None:
            raise failure  # outside of `except`, so that it has no context

    def _to_user_error(self, error: BaseException) -> BaseException:
        lost = lost_jvm_error(error)
        if lost is not None:
            return SparkEndedError(
                lost.message, where={**lost.where, **_log_location()}, hint=lost.hint
            )
        if isinstance(error, ConnectionError):
            return error
        self.show_output(output_in(str(self._write_error or error)))
        failure = self._find_damage_error(error) or user_error(self._write_error or error)
        if isinstance(failure, StorageError):
            failure.where.update(self._disk_space())
        return failure

    def _disk_space(self) -> dict[str, str]:
        """Return the free space of the disks that Spark writes to, as this machine sees it."""
        folders = {"checkpoint": self.checkpoint.directory}
        if (self.spark.sparkContext.master or "").startswith("local"):
            local = self.spark.sparkContext.getConf().get("spark.local.dir") or gettempdir()
            folders["spark.local.dir"] = os.environ.get("SPARK_LOCAL_DIRS", local).split(",")[0]
        return {
            name: disk_space_text(path) for name, path in folders.items() if os.path.isdir(path)
        }

    def _find_damage_error(self, error: BaseException) -> CheckpointError | None:
        """Return the error for damage in Spark's checkpoint, if that made the query fail."""
        failed = self._write_error or error
        if self.program.batch or failure_in(str(failed)) is not None:
            return None
        checkpoint = self.checkpoint
        return damage_in(causes_of(failed), checkpoint.directory, checkpoint.spark)

    def _write_plan(self) -> str:
        return self.plans.write_query(
            QueryPlan(
                self.ref,
                self.checkpoint.folder,
                self.checkpoint.owner,
                self.link.address,
                self.link.token,
                self.checkpoint.generation,
                None if self.program.batch else self.plans.stop,
                self.plans.warnings_file,
                self.plans.planned_file if self.reports.observed else None,
                self.reports.reading_ms_file,
                None if self.program.batch else self.plans.pins,
            )
        )

    def _run_stream(self) -> None:
        checkpoint = self.checkpoint
        checkpoint.record_jvm(started_jvm_pid())
        checkpoint.settle_generation()
        if checkpoint.finished:
            print(
                f"headrace: {self.program.name!r} has read its input to the end in an earlier run",
                file=sys.stderr,
            )
            return
        self.queried.load(self.spark, checkpoint)
        moves = checkpoint.generation.origin is not None
        if moves:
            # In a query of its own, so that the job's query does not need the older folder.
            # Our source plans one micro-batch for this trigger, with or without records (4.3.0).
            self._run_query({"availableNow": True})
            checkpoint.settle_generation()
        if checkpoint.generation.origin is None:
            self.on_taken_over()
        if moves and (self._must_not_continue() or checkpoint.finished):
            return
        self._run_query({"processingTime": "0 seconds"})

    def _run_query(self, trigger: dict[str, Any]) -> None:
        checkpoint, program = self.checkpoint, self.program
        plan = self._write_plan()
        with settings_of_query(
            self.spark, program.partitions, checkpoint.spark, dataframes=program.has_dataframes
        ):
            frame = streaming_frame(
                self.spark,
                program,
                self.ref,
                plan,
                checkpoint.folder,
                checkpoint.generation,
                checkpoint.dataframes,
            )
            writer = (
                frame.writeStream.option("checkpointLocation", hadoop_url(checkpoint.spark))
                .outputMode("append")
                .queryName(self.name)
            )
            if dataframe_sinks(program):
                writer = writer.foreachBatch(
                    lambda rows, batch: self._write_batch(rows, plan, batch)
                )
            else:
                writer = writer.format(SINKS).option("plan", plan)
            losses = LossWatch(self.spark.sparkContext)
            query = writer.trigger(**trigger).start()
        self._stop_by = None
        while query.isActive:
            if losses.look() and self.reports.observed:
                self.on_slots(slots_of(self.spark.sparkContext))
            failure = self.take_failure()
            if failure is not None:
                query.stop()
                raise failure
            if self._should_stop():
                query.stop()
            self._observe(query)
            self.queried.settle()
            if self._stop_by is None:
                self.cancelled.wait(_POLL_SECONDS)
            else:
                time.sleep(_ANSWER_POLL_SECONDS)
        self._observe(query)
        losses.look_last()
        query.awaitTermination()

    def _observe(self, query: StreamingQuery) -> None:
        """Call the observers for the micro-batches that Spark has completed."""
        if self.reports.has_unobserved and (progress := query.lastProgress) is not None:
            batch, folder = progress.batchId, self.checkpoint.spark
            self.reports.observe(
                batch + self.checkpoint.generation.first_batch,
                progress.durationMs,
                lambda: commit_size_bytes(folder, batch),
            )

    def _must_not_continue(self) -> bool:
        return self.cancelled.is_set() or self.link.failure is not None or self.outdated

    def _should_stop(self) -> bool:
        """Return whether to stop the query now.

        It is announced first: then the sources report that all micro-batches are committed, for
        example to brokers. A micro-batch in progress is completed, unless that takes too long.
        """
        if self.link.failure is not None:
            return True
        if self._stop_by is None:
            is_done, rescales = self._is_done(), False
            if not is_done and not self.cancelled.is_set():
                rescales = self.must_rescale()
                self.outdated = rescales or self.is_outdated()
                if not self.outdated:
                    return False
            must_finish = is_done or self._must_finish_batch
            patience_s = self.program.settings.stop_ms / 1000 if must_finish else _CANCEL_SECONDS
            stop = self.stop()
            if rescales or (stop is not None and (stop.drain or stop.target is not None)):
                patience_s = math.inf  # what follows needs a completed micro-batch
                if stop is not None and stop.drain and not is_done:
                    self.plans.stop.drain_requested.touch()
            self._stop_by = time.monotonic() + patience_s
            self.plans.stop.requested.touch()
        return self.plans.stop.acknowledged.exists() or time.monotonic() > self._stop_by

    @property
    def _must_finish_batch(self) -> bool:
        """Whether to complete a micro-batch: a changed program might repeat it differently."""
        return bool(self.program.stages) or any(map(commits_by_task, self.program.sinks))

    def _is_done(self) -> bool:
        """Return whether Spark has committed the micro-batch that reads the end of all sources.

        Spark's own trigger for bounded input (availableNow) is not used: it ends when a source has
        nothing to read at the moment, which is not the end of a source with a rate limit.
        """
        report = self.reports.last
        if report is None or not report.ended:
            return False
        first_batch = self.checkpoint.generation.first_batch
        return is_committed(self.checkpoint.spark, report.batch_id - first_batch)

    def _run_batch(self) -> None:
        spark, program = self.spark, self.program
        plan = self._write_plan()
        spark.sparkContext.setJobGroup(self.group, program.name, True)
        with (
            watching_slots(spark.sparkContext, self.on_slots)
            if self.reports.observed
            else nullcontext(),
            settings_of_query(spark, program.partitions, None, dataframes=program.has_dataframes),
        ):
            self._write(batch_frame(spark, program, self.ref, plan), plan, 0)

    def _write_batch(self, frame: DataFrame, plan: str, batch: int) -> None:
        """Write one micro-batch (Spark's number); called by the JVM. The error is kept here.

        Spark parses the text of a raised error with a regular expression, which overflows its stack
        if the text is as long as a Java stack trace (4.3.0).

        Raises:
            JobError: with a short text.
        """
        try:
            self._write(frame, plan, batch)
        except BaseException as error:
            self._write_error = error
            raise JobError(f"micro-batch {batch} was not written") from None

    def _write(self, frame: DataFrame, plan: str, batch: int) -> None:
        """Write one micro-batch (Spark's number), or the batch, to all sinks."""
        batch += self.checkpoint.generation.first_batch
        has_own_sinks = bool(dataframe_sinks(self.program))
        if has_own_sinks:
            frame = frame.persist()
        try:
            if has_own_sinks:
                self.checkpoint.mark_published()
            write_dataframes(frame, self.program, self.ref, batch)
            writer = frame.write.format(SINKS).option("plan", plan)
            writer.option("batch", str(batch)).mode("append").save()
        finally:
            if has_own_sinks:
                frame.unpersist()


def _register(spark: SparkSession) -> None:
    """Register source and sinks with Spark, with different worker processes for both.

    Spark reuses an idle worker for any task with the same environment. Workers that read keep
    consumers with prefetched records, and workers that write keep producers.
    """
    spark.dataSource.register(HeadraceDataSource)
    environment = spark.sparkContext.environment
    environment[WORKERS_VARIABLE] = "sinks"
    try:
        spark.dataSource.register(HeadraceDataSink)
    finally:
        del environment[WORKERS_VARIABLE]


def user_error(error: BaseException) -> BaseException:
    """Return the user's exception inside Spark's error, or a ``JobError`` that names the log."""
    if isinstance(error, HeadraceError):
        return error
    text, log = str(error), _log_location()
    failure = failure_in(text)
    if failure is None:
        causes = causes_of(error)
        messages = "\n".join([text, *(cause.message for cause in causes)])
        full = full_disk_error(messages)
        if isinstance(error, Py4JJavaError) and causes:
            text = java_reason(causes)  # the error's own text only names a call
        kind_of_root = causes[-1].kind if causes else type(error).__name__
        parts = full or read_only_error(messages) or explain_failure(text, kind_of_root)
        kind = JobError if full is None else StorageError
        return kind(parts.message, where={**parts.where, **log}, hint=parts.hint)
    lines = [f"hint:     {import_hint(str(failure))}"] if isinstance(failure, ImportError) else []
    lines += [f"{name}:      {path}" for name, path in log.items()]
    if lines and not isinstance(failure, HeadraceError):
        failure.add_note("\n".join(lines))
    return failure


def disk_space_text(path: str) -> str:
    """Return a folder, with the free space of its disk."""
    disk = shutil.disk_usage(path)
    free, total = (f"{size / (1 << 20):,.0f} MiB" for size in (disk.free, disk.total))
    return f"{path}, {free} free of {total}"


def _log_location() -> dict[str, str]:
    # If the session was the user's, its log is not known.
    return {"log": str(log_path())} if log_path().exists() else {}
