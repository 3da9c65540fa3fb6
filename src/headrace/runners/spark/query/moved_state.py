"""Reads state from an older generation of Spark's checkpoint, to take it over or to name it."""

from __future__ import annotations

import os
import pickle
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce

from pyspark.sql import DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as F

from headrace.common._storage.locations import hadoop_url
from headrace.runners.spark.checkpoint.generations import Origin, Stages
from headrace.runners.spark.checkpoint.layout import URL_ESCAPED, CheckpointFolder, is_restored
from headrace.runners.spark.checkpoint.restored import restored_files
from headrace.runners.spark.query.stored import StoredRecord, records_of_vertices, redistribute
from headrace.runners.spark.query.wire import bucket_keys
from headrace.runners.temporary_files import new_subfolder
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.program import JobProgram, VertexProgram
from headrace.runtime.state.pages.backend import HEADER, PagedBackend

ClaimedState = Mapping[int, frozenset[str]]
"""By the number of an older stage, the ids of the vertices whose state is taken from it."""


_RECORDS_DDL = "bucket int, stage int, name string, data binary"

REDISTRIBUTED = 0
"""Stands for a stage number: state of operator instances that was redistributed."""


def claimed_state(origin: Origin, stage: tuple[VertexProgram, ...]) -> ClaimedState:
    """Return the state that a stage's vertices take over unchanged, and its stages."""
    wanted = {vertex.id for vertex in stage} - {
        vertex.id for vertex in rescaled_vertices(origin, stage)
    }
    if origin.batch < 0:
        return {}
    claimed = {number: wanted & {*ids} for number, ids in enumerate(origin.stages, 1)}
    return {number: frozenset(ids) for number, ids in claimed.items() if ids}


def rescaled_vertices(
    origin: Origin, stage: tuple[VertexProgram, ...]
) -> tuple[VertexProgram, ...]:
    """Return the vertices of a stage whose state is of another number of instances."""
    if origin.batch < 0:
        return ()
    kept = {id_ for ids in origin.stages for id_ in ids}
    return tuple(
        vertex
        for vertex in stage
        if vertex.id in kept
        and vertex.has_operator_state
        and origin.groups.get(vertex.id, vertex.groups) != vertex.groups
    )


def redistributed_state(
    spark: SparkSession,
    folder: str,
    origin: Origin,
    program: JobProgram,
    vertices: tuple[VertexProgram, ...],
) -> DataFrame:
    """Return the records of vertices whose number of instances has changed, for the new number.

    The state passes through this process: lists of instances are small.
    """
    found: list[StoredRecord] = []
    for number, ids in enumerate(origin.stages, 1):
        wanted = {vertex.id for vertex in vertices} & {*ids}
        if wanted:
            rows = read_stage(spark, folder, origin.stages, origin.batch, number).toLocalIterator()
            stored = ((row["bucket"], row["name"], bytes(row["data"])) for row in rows)
            found += records_of_vertices(stored, wanted)
    records = redistribute(found, program, vertices, origin.groups)
    return spark.createDataFrame(records, _RECORDS_DDL)


def state_records(
    spark: SparkSession,
    folder: str,
    origin: Origin,
    claimed: ClaimedState,
    partitions: int,
    also: Iterable[DataFrame] = (),
) -> GroupedData:
    """Return the state records to take over, by bucket: ``bucket, stage, name, data``.

    ``partitions``: of the query that takes them over. ``also``: further records.
    """
    stages, batch = origin.stages, origin.batch
    frames = [read_stage(spark, folder, stages, batch, number) for number in claimed if number]
    if origin.partitions not in (0, partitions):
        frames = [_rebucketed(frame, origin.partitions, partitions) for frame in frames]
    return reduce(DataFrame.unionAll, (*frames, *also)).groupBy("bucket")


def _rebucketed(records: DataFrame, before: int, partitions: int) -> DataFrame:
    """Return state records with the buckets of another number of partitions.

    Every bucket gets every header, and takes the entries of its key groups from it. Each older
    bucket has a copy of broadcast state; the copy of the first goes to all.
    """
    keys = F.array(*map(F.lit, bucket_keys(partitions)))
    none = F.array().cast("array<int>")
    group = F.try_element_at(F.split("name", "/"), F.lit(-2)).cast("int")
    is_first = F.col("bucket") == bucket_keys(before)[0]
    buckets = (
        F.when(F.col("name") == HEADER, keys)
        .when(group == ALL_GROUPS, F.when(is_first, keys).otherwise(none))
        .otherwise(F.array(F.element_at(keys, group % partitions + 1)))
    )
    return records.select(F.explode(buckets).alias("bucket"), "stage", "name", "data")


