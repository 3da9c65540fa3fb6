"""The state in a checkpoint that no job runs on, or in a restore point, as records.

Spark's state stores are read by its state data source, and nothing is written.
"""

from __future__ import annotations

import pickle
import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import groupby
from operator import attrgetter, or_
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from headrace.common._storage.pickles import stand_ins
from headrace.errors import CheckpointError, CheckpointLockedError
from headrace.runners.spark.checkpoint import progress
from headrace.runners.spark.checkpoint.generations import Stages
from headrace.runners.spark.checkpoint.layout import (
    JOB,
    PINS,
    RETAINED,
    CheckpointFolder,
    is_restored,
)
from headrace.runners.spark.checkpoint.listing import is_running
from headrace.runners.spark.checkpoint.metadata import CheckpointMetadata
from headrace.runners.spark.checkpoint.pins import read_pin
from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runners.spark.query.moved_state import read_stage
from headrace.runners.spark.query.state_export import StatePage, pages_of, sorted_pages
from headrace.runners.spark.query.stored import group_of, vertex_of
from headrace.runners.spark.query.wire import bucket_keys
from headrace.runners.spark.startup.session import settings_of_query
from headrace.runners.spark.state_tables import Records, state_session
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.layout import OPERATOR, Layout, StatefulPart
from headrace.runtime.savepoint.arrow import schema_of, to_batches
from headrace.runtime.savepoint.job_state import (
    GroupSummary,
    check_one_program,
    merged_states,
)
from headrace.runtime.savepoint.manifest import OperatorEntry
from headrace.runtime.savepoint.write import export_states, export_timers
from headrace.runtime.state.pages.backend import HEADER, PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.runtime.tasks.source_task import SplitState

_EXPORTS = {"states": export_states, "timers": export_timers}


