"""Writes the state of a committed micro-batch to a savepoint, by bucket, in Spark's tasks.

A task reads one bucket of one stage, sorted by operator and key group, and has the pages of one key
group in memory at a time.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.errors import CheckpointError
from headrace.runners.spark.checkpoint.generations import Stages
from headrace.runners.spark.query.moved_state import read_stage
from headrace.runners.spark.query.wire import bucket_keys, encode_errors
from headrace.runners.spark.query.worker import ProgramRef, attempt_name, worker_job
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.savepoint.folder import RecordFile
from headrace.runtime.savepoint.job_state import GroupSummary
from headrace.runtime.savepoint.manifest import StoredFile
from headrace.runtime.savepoint.savepoint import part_name
from headrace.runtime.savepoint.write import export_states, export_timers
from headrace.runtime.state.pages.backend import HEADER, PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages

_REPORT = "report binary"
_OPERATOR_AND_GROUP = r"^(.*)/([^/]*)/[^/]*$"


class StatePage(NamedTuple):
    """A record of Spark's state; ``operator`` and ``group`` are from its name."""

    bucket: int
    operator: str
    group: int
    name: str
    data: bytes


@dataclass
class ExportReport:
    """What tasks have written: files by path, records by part, and summaries by key group.

    ``broadcast``: the operators of which a task has seen broadcast state.
    """

    files: dict[str, StoredFile] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    groups: dict[tuple[str, int], GroupSummary] = field(default_factory=dict)
    broadcast: set[str] = field(default_factory=set)

    def add(self, other: ExportReport) -> None:
        """Add the report of another task."""
        self.files |= other.files
        self.counts |= other.counts
        self.groups |= other.groups
        self.broadcast |= other.broadcast


