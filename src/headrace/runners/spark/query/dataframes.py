"""DataFrames as sources and sinks of a job."""

from __future__ import annotations

import dataclasses
import json
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from headrace.common._storage.locations import file_system_of, hadoop_url
from headrace.common.types import Row
from headrace.connector import ColumnChunk, ExecutedBy
from headrace.errors import PlanError, TypeMismatchError
from headrace.runners.spark.checkpoint.layout import DATAFRAME
from headrace.runners.spark.checkpoint.spark_files import check_folder
from headrace.runners.spark.failures import raise_encoded
from headrace.runners.spark.query.appended import FORMATS, HadoopFolder, append_once, last_appended
from headrace.runners.spark.query.delta_log import last_transaction, location_of
from headrace.runners.spark.query.packets import MemoryContent, envelopes_in, payload_of
from headrace.runners.spark.query.plan_names import sources_name
from headrace.runners.spark.query.traffic import FIRST_OF_DATAFRAMES
from headrace.runners.spark.query.wire import WIRE_DDL, rows_of, to_arrow
from headrace.runners.spark.query.worker import (
    ProgramRef,
    WorkerJob,
    partition_id,
    wire_rows,
    worker_job,
)
from headrace.runtime.block import Envelope, Kind, records_of
from headrace.runtime.channel import ALL_TASKS, Channel
from headrace.runtime.columns.shapes import NAMED_ROWS
from headrace.runtime.failure import annotate, sink_error_notes
from headrace.runtime.program import JobProgram, SinkProgram

_NOW = "__headrace_now_ms"


def dataframe_sources(program: JobProgram) -> dict[str, DataFrame]:
    """Return the DataFrames that a job reads, by source id."""
    return {
        source.id: source.source.dataframe
        for source in program.sources
        if source.source is not None and source.source.executed_by is ExecutedBy.SPARK
    }


def dataframe_sinks(program: JobProgram) -> list[SinkProgram]:
    """Return the sinks that Spark writes itself."""
    return [sink for sink in program.sinks if sink.sink.executed_by is ExecutedBy.SPARK]


def materialize_dataframes(
    program: JobProgram, directory: str, started: frozenset[str] = frozenset()
) -> JobProgram:
    """Write the batch DataFrames of a streaming program to Parquet files, and read these instead.

    Spark does not union a batch DataFrame with a stream, and a stream needs to know their end. They
    are written once; a job that resumes finds the files in its checkpoint. ``started``: the ids of
    the sources that were read already.

    Raises:
        CheckpointError: files of one of these are missing or damaged.
    """
    sources = []
    read_by_spark = dataframe_sources(program)
    dropped: set[Channel] = set()
    for source in program.sources:
        if source.id in read_by_spark and source.source.ends:
            rows: DataFrame = source.source.dataframe
            path = posixpath.join(directory, f"{DATAFRAME}{quote(source.id, safe='')}")
            if source.id in started:
                check_folder(path, "_SUCCESS", f"the DataFrame {source.name!r}")
            elif not file_system_of(path).exists(posixpath.join(path, "_SUCCESS")):
                rows.write.mode("overwrite").parquet(hadoop_url(path))
            schema = pa.schema(to_arrow_schema(rows.schema))
            files = source.source.parquet_source(schema, path)
            source = dataclasses.replace(source, source=files, reader=files.reader())
            dropped.update(Channel(e.id, group=ALL_TASKS) for e in source.chain.exchanges)
        sources.append(source)
    # Tasks that read files announce their channels; the DataFrame's channel would never end.
    stages = tuple(
        tuple(
            dataclasses.replace(
                vertex, input_channels=tuple(c for c in vertex.input_channels if c not in dropped)
            )
            for vertex in stage
        )
        for stage in program.stages
    )
    return dataclasses.replace(program, sources=tuple(sources), stages=stages)


def union_dataframes(
    frame: DataFrame, program: JobProgram, ref: ProgramRef, order: Sequence[str] = ()
) -> DataFrame:
    """Return the union of the envelopes of other sources and of the DataFrames.

    ``order``: source ids in the order that the query must keep; others follow.
    """
    dataframes = dataframe_sources(program)
    ordered = [source_id for source_id in order if source_id in dataframes]
    for source_id in dict.fromkeys([*ordered, *dataframes]):
        rows = dataframes[source_id]
        # The micro-batch's time, which Spark logs, so a repetition has the same.
        timed = rows.withColumn(_NOW, F.unix_millis(F.current_timestamp()))
        name = sources_name(each for each in program.sources if each.id == source_id)
        frame = frame.union(timed.mapInArrow(_DataFrameChain(ref, source_id, name), WIRE_DDL))
    return frame


class _DataFrameChain:
    """Runs the chain after a DataFrame, on one partition; ``name`` is shown in Spark's plans."""

    def __init__(self, ref: ProgramRef, source_id: str, name: str) -> None:
        self._ref, self._source_id = ref, source_id
        self.__name__ = name

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the envelopes for a partition's rows."""
        job = worker_job(self._ref)
        yield from to_arrow(wire_rows(job, self._process_batches(job, batches)))

    def _process_batches(
        self, job: WorkerJob, batches: Iterable[pa.RecordBatch]
    ) -> Iterator[Envelope]:
        """Run the chain on the rows of a DataFrame, and yield its envelopes."""
        source = next(s for s in job.program.sources if s.id == self._source_id)
        chain = job.dataframe_chain(source)
        sender = FIRST_OF_DATAFRAMES + partition_id() * len(job.program.sources) + source.number
        read = job.metrics.counter("numRecordsIn")
        started = False
        try:
            for batch in batches:
                if not started and batch.num_rows:
                    started = True
                    chain.begin(sender, int(batch.column(_NOW)[0].as_py()))
                    chain.begin_shared_channel()
                    chain.restore({})
                records = batch.drop_columns([_NOW])
                if chain.push_columns is None:
                    chain.push_all(NAMED_ROWS(records), None)
                else:
                    chain.push_column_chunk(ColumnChunk(records, NAMED_ROWS))
                read.inc(batch.num_rows)
                chain.received.count += batch.num_rows
                if chain.is_full:
                    yield from chain.drain()
            if started:
                chain.complete()
                chain.tick()
                chain.complete()
        except Exception as error:
            annotate(error)
            raise
        if started:
            yield from chain.drain()
            yield from job.reports(sender, 0)