@dataclass(frozen=True)
class CommittedState:
    """The state after the last committed micro-batch of a checkpoint or restore point.

    ``state_folder``, ``batch``, ``stages``: where the state is, in a folder of Spark's.
    ``partitions``: the number of its buckets. ``groups``: by operator, the number of key groups.
    ``offset``: the source positions.
    """

    folder: str
    metadata: CheckpointMetadata
    state_folder: str
    batch: int
    stages: Stages
    partitions: int
    groups: Mapping[str, int]
    offset: Mapping[str, Any]
    only_data = False  # the state of a job is read as the job reads it

    @classmethod
    def open(cls, location: str) -> Self:
        """Open the checkpoint or restore point in a folder.

        Raises:
            CheckpointLockedError: a job runs on the checkpoint.
            CheckpointError: nothing is committed yet, or it is damaged.
        """
        _check_is_at_rest(CheckpointFolder(location))
        found = cls.last(location)
        if found is None:
            raise _empty_error(location)
        return found

    @classmethod
    def last(cls, location: str) -> Self | None:
        """Return the state in a folder, on which the caller's job may run; None if there is none.

        Raises:
            CheckpointError: it is damaged.
        """
        folder = CheckpointFolder(location)
        metadata = CheckpointMetadata.read(folder.store)
        if metadata is None:
            return None
        layout, generation = Layout.from_json(metadata.layout), metadata.generation
        spark_folder = folder.spark(generation.number)
        log, origin = progress.log_of(spark_folder), generation.origin
        if log.end is not None:
            at = spark_folder, log.committed, layout.stages, metadata.partitions
            return cls(location, metadata, *at, layout.groups(), log.end)
        if origin is None or origin.batch < 0:
            return None
        partitions = origin.partitions or metadata.partitions
        groups = {**layout.groups(), **origin.groups}
        at = folder.spark(origin.number), origin.batch, origin.stages, partitions
        return cls(location, metadata, *at, groups, origin.start)

    @property
    def job(self) -> str:
        """The name of the job."""
        return self.metadata.name

    def split_states(self) -> Mapping[tuple[str, str], SplitState]:
        """Return the states of sources' splits."""
        return SplitStates(CheckpointFolder(self.folder).store).load(self.offset["epoch"])

    @cached_property
    def operators(self) -> Sequence[OperatorEntry]:
        """The operators with state; their kinds of states are in the headers of the state."""
        parts = Layout.from_json(self.metadata.layout).parts
        spark = state_session()
        found: dict[tuple[str, int], GroupSummary] = {}
        for number in range(1, len(self.stages) + 1):
            pages = self._stage(spark, number).where(F.col("name") == HEADER)
            for row in pages.select("data").collect():
                for prefix, header in pickle.loads(row["data"]).items():
                    operator, _, group = prefix.removesuffix("/").rpartition("/")
                    backend = PagedBackend(MemoryPages({HEADER: header}), 1)
                    found[operator, int(group)] = GroupSummary.of(backend)
        check_one_program(found)
        return [self._entry(part, found) for part in parts if part.role == OPERATOR]

    def _entry(
        self, part: StatefulPart, summaries: Mapping[tuple[str, int], GroupSummary]
    ) -> OperatorEntry:
        groups = {group: found for (id_, group), found in summaries.items() if id_ == part.id}
        shared = groups.pop(ALL_GROUPS, None)
        return OperatorEntry(
            part.id,
            part.kind,
            part.name,
            part.uid,
            self.groups[part.id],
            **merged_states(groups.values(), shared),
            removes_after_ms=part.removes_after_ms,
            pattern=part.pattern,
            description=part.description,
        )

    def records(
        self,
        table: str,
        operator: str,
        groups: Collection[int] | None = None,
        *,
        only_shown: bool = True,
    ) -> Records:
        """Return the records of an operator; ``groups``: only those of these key groups.

        ``only_shown``: objects whose class cannot be imported are pickled as stand-ins.
        """
        return partial(self._read, table, operator, groups, only_shown)

    def _read(
        self,
        table: str,
        operator: str,
        groups: Collection[int] | None,
        only_shown: bool,
        spark: SparkSession,
    ) -> DataFrame | None:
        number = next((n for n, ids in enumerate(self.stages, 1) if operator in ids), None)
        if number is None:
            return None
        pages = sorted_pages(self._stage(spark, number).where(_is_of(operator)))
        spread = self.groups[operator]
        task = PageRecords(table, operator, spread, groups, self.partitions, only_shown)
        return pages.mapInArrow(task, from_arrow_schema(schema_of(table)))

    def pages(self, spark: SparkSession, operators: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the records of operators' key groups by name, without broadcast state.

        They pass through this process one after another.
        """
        for number, ids in enumerate(self.stages, 1):
            wanted = [*filter(operators.__contains__, ids)]
            if not wanted:
                continue
            is_wanted = reduce(or_, map(_is_of, wanted))
            for row in self._stage(spark, number).where(is_wanted).toLocalIterator():
                if row["name"] == HEADER:
                    headers: dict[str, bytes] = pickle.loads(row["data"])
                    found = [(prefix + HEADER, data) for prefix, data in headers.items()]
                else:
                    found = [(row["name"], bytes(row["data"]))]
                for name, data in found:
                    if vertex_of(name) in operators and group_of(name) != ALL_GROUPS:
                        yield name, data

    def _stage(self, spark: SparkSession, number: int) -> DataFrame:
        with settings_of_query(spark, self.partitions, None, dataframes=True):
            found = read_stage(spark, self.state_folder, self.stages, self.batch, number)
        if is_restored(self.state_folder):
            found = found.repartition(self.partitions, "bucket")
        return found


def _is_of(operator: str) -> Any:
    return (F.col("name") == HEADER) | F.col("name").startswith(f"{operator}/")


class PageRecords:
    """The task: yields the records of an operator that are in the pages of one bucket.

    ``spread``: the number of the operator's key groups. ``groups``: those that are wanted; None:
    all. Each bucket has a copy of broadcast state; the copy of the first one is used.
    ``only_shown``: objects whose class cannot be imported are pickled as stand-ins.
    """

    def __init__(
        self,
        table: str,
        operator: str,
        spread: int,
        groups: Collection[int] | None,
        partitions: int,
        only_shown: bool = True,
    ) -> None:
        self._only_shown = only_shown
        self._table, self._operator, self._spread = table, operator, spread
        self._groups, self._broadcast_bucket = groups, bucket_keys(partitions)[0]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the records."""
        found = to_batches(self._table, self._records(pages_of(batches)))
        while True:
            with stand_ins() if self._only_shown else nullcontext():
                batch = next(found, None)
            if batch is None:
                return
            yield batch

    def _records(self, pages: Iterator[StatePage]) -> Iterator[tuple[Any, ...]]:
        headers: dict[str, bytes] = {}
        for (operator, group), found in groupby(pages, key=attrgetter("operator", "group")):
            if not operator:  # the headers, which come first; restored state may have several
                for page in found:
                    headers |= pickle.loads(page.data)
                continue
            header = headers.get(f"{operator}/{group}/")
            if operator != self._operator or header is None or not self._wants(group):
                continue
            records = {HEADER: header}
            bucket = 0
            for page in found:
                records[page.name.rpartition("/")[2]] = page.data
                bucket = page.bucket
            if group == ALL_GROUPS and bucket != self._broadcast_bucket:
                continue
            backend = PagedBackend(MemoryPages(records), self._spread if group != ALL_GROUPS else 1)
            yield from _EXPORTS[self._table](operator, backend, group)

    def _wants(self, group: int) -> bool:
        return self._groups is None or group in self._groups


def _check_is_at_rest(folder: CheckpointFolder) -> None:
    parent, name = posixpath.split(folder.directory)
    kind = posixpath.basename(parent)
    if kind in (RETAINED, PINS):
        pin = read_pin(CheckpointFolder(posixpath.dirname(parent)), f"{kind}/{name}")
        if pin is None or not pin.has_own_state:
            raise CheckpointError(
                "the restore point is not complete",
                where={"restore point": folder.directory},
                hint="headrace checkpoints ls lists the complete ones",
            )
    elif is_running(folder):
        raise CheckpointLockedError(
            "a job runs on this checkpoint, so its state changes while it is read",
            where={"checkpoint": folder.directory},
            hint="take a savepoint (headrace savepoint JOB), or read a restore point of the job"
            " (headrace checkpoints ls JOB --json names their folders)",
        )


def is_checkpoint(location: str) -> bool:
    """Return whether there is a checkpoint of a job, or a restore point, in a folder."""
    folder = CheckpointFolder(location)
    return folder.files.exists(posixpath.join(location, JOB))


def _empty_error(location: str) -> CheckpointError:
    return CheckpointError(
        "no micro-batch is committed yet, so there is no state",
        where={"checkpoint": location},
    )
