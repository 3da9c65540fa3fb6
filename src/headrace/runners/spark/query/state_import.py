"""Turns the keyed state of a savepoint into records of Spark's state stores, in Spark's tasks.

The state is shuffled to the buckets of the new program, whose key groups and partitions may be
others. A task writes one bucket, and has the pages of one key group in memory at a time.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import groupby
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.common._storage.locations import hadoop_url
from headrace.common._storage.pickles import only_data
from headrace.errors import CheckpointError
from headrace.runners.spark.checkpoint.restored import RestoredFile, RestoredWriter
from headrace.runners.spark.failures import worker_errors
from headrace.runners.spark.query.wire import bucket_keys, encode_errors
from headrace.runners.spark.query.worker import ProgramRef, attempt_name, partition_id, worker_job
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.savepoint.folder import StoredSavepoint
from headrace.runtime.savepoint.manifest import OperatorEntry
from headrace.runtime.savepoint.read import import_backend
from headrace.runtime.savepoint.records import PICKLE, StateRecord, TimerRecord, decode_key
from headrace.runtime.savepoint.savepoint import part_name
from headrace.runtime.state.pages.backend import HEADER, PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages

_STATES, _TIMERS = 0, 1
_ROW_DDL = (
    "operator string, record int, state string, kind string, key_group int, key binary,"
    " namespace binary, position long, item binary, stamp_ms long, value binary"
)


class _Row(NamedTuple):
    """A state or a timer of a savepoint."""

    operator: str
    record: int
    state: str
    kind: str
    key_group: int
    key: bytes
    namespace: bytes | None
    position: int
    item: bytes | None
    stamp_ms: int | None
    value: bytes | None


_REPORT = "report binary"


@dataclass(frozen=True)
class OperatorImport:
    """How the state of a keyed operator is imported.

    ``header``: that of each key group, pickled, as it may have values of the user's classes.
    """

    vertex_id: str
    stage: int
    groups: int
    header: bytes
    entry: OperatorEntry
    page_bytes: int


@dataclass
class ImportReport:
    """The files that tasks have written below the folder of restored state, and their records.

    ``counts``: the numbers of states and timers that were imported, by operator.
    """

    files: list[RestoredFile] = field(default_factory=list)
    counts: dict[tuple[str, int], int] = field(default_factory=dict)

    def add(self, other: ImportReport) -> None:
        """Add the report of another task."""
        self.files += other.files
        for key, count in other.counts.items():
            self.counts[key] = self.counts.get(key, 0) + count


def import_state(
    spark: SparkSession,
    ref: ProgramRef,
    savepoint: StoredSavepoint,
    operators: Sequence[OperatorImport],
    partitions: int,
    target: str,
) -> ImportReport:
    """Write the state of keyed operators as files of restored state in the folder ``target``.

    Raises:
        CheckpointError: the savepoint has other numbers of records than its manifest says.
    """
    whole = ImportReport()
    if not operators:
        return whole
    frames = [
        frame for operator in operators for frame in _frames_of(spark, ref, savepoint, operator)
    ]
    empty = spark.createDataFrame([], _ROW_DDL)
    rows = reduce(DataFrame.unionByName, frames, empty)
    keys = F.array(*map(F.lit, bucket_keys(partitions)))
    bucket = F.element_at(keys, F.col("key_group") % partitions + 1).cast("int")
    is_timer = F.col("record") == _TIMERS
    rows = (
        rows.withColumn("bucket", bucket)
        .repartition(partitions, "bucket")
        .sortWithinPartitions(
            "operator",
            "key_group",
            "record",
            F.when(is_timer, F.col("stamp_ms")),
            F.when(is_timer, F.col("position")),
            "key",
            "namespace",
            "state",
            "position",
        )
        .select(*_Row._fields)
    )
    task = BucketImport(ref, operators, partitions, target)
    with worker_errors():
        for row in rows.mapInArrow(task, _REPORT).collect():
            whole.add(pickle.loads(row[0]))
    _check_counts(savepoint, operators, whole)
    return whole


def _check_counts(
    savepoint: StoredSavepoint, operators: Sequence[OperatorImport], report: ImportReport
) -> None:
    parts = savepoint.manifest.parts
    for operator in operators:
        for table, record in (("states", _STATES), ("timers", _TIMERS)):
            stored = sum(
                parts[name].count
                for group in range(operator.entry.key_groups)
                if (name := part_name(table, operator.vertex_id, group)) in parts
            )
            found = report.counts.get((operator.vertex_id, record), 0)
            if found != stored:
                raise CheckpointError(
                    f"the savepoint has {found} {table} of an operator, not the {stored} that were"
                    " written",
                    where={"savepoint": savepoint.folder, "operator": operator.entry.name},
                    hint="this savepoint is damaged; restore from another savepoint",
                )


def _frames_of(
    spark: SparkSession, ref: ProgramRef, savepoint: StoredSavepoint, operator: OperatorImport
) -> Iterator[DataFrame]:
    """Yield the operator's records, states and timers, with key groups of the new program."""
    for table, record in (("states", _STATES), ("timers", _TIMERS)):
        paths = savepoint.files_of(table, operator.vertex_id)
        if not paths:
            continue
        urls = [hadoop_url(f"{savepoint.folder}/{path}") for path in paths]
        reader = spark.read.option("parquet.page.verify-checksum.enabled", "true")
        rows = reader.parquet(*urls)
        # Broadcast state is imported elsewhere.
        rows = rows.where(F.col("key_group") >= 0)
        columns = {
            "operator": F.lit(operator.vertex_id),
            "record": F.lit(record),
            "key_group": F.col("key_group").cast("int"),
        }
        if record == _TIMERS:
            columns |= {
                "state": F.col("clock"),
                "kind": F.lit(""),
                "position": F.col("order"),
                "item": F.lit(None).cast("binary"),
                "stamp_ms": F.col("time_ms"),
                "value": F.lit(None).cast("binary"),
            }
        rows = rows.select(*(columns.get(name, F.col(name)).alias(name) for name in _Row._fields))
        if operator.groups != operator.entry.key_groups:
            rows = rows.mapInArrow(_Regroup(ref, operator.groups), _ROW_DDL)
        yield rows


