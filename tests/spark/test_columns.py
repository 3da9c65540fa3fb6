"""Columns on Spark: a stream in micro-batches, a batch, and rows all give the same."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import headrace
from headrace.common import Configuration, Time, Types, WatermarkStrategy
from headrace.connector import Source
from headrace.datastream import JoinFields, RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.file_system import FileSink, FileSource
from headrace.datastream.formats.csv import CsvReaderFormat, CsvSchema
from headrace.datastream.formats.parquet import ParquetBulkWriters, ParquetFormat
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.runners.spark.startup.session import get_session
from headrace.runtime.columns.selectors import ByColumns
from headrace.testing import run_pipeline
from tests.pipelines.columns import DoubleSpec, WindowSumsSpec, adding
from tests.pipelines.test_columns import (
    AS_COLUMNS,
    AS_ROWS,
    RECORDS,
    TIMES,
    expected,
    parquet,
    record,
)

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return get_session({}, 2)


def sums(source: Source, mode: str, takes: str = "columns") -> Any:
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "execution.runtime-mode": mode,
                "parallelism.default": "2",
                "headrace.source.max-records-per-batch": "120",
                "headrace.watermark.chunk-records": "3",
            }
        )
    )
    stream = env.from_source(source, TIMES, "amounts")
    if takes == "rows":
        stream = stream.map(lambda value: value)
    counted = adding(stream, DoubleSpec())
    spec = WindowSumsSpec(only_columns=takes == "columns" and source is not AS_ROWS)
    return adding(counted.key_by(ByColumns("user")), spec)


def found(stream: Any) -> list[Any]:
    with stream.execute_and_collect("columns") as results:
        return sorted(results)


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_parquet_generator_and_dataframe_by_columns(
    mode: str, spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    parquet(folder)
    files = FileSource.for_bulk_file_format(ParquetFormat(), str(folder)).build()
    rows = [(each["user"], each["amount"], each["at"]) for each in map(record, range(RECORDS))]
    frame = spark.createDataFrame(rows, "user long, amount long, at long").coalesce(1)
    wanted = sorted(run_pipeline(sums(AS_ROWS, mode)).only)
    assert wanted == expected()
    for source in (AS_COLUMNS, files, AS_ROWS):
        assert found(sums(source, mode)) == wanted
    assert found(sums(AS_COLUMNS, mode, "rows")) == wanted
    assert found(sums(headrace.from_dataframe(frame), mode)) == wanted


def test_many_columns_of_many_keys_in_one_micro_batch(spark: SparkSession) -> None:
    """More than one packet and message for each partition."""
    count = 300_000

    def many(indexes: Any) -> dict[str, Any]:
        return {"user": indexes % 10_007, "amount": indexes % 5, "at": indexes // 1000}

    env = StreamExecutionEnvironment(Configuration.from_dict({"parallelism.default": "2"}))
    source = env.from_source(DataGeneratorSource.of_columns(many, count), TIMES, "many")
    stream = adding(source.key_by(ByColumns("user")), WindowSumsSpec())
    sums: Counter[tuple[int, int]] = Counter()
    for index in range(count):
        sums[index % 10_007, (index // 100_000 + 1) * 100 - 1] += index % 5
    assert found(stream) == sorted((*key, total) for key, total in sums.items())


def test_csv_is_summed_as_columns(spark: SparkSession, tmp_path: Path) -> None:
    """As a stream every sum, in a batch the last of each key; one line is read as a row."""
    count = 30_000
    lines = [f"{index % 997},{index % 5},{index}" for index in range(count)]
    lines[500] = f"{500 % 997},+{500 % 5},500"
    (tmp_path / "a.csv").write_text("\n".join(["user,amount,at", *lines]) + "\n")
    schema = CsvSchema.builder().set_use_header()
    for name in ("user", "amount", "at"):
        schema = schema.add_number_column(name)
    source = FileSource.for_record_stream_format(
        CsvReaderFormat.for_schema(schema.build()), str(tmp_path)
    ).build()
    wanted: Counter[int] = Counter()
    for index in range(count):
        wanted[index % 997] += index % 5
    for mode in (RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH):
        env = StreamExecutionEnvironment(Configuration.from_dict({"parallelism.default": "2"}))
        env.set_runtime_mode(mode)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "csv")
        sums = stream.key_by("user").sum("amount")
        results = found(sums.map(lambda row: (row["user"], row["amount"])))
        assert len(results) == (997 if mode is RuntimeExecutionMode.BATCH else count)
        assert dict(results) == wanted  # sorted, so the last sum of each user


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_columns_travel_through_stages_and_a_join_into_parquet(
    spark: SparkSession, mode: str, tmp_path: Path
) -> None:
    """What Parquet files hold, by several micro-batches, is what nested loops give."""
    count = 400
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "execution.runtime-mode": mode,
                "parallelism.default": "2",
                "headrace.source.max-records-per-batch": "60",
                "headrace.watermark.chunk-records": "16",
            }
        )
    )
    first, second = (
        env.from_source(DataGeneratorSource.of_columns(partial(_sides, by), count), _BY_AT, "s")
        for by in (7, 11)
    )
    windows = TumblingEventTimeWindows.of(Time.milliseconds(20))
    pairs = first.join(second).where("user").equal_to("user").window(windows)
    sums = pairs.apply(JoinFields(["user", "n"], {"other": "n"})).key_by("other").sum("n")
    rows = Types.ROW_NAMED(["user", "n", "other"], [Types.LONG()] * 3)
    folder = tmp_path / "out"
    sums.sink_to(
        FileSink.for_bulk_format(str(folder), ParquetBulkWriters.for_row_type(rows)).build()
    )
    env.execute()
    one, two = (pa.record_batch(_sides(by, np.arange(count))).to_pylist() for by in (7, 11))
    totals: Counter[int] = Counter()
    for left in one:
        for right in two:
            if left["user"] == right["user"] and left["at"] // 20 == right["at"] // 20:
                totals[right["n"]] += left["n"]
    files = [path for path in folder.iterdir() if path.is_file()]
    found = [row for path in files for row in pq.read_table(path).to_pylist()]
    last = {other: max(r["n"] for r in found if r["other"] == other) for other in totals}
    assert last == dict(totals)


def _sides(by: int, indexes: Any) -> dict[str, Any]:
    return {"user": indexes * by % 13, "n": indexes * 10 + 1, "at": indexes}


_BY_AT = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("at")