def export_state(
    spark: SparkSession,
    ref: ProgramRef,
    state_folder: str,
    stages: Stages,
    batch: int,
    groups: Mapping[str, int],
    partitions: int,
    target: str,
    convert_at_ms: int | None = None,
) -> ExportReport:
    """Write the state after a micro-batch (Spark's number) to a savepoint's folder.

    ``groups``: by operator, the number of its key groups; other operators are left out.
    ``partitions``: the number of buckets. Each has a copy of broadcast state; one writes it.
    Half of the cores write, so that the job's own tasks do not wait. ``convert_at_ms``:
    values of an earlier program are converted, which opens the job's operators; the time of the
    micro-batch. None: they are not.

    Raises:
        CheckpointError: a copy of broadcast state is missing.
    """
    whole = ExportReport()
    writers = max(spark.sparkContext.defaultParallelism // 2, 1)
    for stage in range(1, len(stages) + 1):
        rows = sorted_pages(read_stage(spark, state_folder, stages, batch, stage))
        wanted = {id_: groups[id_] for id_ in stages[stage - 1] if id_ in groups}
        task = BucketExport(ref, target, wanted, bucket_keys(partitions)[0], convert_at_ms)
        for row in rows.mapInArrow(task, _REPORT).coalesce(writers).collect():
            whole.add(pickle.loads(row[0]))
    lost = [id_ for id_ in whole.broadcast if (id_, ALL_GROUPS) not in whole.groups]
    if lost:
        raise CheckpointError(
            "a copy of the broadcast state is missing",
            where={"checkpoint": state_folder, "operators": ", ".join(sorted(lost))},
            hint="the checkpoint is damaged",
        )
    return whole


def sorted_pages(rows: DataFrame) -> DataFrame:
    """Return the rows of each partition by operator and key group; the header is first."""
    part = F.regexp_extract
    return rows.select(
        "bucket",
        part("name", _OPERATOR_AND_GROUP, 1).alias("operator"),
        part("name", _OPERATOR_AND_GROUP, 2).try_cast("int").alias("group"),
        "name",
        "data",
    ).sortWithinPartitions("operator", "group", "name")


class BucketExport:
    """The task.

    ``groups``: by operator, the number of its key groups. ``broadcast_bucket``: the bucket that
    writes broadcast state.
    """

    def __init__(
        self,
        ref: ProgramRef,
        target: str,
        groups: Mapping[str, int],
        broadcast_bucket: int,
        convert_at_ms: int | None,
    ) -> None:
        self._ref, self._target, self._groups = ref, target, groups
        self._broadcast_bucket, self._convert_at_ms = broadcast_bucket, convert_at_ms

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows of a partition; yield a report."""
        yield from encode_errors(self._run(batches))

    def _run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        worker_job(self._ref)  # its classes are needed to read values
        report = self._export(pages_of(batches))
        yield pa.record_batch([pa.array([pickle.dumps(report, 5)], pa.binary())], names=["report"])

    def _export(self, pages: Iterator[StatePage]) -> ExportReport:
        report = ExportReport()
        headers: dict[tuple[str, int], bytes] = {}
        for operator, of_operator in groupby(pages, key=attrgetter("operator")):
            if not operator:  # the record of all headers, which comes first
                for page in of_operator:
                    headers = self._headers_of(page, report)
            elif operator in self._groups:
                self._export_operator(operator, headers, of_operator, report)
        # Key groups without pages may have a header, with their time.
        for (operator, group), header in headers.items():
            if (operator, group) not in report.groups:
                self._summarize(operator, group, {HEADER: header}, report)
        return report

    def _headers_of(self, page: StatePage, report: ExportReport) -> dict[tuple[str, int], bytes]:
        """Return the headers that this bucket exports, from the record of all."""
        stored: Mapping[str, bytes] = pickle.loads(page.data)
        found = {}
        for prefix, header in stored.items():
            operator, _, group = prefix.removesuffix("/").rpartition("/")
            if operator not in self._groups:
                continue
            if int(group) == ALL_GROUPS:
                report.broadcast.add(operator)
                if page.bucket != self._broadcast_bucket:
                    continue
            found[operator, int(group)] = header
        return found

    def _export_operator(
        self,
        operator: str,
        headers: Mapping[tuple[str, int], bytes],
        pages: Iterable[StatePage],
        report: ExportReport,
    ) -> None:
        name = attempt_name()
        states = RecordFile(self._target, name, "states", operator)
        timers = RecordFile(self._target, name, "timers", operator)
        try:
            for group, found in groupby(pages, key=attrgetter("group")):
                records = {page.name.rpartition("/")[2]: page.data for page in found}
                header = headers.get((operator, group))
                if header is None:
                    continue  # another bucket exports this broadcast state
                backend = self._summarize(operator, group, {**records, HEADER: header}, report)
                counts = {
                    "states": states.write(export_states(operator, backend, group)),
                    "timers": timers.write(export_timers(operator, backend, group)),
                }
                for table, count in counts.items():
                    if count:
                        report.counts[part_name(table, operator, group)] = count
        except BaseException:
            states.abort()
            timers.abort()
            raise
        report.files |= states.close() | timers.close()

    def _summarize(
        self, operator: str, group: int, records: Mapping[str, bytes], report: ExportReport
    ) -> PagedBackend:
        """Return the backend of a key group, whose summary is added to the report."""
        spread = self._groups[operator] if group != ALL_GROUPS else 1
        backend = PagedBackend(MemoryPages(records), spread)
        if self._convert_at_ms is not None:
            job = worker_job(self._ref)
            vertex = job.program.vertex(operator)
            job.convert_state(vertex, group, backend, self._convert_at_ms)
        report.groups[operator, group] = GroupSummary.of(backend)
        return backend


def pages_of(batches: Iterable[pa.RecordBatch]) -> Iterator[StatePage]:
    """Yield the rows of ``sorted_pages``."""
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in StatePage._fields]
        yield from map(StatePage._make, zip(*columns, strict=True))
