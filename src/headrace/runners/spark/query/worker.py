"""The state of a Python worker of Spark: one ``WorkerJob`` for each run.

Spark uses a Python worker for many tasks. For each run id, the program is unpickled once per
worker, and its functions are opened once.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark import TaskContext

from headrace.common._storage.locations import LOCAL_ONLY, StorageAccess, use_access
from headrace.runners import program_classes
from headrace.runners.captures import Captures
from headrace.runners.program_classes import ClassesByName
from headrace.runners.spark.link import PageChanges
from headrace.runners.spark.query.shipped_dependencies import NO_DEPENDENCIES, ShippedDependencies
from headrace.runners.spark.query.spill import SpilledOverflow
from headrace.runners.spark.query.traffic import Traffic
from headrace.runners.spark.query.wire import Row, encode_errors, pack, pack_singly
from headrace.runners.spark.task_output import forward_output, take_output
from headrace.runners.spark.worker_warnings import write_warnings_to
from headrace.runners.tasks import Tasks
from headrace.runtime.block import Envelope, Kind
from headrace.runtime.chain.chain import Chain
from headrace.runtime.context import TaskInfo
from headrace.runtime.moved_classes import use_moved_classes
from headrace.runtime.program import JobProgram, SourceProgram
from headrace.runtime.queries import queryable_vertices

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ProgramRef:
    """A pickled program for the workers, and what its functions need.

    ``run_id``: the run that it belongs to. ``for_replay``: the program as it is stored with a
    failed call, if failed calls are captured. ``warnings_file``: where workers write their
    warnings, if they run on the driver's machine. ``storage``: how files and checkpoints on remote
    storage are reached.
    """

    run_id: str
    data: bytes
    dependencies: ShippedDependencies = NO_DEPENDENCIES
    for_replay: bytes = b""
    warnings_file: str | None = None
    storage: StorageAccess = LOCAL_ONLY


class WorkerJob(Tasks):
    """One run of a job in this worker."""

    def __init__(self, program: JobProgram, names: ClassesByName, for_replay: bytes = b"") -> None:
        here = TaskInfo(
            subtask=partition_id,
            attempt=_attempt,
            overflow=SpilledOverflow,
            clock_ns=time.perf_counter_ns,
        )
        super().__init__(program, here)
        self.names = names
        folder = program.settings.capture_dir
        self.captures = Captures(folder, lambda: for_replay) if folder else None
        self._dataframe_chains: dict[str, Chain] = {}
        self.queryable = frozenset(each.id for each in queryable_vertices(program).values())
        self.traffic = Traffic(program, self.metrics)

    def dataframe_chain(self, source: SourceProgram) -> Chain:
        """Return the chain after a DataFrame, opened when first used."""
        chain = self._dataframe_chains.get(source.id)
        if chain is None:
            chain = self._dataframe_chains[source.id] = Chain(
                source.chain,
                self.program,
                self.source_task_info(),
                self.metrics,
                merged_marks=False,
            )
        return chain

    def reports(self, sender: int, group: int) -> list[Envelope]:
        """Return what the task's current attempt has for the driver: metrics, and printed lines.

        It is sent with the attempt's records, so it counts only if the records are committed.
        """
        counted, lines = self.metrics.nonzero_values(partition_id()), take_output()
        found = ((Kind.METRICS, counted), (Kind.OUTPUT, lines))
        return [
            Envelope(self.program.sink_stage, group, "", kind, sender, _REPORTS + kind, payload)
            for kind, payload in found
            if payload
        ]

    def changed_pages(self, changes: PageChanges, sender: int) -> Envelope:
        """Return the envelope with changed pages for queries; None if they are too large.

        The messages of all tasks pass through the driver's JVM at once, so each task has a part of
        what the driver keeps.
        """
        most = self.program.settings.queryable_bytes // self.program.partitions
        size_bytes = sum(len(data) for data in changes.values() if data is not None)
        payload = changes if size_bytes <= most else None
        at = self.program.sink_stage, sender, ""
        return Envelope(*at, Kind.PAGES, sender, _REPORTS + Kind.PAGES, payload)

    def close(self) -> None:
        """Close functions, and resources of writers."""
        with contextlib.ExitStack() as stack:
            stack.callback(super().close)
            for chain in self._dataframe_chains.values():
                stack.callback(chain.close)


_REPORTS = 1 << 41
"""The sequence numbers of reports, after those of all records of a task."""

_MAX_RUNS = 16
_GC_THRESHOLD = 50_000
"""Allocations before a garbage collection.

A micro-batch makes many objects without cycles, so collections find nothing: with Python's 700 they
took a fifth of the time at 1,000,000 keys.
"""

_jobs: dict[str, WorkerJob] = {}
"""By run id, the last used one last."""


def worker_job(ref: ProgramRef) -> WorkerJob:
    """Return the job of a run in this worker; close old jobs, and those of its checkpoint."""
    if _jobs and next(reversed(_jobs)) == ref.run_id:
        return _jobs[ref.run_id]
    job = _jobs.pop(ref.run_id, None)
    write_warnings_to(ref.warnings_file)
    ref.dependencies.activate_in_worker()
    use_access(ref.storage)
    if job is None:
        program: JobProgram
        program, names = program_classes.loads(ref.data)
        for run_id in [r for r, other in _jobs.items() if other.program.scope == program.scope]:
            _close(_jobs.pop(run_id))
        if len(_jobs) >= _MAX_RUNS:
            _close(_jobs.pop(next(iter(_jobs))))
        job = WorkerJob(program, names, ref.for_replay)
        gc.set_threshold(_GC_THRESHOLD, *gc.get_threshold()[1:])
    forward_output(ref.warnings_file, job.program.settings.log_levels, partition_id)
    use_moved_classes(job.program.settings.moved_classes)
    program_classes.register_classes(job.names)  # another job may have classes of the same names
    _jobs[ref.run_id] = job
    return job


def _close(job: WorkerJob) -> None:
    """Close a job that is over. Errors are only logged, so that the next job can run."""
    try:
        job.close()
    except Exception:
        _log.exception("a function of the job %s, which is over, failed to close", job.program.name)


def partition_id() -> int:
    """Return the number of the current partition."""
    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _attempt() -> int:
    context = TaskContext.get()
    return context.attemptNumber() if context is not None else 0


def attempt_name() -> str:
    """Return a name that is unique among all attempts of all tasks."""
    context = TaskContext.get()
    number = context.taskAttemptId() if context is not None else 0
    return f"{number}-{os.getpid()}-{os.urandom(4).hex()}"


def batch_id(default: int = 0) -> int:
    """Return Spark's number of the current micro-batch."""
    context = TaskContext.get()
    value = context.getLocalProperty("streaming.sql.batchId") if context is not None else None
    return int(value) if value is not None else default


def wire_rows(job: WorkerJob, sent: Iterator[Envelope | Row], reader: int = 1) -> Iterator[Row]:
    """Return the rows that a task sends: packets of many envelopes; in a batch, of one each.

    Rows among the envelopes are packets that the task forwards. ``reader``: the next stage. A
    worker runs one attempt at a time, which starts here.
    """
    job.metrics.begin_attempt()
    make = pack_singly if job.program.batch else pack
    return encode_errors(make(sent, job.program.partitions, reader))