def write_dataframes(frame: DataFrame, program: JobProgram, ref: ProgramRef, batch: int) -> None:
    """Write a micro-batch's records to each ``DataFrameSink``; ``frame`` is persisted."""
    for program_sink in dataframe_sinks(program):
        sink: Any = program_sink.sink
        schema = _find_schema(program_sink, frame.sparkSession)
        rows = frame.mapInArrow(
            _SinkRows(ref, program_sink, schema.fieldNames(), schema.json()), schema
        )
        writer = rows.write.mode(sink.mode).options(**dict(sink.options))
        if sink.format is not None:
            writer = writer.format(sink.format)
        if sink.format == "delta":
            writer = writer.option("txnAppId", program.sink_id(program_sink)).option(
                "txnVersion", str(batch)
            )
        if sink.partition_by:
            writer = writer.partitionBy(*sink.partition_by)
        if _is_appended_once(frame.sparkSession, sink):
            folder = HadoopFolder(frame.sparkSession, sink.path)
            append_once(writer, folder, program.sink_id(program_sink), batch)
        elif sink.table is not None:
            writer.saveAsTable(sink.table)
        else:
            writer.save(sink.path)


def last_written(spark: SparkSession, sink: SinkProgram, sink_id: str) -> int | None:
    """Return the last micro-batch of a ``DataFrameSink``; -1 for none, None if unknown."""
    description: Any = sink.sink
    if _is_appended_once(spark, description):
        return last_appended(HadoopFolder(spark, description.path), sink_id)
    if description.format == "delta":
        table = description.table
        path = description.path if table is None else location_of(spark, table)
        return -1 if path is None else last_transaction(spark, path, sink_id)
    return None


def _is_appended_once(spark: SparkSession, sink: Any) -> bool:
    kind = sink.format or spark.conf.get("spark.sql.sources.default")
    return sink.path is not None and sink.mode == "append" and kind in FORMATS


def _find_schema(sink: SinkProgram, spark: SparkSession) -> StructType:
    """Return the declared schema of a sink, or the schema of its records' type.

    Raises:
        PlanError: the schema has no columns, or neither a schema nor a type is declared.
    """
    description: Any = sink.sink
    if description.schema is not None:
        columns = StructType.fromDDL(description.schema)
        if isinstance(columns, StructType):
            return columns
        raise PlanError(
            f"the schema of the sink {sink.name!r} names no columns: {description.schema!r}",
            where={"sink": sink.name},
            hint='DataFrameSink(schema="id BIGINT, name STRING", ...)',
        )
    columns_of_type = description.arrow_columns(sink.output_type)
    if columns_of_type is None:
        raise PlanError(
            f"the sink {sink.name!r} does not know its columns",
            where={"sink": sink.name},
            hint='DataFrameSink(schema="id BIGINT, name STRING", ...), or declare the stream\'s'
            " type as Types.ROW_NAMED(...)",
        )
    struct: Any = from_arrow_schema(columns_of_type)
    return StructType(struct.fields)


class _SinkRows:
    """Converts envelopes for a sink to rows with its columns."""

    def __init__(
        self, ref: ProgramRef, sink: SinkProgram, names: list[str], schema_json: str
    ) -> None:
        self._ref, self._sink_id, self._names, self._schema_json = ref, sink.id, names, schema_json
        self.__name__ = f"Sink: {sink.name}"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition."""
        # worker_job also registers the classes of the records
        sink = worker_job(self._ref).program.sink(self._sink_id)
        try:
            with sink_error_notes(sink, "writing"):
                yield from self._decode_batches(batches)
        except GeneratorExit:
            raise  # Spark stopped reading
        except BaseException as error:
            raise_encoded(error)

    def _decode_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = to_arrow_schema(StructType.fromJson(json.loads(self._schema_json)))
        for batch in batches:
            for row in rows_of(batch):
                for envelope in envelopes_in(MemoryContent(row.payload), row.stage):
                    if envelope.kind == Kind.DATA and envelope.target == self._sink_id:
                        yield from self._make_batch(records_of(payload_of(envelope)), schema)

    def _make_batch(self, values: list[Any], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        if values:
            rows = [self._read_fields(value) for value in values]
            columns = [
                pa.array(column, field.type)
                for column, field in zip(zip(*rows, strict=True), schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _read_fields(self, value: Any) -> list[Any]:
        """Return the values of a record in the order of the columns.

        Raises:
            TypeMismatchError: the number of fields is wrong.
        """
        names = self._names
        if isinstance(value, Mapping):
            return [value.get(name) for name in names]
        if isinstance(value, Row):
            row_names = value._names()
            if row_names:
                by_name = dict(zip(row_names, value, strict=True))
                return [by_name.get(name) for name in names]
        if dataclasses.is_dataclass(value):
            return [getattr(value, name) for name in names]
        fields = list(value) if isinstance(value, tuple | list | Row) else [value]
        if len(fields) != len(names):
            raise TypeMismatchError(
                f"a record has {len(fields)} fields, the sink has {len(names)} columns",
                where={"record": repr(value)[:200], "columns": ", ".join(names)},
            )
        return fields
