"""A job on Spark: one streaming query, or one batch write."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, GroupedData, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus
from headrace.errors import CheckpointError, HeadraceError, JobError, PlanError, UnsupportedError
from headrace.metrics.merging import MetricId, Part, figures, merged
from headrace.runners.delivery import Delivery
from headrace.runners.restarts import Restarts
from headrace.runners.sinks import committer_of, served_by_committer
from headrace.runners.spark.checkpoint.checkpoint import Checkpoint, commit_of, own_jvm_pid
from headrace.runners.spark.checkpoint.damage import causes_of, damage_in
from headrace.runners.spark.checkpoint.progress import is_committed
from headrace.runners.spark.failures import failure_in
from headrace.runners.spark.link import BatchReport, DriverLink
from headrace.runners.spark.query.dataframes import (
    dataframe_sinks,
    has_dataframes,
    with_dataframes,
    write_dataframes,
)
from headrace.runners.spark.query.keyed_stage import BatchStage, StageProcessor
from headrace.runners.spark.query.moved_state import Claims, claims, pages
from headrace.runners.spark.query.source import FORMAT, DriverPlan, HeadraceDataSource
from headrace.runners.spark.query.wire import WIRE_DDL
from headrace.runners.spark.query.worker import ProgramRef
from headrace.runners.spark.reasons import hint_for, story_of
from headrace.runners.spark.shipping.modules import dumps, folders_of_workers
from headrace.runners.spark.startup.session import activate, settings_of_query
from headrace.runners.spark.startup.temporary_files import keep_log, log_path
from headrace.runtime.failure import at_sink, failure_of
from headrace.runtime.program import JobProgram
from headrace.tracebacks import brief

_POLL_SECONDS = 0.1
_NO_BATCH = -1

OnReport = Callable[[BatchReport], None]


class SparkJob:
    """One run of a program on Spark, started when made; a ``JobHandle``."""

    def __init__(
        self,
        spark: SparkSession,
        program: JobProgram,
        checkpoint: Checkpoint,
        delivery: Delivery,
        bounded: bool,
        restarts: Restarts,
        on_report: OnReport | None = None,
    ) -> None:
        self.job_id = JobID(program.run_id)
        self.delivery = delivery
        self.metrics: dict[MetricId, Part] = {}
        self.last_report: BatchReport | None = None
        self._spark, self._program, self._checkpoint = spark, program, checkpoint
        self._bounded, self._restarts, self._on_report = bounded, restarts, on_report
        self._status = JobStatus.CREATED
        self._failure: BaseException | None = None
        self._trace: TracebackType | None = None
        self._broken: BaseException | None = None
        self._cancelled = threading.Event()
        self._query: StreamingQuery | None = None
        self._started = time.monotonic()
        self._net_runtime_ms = 0
        self._link = DriverLink(self._take)
        self._folder = tempfile.TemporaryDirectory(prefix="headrace-plan-")
        self._attempt = 0
        self._folders = folders_of_workers(spark)
        staying = [source.source for source in program.sources]
        data = dumps(program.for_workers(), self._folders, used_by=staying)
        self._ref = ProgramRef(program.run_id, data)
        self._thread = threading.Thread(target=self._run, name="headrace-job", daemon=True)
        self._thread.start()

    # What a JobHandle answers.

    def status(self) -> JobStatus:
        """Where the job stands."""
        return self._status

    def cancel(self) -> None:
        """Stop the job and wait for its end."""
        self._cancelled.set()  # the run's own thread looks at it, and stops the query
        if self._program.batch:
            # In a thread of its own: a Ctrl-C that breaks off a call into the JVM is told by py4j.
            stop = self._spark.sparkContext.cancelJobGroup
            threading.Thread(target=stop, args=(str(self.job_id),), daemon=True).start()
        self._thread.join()

    def wait(self) -> JobExecutionResult:
        """Wait for the job's end.

        Raises:
            JobError: it failed, and not in the user's code; else the user's own exception.
        """
        self._thread.join()
        if self._failure is not None:
            raise self._failure.with_traceback(self._trace)
        return JobExecutionResult(self.job_id, self._net_runtime_ms, self.accumulators())

    def accumulators(self) -> Mapping[str, Any]:
        """The job's counters so far, the watermark (ms) and the number of micro-batches."""
        found: dict[str, Any] = {**figures(self.metrics)}
        report = self.last_report
        if report is not None:
            found["microBatches"] = report.batch_id + 1
            if report.watermark is not None:
                found["currentWatermark"] = report.watermark
        return found

    # The run.

    def _take(self, report: BatchReport) -> None:
        self.metrics = merged(self.metrics, report.metrics)
        for sink_id, parts in sorted(report.delivered.items()):
            sink = self._program.sink(sink_id)
            for group, values in parts:
                with at_sink(sink, "delivering"):
                    self.delivery.deliver(sink, group, values)
        self.last_report = report
        if self._on_report is not None:
            self._on_report(report)

    def _run(self) -> None:
        try:
            activate(self._spark)
            self._run_until_it_ends()
            if self._link.failure is not None:
                raise self._link.failure
            self._finish_sinks()
            self._status = JobStatus.CANCELED if self._cancelled.is_set() else JobStatus.FINISHED
        except BaseException as error:
            if self._cancelled.is_set():
                self._status = JobStatus.CANCELED
            else:
                keep_log()
                self._failure = brief(failure_of(error))
                self._trace = self._failure.__traceback__
                self._status = JobStatus.FAILED
        finally:
            self._net_runtime_ms = round((time.monotonic() - self._started) * 1000)
            self._link.close()
            self._folder.cleanup()
            self._checkpoint.close()
            self.delivery.close()

    def _run_until_it_ends(self) -> None:
        """Run, and again from the checkpoint after failures that the restart strategy bears."""
        while True:
            self._status = JobStatus.RUNNING
            try:
                self._run_once()
                return
            except (PlanError, CheckpointError, UnsupportedError):
                raise  # it would fail again
            except Exception as error:
                delay_ms = self._restarts.delay_ms(time.time_ns() // 1_000_000)
                lost = self._link.failure is not None  # what was delivered cannot be again
                if delay_ms is None or lost or self._cancelled.is_set():
                    raise
                self._attempt += 1
                print(
                    f"headrace: {self._program.name!r} failed and begins again in"
                    f" {delay_ms / 1000:g} s (restart {self._attempt}):"
                    f" {type(error).__name__}: {error}",
                    file=sys.stderr,
                )
                self._status = JobStatus.RESTARTING
                if self._cancelled.wait(delay_ms / 1000):
                    return
                # Workers know a run by its id: this one shall not meet operators of the last.
                self._ref = ProgramRef(f"{self._program.run_id}-{self._attempt}", self._ref.data)
                self._checkpoint.give_to(self._ref.run_id)

    def _run_once(self) -> None:
        failure = self._broken = None
        try:
            if self._program.batch:
                self._run_batch()
            else:
                self._run_stream()
        except (PySparkException, Py4JError) as error:
            failure = self._damage(error) or _explained(self._broken or error)
        if failure is not None:
            raise failure  # here, so that Spark's is not told as its context

    def _damage(self, error: BaseException) -> CheckpointError | None:
        """What is damaged in Spark's part of the checkpoint, if that is why the query failed."""
        failed = self._broken or error
        if self._program.batch or failure_in(str(failed)) is not None:
            return None
        checkpoint = self._checkpoint
        return damage_in(causes_of(failed), checkpoint.directory, checkpoint.spark)

    def _finish_sinks(self) -> None:
        if self._cancelled.is_set() or not self._bounded:
            return
        with commit_of(self._checkpoint.place, self._checkpoint.owner, _NO_BATCH):
            for sink in self._program.sinks:
                if served_by_committer(sink):
                    with at_sink(sink, "publishing what was held back"):
                        committer_of(self._program, sink).finish()

    def _plan_path(self) -> str:
        plan = DriverPlan(
            self._program,
            self._ref,
            self._checkpoint.place,
            self._checkpoint.owner,
            self._link.address,
            self._link.token,
            self._checkpoint.generation,
        )
        path = Path(self._folder.name) / "plan"
        path.write_bytes(dumps(plan, self._folders))
        return str(path)

    def _run_stream(self) -> None:
        checkpoint = self._checkpoint
        self._spark.dataSource.register(HeadraceDataSource)
        checkpoint.claim(own_jvm_pid())
        checkpoint.settle()
        if self._bounded and checkpoint.finished:
            return
        if checkpoint.generation.origin is not None:
            # By a query of its own: the job's shall not need the folder that the state comes from.
            # Our source plans one micro-batch for this trigger, with or without records (4.3.0).
            self._run_query({"availableNow": True})
            if self._cancelled.is_set() or self._link.failure is not None:
                return
            checkpoint.settle()
            if self._bounded and checkpoint.finished:
                return
        self._run_query({"processingTime": "0 seconds"})

    def _run_query(self, trigger: dict[str, Any]) -> None:
        spark, checkpoint, program = self._spark, self._checkpoint, self._program
        path = self._plan_path()
        with settings_of_query(
            spark, program.partitions, checkpoint.spark, dataframes=has_dataframes(program)
        ):
            frame = spark.readStream.format(FORMAT).option("plan", path).load()
            frame = with_dataframes(frame, program, self._ref)
            for number in range(1, len(program.stages) + 1):
                claimed, moved = self._moved(number)
                frame = frame.groupBy("bucket").transformWithStateInPandas(
                    statefulProcessor=StageProcessor(self._ref, number, claimed),
                    outputStructType=WIRE_DDL,
                    outputMode="Append",
                    timeMode="None",
                    initialState=moved,
                )
            writer = (
                frame.writeStream.option("checkpointLocation", checkpoint.spark)
                .outputMode("append")
                .queryName(f"{program.name}-{program.run_id[:8]}-{self._attempt}")
            )
            if dataframe_sinks(program):
                writer = writer.foreachBatch(
                    lambda rows, batch: self._write_batch(rows, path, batch)
                )
            else:
                writer = writer.format(FORMAT).option("plan", path)
            self._query = query = writer.trigger(**trigger).start()
        while query.isActive:
            if self._cancelled.is_set() or self._link.failure is not None or self._is_done():
                query.stop()
            self._cancelled.wait(_POLL_SECONDS)
        query.awaitTermination()

    def _moved(self, stage: int) -> tuple[Claims, GroupedData | None]:
        """What a stage takes over of an older generation's state."""
        origin = self._checkpoint.generation.origin
        claimed = {} if origin is None else claims(origin, self._program.stages[stage - 1])
        if origin is None or not claimed:
            return {}, None
        folder = self._checkpoint.place.spark(origin.number)
        return claimed, pages(self._spark, folder, origin, claimed)

    def _is_done(self) -> bool:
        """True when Spark has committed the micro-batch at the end of every source.

        Its own trigger for bounded input (availableNow) ends when a source has nothing at the
        moment, which is not the end of a source with a rate.
        """
        report = self.last_report
        if not self._bounded or report is None or not report.ended:
            return False
        first_batch = self._checkpoint.generation.first_batch
        return is_committed(self._checkpoint.spark, report.batch_id - first_batch)

    def _write_batch(self, frame: DataFrame, path: str, batch: int) -> None:
        """Write one micro-batch (Spark's number), called by the JVM; what went wrong is kept here.

        Spark takes the text of what is raised apart with a regular expression that overflows its
        stack on a text as long as a Java stack trace (4.3.0).

        Raises:
            JobError: in a few words.
        """
        try:
            self._write(frame, path, batch)
        except BaseException as error:
            self._broken = error
            raise JobError(f"micro-batch {batch} was not written") from None

    def _write(self, frame: DataFrame, path: str, batch: int) -> None:
        """Write one micro-batch (Spark's number), or the batch, to every sink."""
        batch += self._checkpoint.generation.first_batch
        own = bool(dataframe_sinks(self._program))
        if own:
            frame = frame.persist()
        try:
            if own:
                self._checkpoint.begin()
            write_dataframes(frame, self._program, self._ref, batch)
            writer = frame.write.format(FORMAT).option("plan", path)
            writer.option("batch", str(batch)).mode("append").save()
        finally:
            if own:
                frame.unpersist()

    def _run_batch(self) -> None:
        spark = self._spark
        spark.dataSource.register(HeadraceDataSource)
        path = self._plan_path()
        partitions = self._program.partitions
        spark.sparkContext.setJobGroup(str(self.job_id), self._program.name, True)
        with settings_of_query(spark, partitions, None, dataframes=has_dataframes(self._program)):
            frame: DataFrame = spark.read.format(FORMAT).option("plan", path).load()
            frame = with_dataframes(frame, self._program, self._ref)
            for number in range(1, len(self._program.stages) + 1):
                frame = (
                    frame.repartition(partitions, "bucket")
                    .sortWithinPartitions("key_group", "sender", "seq")
                    .mapInArrow(BatchStage(self._ref, number), WIRE_DDL)
                )
            self._write(frame, path, 0)


def _explained(error: BaseException) -> BaseException:
    """The user's exception inside Spark's, or a ``JobError`` that says where the log is."""
    if isinstance(error, HeadraceError):
        return error
    text = str(error)
    # There is none where the session was the user's.
    log = {"log": str(log_path())} if log_path().exists() else {}
    found = failure_in(text)
    if found is None:
        story = story_of(text, type(error).__name__)
        return JobError(story.message, where={**story.where, **log}, hint=story.hint)
    lines = [f"hint:     {hint_for(str(found))}"] if isinstance(found, ImportError) else []
    lines += [f"{name}:      {path}" for name, path in log.items()]
    if lines and not isinstance(found, HeadraceError):
        found.add_note("\n".join(lines))
    return found