def state_names(
    spark: SparkSession, folder: str, stages: Stages, batch: int
) -> dict[str, frozenset[str]]:
    """Return the names of the states in a folder of Spark's after a micro-batch, by operator id.

    States are declared in workers, and their names are stored in the headers of the state. Only the
    headers are read.
    """
    names_by_operator: dict[str, frozenset[str]] = {}
    for number in range(1, len(stages) + 1):
        rows = read_stage(spark, folder, stages, batch, number).where(F.col("name") == HEADER)
        for row in rows.select("data").collect():
            for operator, names in states_in(pickle.loads(row["data"]).items()):
                names_by_operator[operator] = names_by_operator.get(operator, frozenset()) | names
    return names_by_operator


def states_in(headers: Iterable[tuple[str, bytes]]) -> Iterable[tuple[str, frozenset[str]]]:
    """Yield the operator and the kinds of its states for each ``<operator>/<group>/`` header."""
    for prefix, header in headers:
        backend = PagedBackend(_HeaderStore(header), 1)
        kinds = {
            **backend.in_namespaces.kinds(),
            **backend.tables.kinds(),
            **backend.kinds(),
        }
        names = (f"{name} ({kind.kind})" for name, kind in kinds.items())
        yield prefix.rsplit("/", 2)[0], frozenset(names)


class _HeaderStore:
    """A ``PageStore`` that only has a header."""

    def __init__(self, header: bytes) -> None:
        self._header = header

    def get(self, name: str) -> bytes | None:
        return self._header if name == HEADER else None

    def put(self, name: str, data: bytes) -> None:
        raise NotImplementedError("a header that is only read")

    def remove(self, name: str) -> None:
        raise NotImplementedError("a header that is only read")


def records(
    spark: SparkSession, folder: str, stages: Stages, batch: int
) -> Iterator[tuple[int, str, bytes]]:
    """Yield the state records of all stages: bucket, name and data."""
    for number in range(1, len(stages) + 1):
        for row in read_stage(spark, folder, stages, batch, number).toLocalIterator():
            yield row["bucket"], row["name"], bytes(row["data"])


_links: dict[str, str] = {}
"""Symbolic links to folders, by folder."""


def _url_safe(folder: str) -> str:
    """Return the folder, or a symbolic link to it if its path has characters that a URL escapes.

    Raises:
        ConfigurationError: the folder is on remote storage, where there are no links.
    """
    if URL_ESCAPED.isdisjoint(folder):
        return folder
    CheckpointFolder(folder).check_name()
    if folder not in _links:
        _links[folder] = str(new_subfolder("state-") / "spark")
        os.symlink(folder, _links[folder])
    return _links[folder]


def read_stage(
    spark: SparkSession, folder: str, stages: Stages, batch: int, stage_number: int
) -> DataFrame:
    """Read the state records of one stage (from 1) after a micro-batch, as a DataFrame."""
    if is_restored(folder):
        files = restored_files(CheckpointFolder(posixpath.dirname(folder)))
        if not files:
            return spark.createDataFrame([], _RECORDS_DDL)
        rows = spark.read.parquet(*(hadoop_url(posixpath.join(folder, f.name)) for f in files))
        return rows.where(F.col("stage") == stage_number)
    # Tasks ask the coordinator of state stores, which Spark 4.2 makes with the first use of this.
    _ = spark.streams
    reader = spark.read.format("statestore").option("path", hadoop_url(_url_safe(folder)))
    # Spark counts a query's operators from its sink.
    reader = reader.option("operatorId", len(stages) - stage_number)
    reader = reader.option("stateVarName", "pages").option("batchId", batch)
    return reader.load().select(
        F.col("key.bucket").alias("bucket"),
        F.lit(stage_number).alias("stage"),
        F.col("user_map_key.name").alias("name"),
        F.col("user_map_value.data").alias("data"),
    )