class _Regroup:
    """Assigns records to key groups of another number."""

    def __init__(self, ref: ProgramRef, groups: int) -> None:
        self._ref, self._groups = ref, groups

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches with new key groups."""
        job = worker_job(self._ref)  # its classes are needed to read keys
        only = not job.program.settings.allow_pickles
        known: dict[bytes, int] = {}
        for batch in batches:
            known.clear()
            keys = batch.column("key").to_pylist()
            with only_data(only):
                for key in keys:
                    if key not in known:
                        known[key] = key_group_of(decode_key(key), self._groups)
            groups = pa.array([known[key] for key in keys], pa.int32())
            at = batch.schema.get_field_index("key_group")
            yield batch.set_column(at, "key_group", groups)


class BucketImport:
    """The task: writes the restored state of one bucket."""

    def __init__(
        self,
        ref: ProgramRef,
        operators: Sequence[OperatorImport],
        partitions: int,
        target: str,
    ) -> None:
        self._ref, self._partitions, self._target = ref, partitions, target
        self._operators = operators

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the records of a partition; yield a report."""
        yield from encode_errors(self._run(batches))

    def _run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        job = worker_job(self._ref)  # its classes are needed to read values
        index = partition_id()
        writer, report = RestoredWriter(self._target, attempt_name()), ImportReport()
        try:
            with only_data(not job.program.settings.allow_pickles):
                self._import(index, _rows_of(batches), writer, report)
        except BaseException:
            writer.abort()
            raise
        report.files += writer.close()
        yield pa.record_batch([pa.array([pickle.dumps(report, 5)], pa.binary())], names=["report"])

    def _import(
        self, index: int, rows: Iterator[_Row], writer: RestoredWriter, report: ImportReport
    ) -> None:
        """Import the rows, which are sorted by operator and key group.

        A key group without rows has a header all the same.
        """
        bucket = bucket_keys(self._partitions)[index]
        headers: dict[int, dict[str, bytes]] = {}
        groups = groupby(rows, key=lambda row: (row.operator, row.key_group))
        at, of_group = next(groups, (None, iter(())))
        for operator in sorted(self._operators, key=lambda operator: operator.vertex_id):
            for group in range(index, operator.groups, self._partitions):
                found: Iterator[_Row] = iter(())
                here = at == (operator.vertex_id, group)
                if here:
                    found = of_group
                pages = _import_group(operator, found, report)
                if here:
                    at, of_group = next(groups, (None, iter(())))
                prefix = f"{operator.vertex_id}/{group}/"
                for name, data in pages.items():
                    if name == HEADER:
                        headers.setdefault(operator.stage, {})[prefix] = data
                    else:
                        writer.add(bucket, operator.stage, prefix + name, data)
        if at is not None:
            raise CheckpointError(
                "the savepoint has state in a key group that the program does not have",
                where={"operator": at[0], "key group": str(at[1])},
                hint="this savepoint is damaged; restore from another savepoint",
            )
        for stage, of_stage in headers.items():
            writer.add(bucket, stage, HEADER, pickle.dumps(of_stage, 5))


def _import_group(
    operator: OperatorImport, rows: Iterable[_Row], report: ImportReport
) -> Mapping[str, bytes]:
    """Return the records of Spark's state for one key group."""
    pages = MemoryPages()
    backend = PagedBackend(pages, operator.groups, operator.page_bytes)
    backend.header.update(pickle.loads(operator.header))
    records = _records_of(operator.vertex_id, rows, report)
    import_backend(records, backend, operator.entry.keyed_states)
    return pages.records


def _records_of(
    vertex_id: str, rows: Iterable[_Row], report: ImportReport
) -> Iterator[StateRecord | TimerRecord]:
    for row in rows:
        key = vertex_id, row.record
        report.counts[key] = report.counts.get(key, 0) + 1
        if row.record == _TIMERS:
            assert row.stamp_ms is not None, "a timer without a time"
            yield TimerRecord(
                vertex_id,
                row.state,
                row.key_group,
                row.stamp_ms,
                row.position,
                row.key,
                row.namespace,
            )
        else:
            assert row.value is not None, "a state without a value"
            yield StateRecord(
                vertex_id,
                row.state,
                row.kind,
                PICKLE,
                row.key_group,
                row.key,
                row.namespace,
                row.position,
                row.item,
                row.stamp_ms,
                row.value,
            )


def _rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[_Row]:
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in _Row._fields]
        yield from map(_Row._make, zip(*columns, strict=True))
