"""DataFrames in and out, batch and streaming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace
from headrace.common import Configuration, Row, Types, WatermarkStrategy
from headrace.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.dataframe import DataFrameSink
from headrace.datastream.state import ValueStateDescriptor
from headrace.runners.spark.startup.session import session_for

pytestmark = pytest.mark.spark

OUT = Types.ROW_NAMED(["k", "end", "n"], [Types.INT(), Types.LONG(), Types.INT()])
COUNTS = [(k, end, sum(i % 3 == k for i in range(end - 9, end + 1))) for end in (9, 19, 29, 39)
          for k in range(3)]  # fmt: skip


class CountPerTen(KeyedProcessFunction):
    """How many rows have a key (k, ten of event time), when that ten is over."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Row, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(value.ts // 10 * 10 + 9)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield Row(k=ctx.get_current_key()[0], end=timestamp, n=self.count.value())


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return session_for({}, 2)


def counts(frame: Any, mode: str) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.runtime-mode": mode, "parallelism.default": "2"})
    )
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r: r.ts)
    rows = env.from_source(headrace.from_dataframe(frame), times, "rows")
    return rows.key_by(lambda row: (row.k, row.ts // 10)).process(CountPerTen(), output_type=OUT)


def rows_of(spark: SparkSession) -> Any:
    rows = [(i % 3, i) for i in range(40)]
    return spark.createDataFrame(rows, "k int, ts long").coalesce(1)


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_a_batch_dataframe_to_a_dataframe_sink(
    mode: str, spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "out")
    stream = counts(rows_of(spark), mode)
    stream.sink_to(DataFrameSink(format="parquet", path=path, partition_by=("k",)))
    stream.get_execution_environment().execute("counts")
    read = spark.read.parquet(path).select("k", "end", "n").collect()
    assert sorted(tuple(row) for row in read) == sorted(COUNTS)


def test_a_streaming_dataframe(spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path / "in")
    rows_of(spark).write.parquet(folder)
    frame = spark.readStream.schema("k int, ts long").parquet(folder)
    with counts(frame, "STREAMING").execute_and_collect() as results:
        found = [next(results) for _ in range(9)]
        # the last ten waits for a watermark that no row brings yet
        assert sorted((row.k, row.end, row.n) for row in found) == sorted(
            count for count in COUNTS if count[1] < 39
        )
        spark.createDataFrame([(0, 50)], "k int, ts long").write.mode("append").parquet(folder)
        found = [next(results) for _ in range(3)]
    assert sorted((row.k, row.end, row.n) for row in found) == sorted(
        count for count in COUNTS if count[1] == 39
    )
