"""The data source of a job for Spark, which plans offsets and reads records."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit

from headrace.connector import Budget, Pending
from headrace.errors import HeadraceError
from headrace.runners.clock import RunClock, monotonic_ms, wall_clock_ms
from headrace.runners.sinks import committers_of
from headrace.runners.spark.checkpoint.generations import Origin
from headrace.runners.spark.checkpoint.layout import RETAINED
from headrace.runners.spark.checkpoint.pins import make_pin
from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runners.spark.failures import encodes_errors
from headrace.runners.spark.planned import PlannedBatch, read_reading_ms
from headrace.runners.spark.query.driver_plan import DriverPlan, read_plan
from headrace.runners.spark.query.plan_names import source_labels, sources_of_headrace
from headrace.runners.spark.query.read_counts import records_read, with_counts
from headrace.runners.spark.query.wire import WIRE_DDL, empty_batch, to_arrow
from headrace.runners.spark.query.worker import ProgramRef, batch_id, wire_rows, worker_job
from headrace.runners.spark.query.writing import write_in_place, writes_where_it_reads
from headrace.runners.splits import splits_of
from headrace.runtime.block import Envelope, Kind
from headrace.runtime.coordination.coordinator import Coordinator, States
from headrace.runtime.coordination.offset import Offset
from headrace.runtime.job_time import JobTime
from headrace.runtime.pacing import Pacer
from headrace.runtime.task_size import TaskSizer
from headrace.runtime.tasks.source_task import SourceTaskInput

FORMAT = "headrace"
_UNLIMITED = Budget(2**62, 2**62)
_END_OF_TIME_MS = 2**62
_IDLE_SECONDS = 0.01


@dataclass
class TaskPartition(InputPartition):
    """The input of a source task; pickled, as Spark unpickles it before the program is loaded."""

    data: bytes

    def __init__(self, task: SourceTaskInput) -> None:
        super().__init__(None)
        self.data = pickle.dumps(task, 5)


def _make_coordinator(plan: DriverPlan) -> Coordinator:
    enumerators = {
        source.id: source.source.enumerator(plan.query.checkpoint_folder.of_source(source.id))
        for source in sources_of_headrace(plan.program)
    }
    load = (
        _no_states if plan.program.batch else SplitStates(plan.query.checkpoint_folder.store).load
    )
    return Coordinator(plan.program, enumerators, load)


def _no_states(epoch: int) -> States:
    """Return no states: a batch is a single micro-batch."""
    return {}


def _read_task(
    ref: ProgramRef, partition: InputPartition, writing: int | None
) -> Iterator[pa.RecordBatch]:
    """Yield the packets of a task; ``writing``: the micro-batch, if it also writes to sinks."""
    assert isinstance(partition, TaskPartition)
    job = worker_job(ref)
    task: SourceTaskInput = pickle.loads(partition.data)
    counts: dict[int, int] = {}

    def envelopes() -> Iterator[Envelope]:
        yield from job.source().run(task)
        for report in job.reports(task.sender, 0):
            if report.kind == Kind.METRICS:
                counts.update(records_read(job.program, report.payload))
            yield report

    def sent() -> Iterator[Envelope]:
        if writing is None:
            yield from envelopes()
        else:
            yield write_in_place(job, task.sender, envelopes(), writing)

    yield empty_batch()
    rows = wire_rows(job, sent())
    yield from to_arrow(rows if job.program.batch else with_counts(rows, counts))


class StreamReader(DataSourceStreamReader):
    """Plans beside the driver, and reads in workers. Only what reading needs is pickled."""

    def __init__(self, plan: DriverPlan) -> None:
        self._plan: DriverPlan | None = plan
        self._ref = plan.query.program_ref
        self._lazy_coordinator: Coordinator | None = None
        pace = plan.program.settings.pace
        self._pacer = None if pace is None else Pacer(pace)
        self._origin: Origin | None = plan.query.generation.origin
        self._clock: RunClock | None = RunClock()
        self._writes_in_place = writes_where_it_reads(plan.program)
        self._first_batch = plan.query.generation.first_batch
        self._committed_epoch = 0
        self._planned_file = plan.query.planned_file
        self._reading_ms_file = plan.query.reading_ms_file
        self._sizer = TaskSizer()
        self._plan_ns = 0
        self._labels = source_labels(plan.program)
        self._available: dict[str, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {
            "_plan": None,
            "_ref": self._ref,
            "_lazy_coordinator": None,
            "_pacer": None,
            "_origin": None,
            "_clock": None,
            "_writes_in_place": self._writes_in_place,
            "_first_batch": self._first_batch,
            "_committed_epoch": 0,
            "_planned_file": None,
            "_reading_ms_file": None,
            "_sizer": None,
            "_plan_ns": 0,
            "_labels": {},
            "_available": None,
        }

    @property
    def _coordinator(self) -> Coordinator:
        if self._lazy_coordinator is None:
            assert self._plan is not None, "a reader in a worker does not plan"
            self._lazy_coordinator = _make_coordinator(self._plan)
        return self._lazy_coordinator

    @encodes_errors
    def initialOffset(self) -> dict[str, Any]:
        """Return the start offset of this generation of Spark's checkpoint."""
        if self._origin is not None:
            return dict(self._origin.start)
        return self._coordinator.initial(wall_clock_ms()).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return no limit: the job's own settings limit micro-batches."""
        return ReadAllAvailable()

    @encodes_errors
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Plan the next micro-batch: the offset to read up to.

        Spark calls this after each completed micro-batch, and repeatedly while nothing is new. So
        everything before ``start`` is committed.
        """
        stop = self._plan.query.stop if self._plan is not None else None
        if stop is not None and stop.acknowledged.exists():
            return start
        pacer, budget = self._pacer, None
        offset = Offset.from_json(start)
        if offset.epoch > self._committed_epoch:
            self._committed_epoch = offset.epoch
            self._coordinator.report_committed(offset)
        planned = self._origin.planned if self._origin is not None else None
        if planned is not None and planned["epoch"] == offset.epoch + 1:
            return dict(planned)  # sinks may have committed this micro-batch
        self._pin_if_requested(offset)
        draining = False
        if stop is not None and stop.requested.exists():
            draining = stop.drain_requested.exists() and not self._coordinator.has_ended(offset)
            if not draining:
                self._coordinator.close()  # Spark kills this process
                stop.acknowledged.touch()
                return start
        assert self._clock is not None, "a reader in a worker does not plan"
        began_ns = time.perf_counter_ns()
        moment = self._clock.time(offset)
        if draining:
            return self._coordinator.drained(offset, moment).to_json()
        if pacer is not None:
            settings = self._coordinator.settings
            budget = Budget(
                pacer.next_budget(offset.epoch, moment.monotonic_ms), settings.max_bytes
            )
        end = self._coordinator.latest(offset, moment, budget, self._task_records(offset.epoch))
        if end is offset:
            return start
        if pacer is not None:
            pacer.begin_epoch(end.epoch, moment.monotonic_ms)
        unread = self._coordinator.pending(end)
        self._available = self._available_by_source(end, unread)
        self._plan_ns = time.perf_counter_ns() - began_ns
        return end.with_unread(unread).to_json()

    def _pin_if_requested(self, committed: Offset) -> None:
        """Pin the last micro-batch, if the driver has requested it and one is committed."""
        plan = self._plan
        pins = plan.query.pins if plan is not None else None
        name = pins.requested_name() if pins is not None else None
        if plan is None or pins is None or name is None:
            return
        generation = plan.query.generation.number
        try:
            # A restore point stays with its sinks, which keep their pending data themselves.
            for_savepoint = not name.startswith(f"{RETAINED}/")
            committers = committers_of(plan.program) if for_savepoint else {}
            folder = plan.query.checkpoint_folder
            pin = make_pin(folder, name, generation, committed.epoch, committers)
        except (HeadraceError, OSError) as error:
            pins.answer(name, f"{type(error).__name__}: {error}")
            return
        if pin is not None:
            pins.answer(name, "")

    def _task_records(self, epoch: int) -> int:
        """Return the number of records of a source task after ``epoch``, which is committed."""
        if self._reading_ms_file is not None:
            reading_ms = read_reading_ms(self._reading_ms_file)
            if reading_ms is not None:
                self._sizer.set_working_time(epoch, reading_ms)
        return self._sizer.task_records

    def _available_by_source(self, offset: Offset, unread: Mapping[str, Pending]) -> dict[str, Any]:
        """Return the number of splits at an offset, and of the records after it, if known."""
        found = {}
        for source_id, label in self._labels.items():
            splits = len(offset.source(source_id).positions)
            left = unread[source_id].records if source_id in unread else None
            found[label] = {"splits": splits} | ({} if left is None else {"pendingRecords": left})
        return found

    @encodes_errors
    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Return what each source has, by name, for the progress of Spark's query.

        Spark calls this after each ``latestOffset``.
        """
        return self._available

    @encodes_errors
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the source tasks between two offsets."""
        first, last = Offset.from_json(start), Offset.from_json(end)
        if first.epoch == last.epoch:
            return []  # the first micro-batch of a generation, without new records
        began_ns = time.perf_counter_ns()
        tasks = self._coordinator.reporting_plan(first, last)
        record_count = sum(task.records for task in tasks)
        self._sizer.set_record_count(last.epoch, record_count)
        if self._pacer is not None:
            self._pacer.set_record_count(last.epoch, record_count)
        if self._planned_file is not None:
            plan_ns = self._plan_ns + time.perf_counter_ns() - began_ns
            splits = splits_of(last, self._coordinator.pending_by_split(last))
            PlannedBatch(plan_ns / 1e6, splits, last.epoch).write(self._planned_file)
        return [TaskPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the input of one source task."""
        batch = self._first_batch + batch_id() if self._writes_in_place else None
        return _read_task(self._ref, partition, batch)

    @encodes_errors
    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: ``latestOffset`` has noticed the commit before."""


class BatchReader(DataSourceReader):
    """Plans and reads the whole input."""

    def __init__(self, plan: DriverPlan) -> None:
        self._plan: DriverPlan | None = plan
        self._ref = plan.query.program_ref
        self._writing = 0 if writes_where_it_reads(plan.program) else None

    def __getstate__(self) -> dict[str, Any]:
        return {"_plan": None, "_ref": self._ref, "_writing": self._writing}

    @encodes_errors
    def partitions(self) -> Sequence[InputPartition]:
        """Return the source tasks that read the whole input."""
        assert self._plan is not None
        coordinator = _make_coordinator(self._plan)
        now_ms, began_ms = wall_clock_ms(), monotonic_ms()
        start = end = coordinator.initial(now_ms)
        while not coordinator.has_ended(end):
            # Time still advances, as sources use it for timeouts of their servers.
            at = _END_OF_TIME_MS + monotonic_ms() - began_ms
            later = coordinator.latest(end, JobTime(at, at), _UNLIMITED)
            if later is end:
                time.sleep(_IDLE_SECONDS)
            else:
                end = later.merged_with_earlier(end)
        # Spark reads a source without partitions too, so there is at least one task.
        tasks = coordinator.reporting_plan(start, replace(end, epoch=1, now_ms=now_ms))
        tasks = [replace(task, ticks=False) for task in tasks]
        coordinator.close()
        return [TaskPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the input of one source task."""
        return _read_task(self._ref, partition, self._writing)


class HeadraceDataSource(DataSource):
    """Spark's data source for all sources of a job. ``plan``: the path of a ``PlanFolder``."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return FORMAT

    def schema(self) -> str:
        """Return the columns of packets."""
        return WIRE_DDL

    def streamReader(self, schema: Any) -> StreamReader:
        """Return the reader for a streaming query."""
        return StreamReader(read_plan(self.options["plan"]))

    def reader(self, schema: Any) -> BatchReader:
        """Return the reader for a batch."""
        return BatchReader(read_plan(self.options["plan"]))
