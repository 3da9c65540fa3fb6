"""DataFrames in and out, batch and streaming."""

from __future__ import annotations

import ast
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest
from pyspark.sql import SparkSession

import headrace
from headrace.common import Configuration, Encoder, Row, Time, Types, WatermarkStrategy
from headrace.common.job_client import JobClient
from headrace.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.dataframe import DataFrameSink
from headrace.datastream.connectors.file_system import (
    FileSink,
    FileSource,
    RollingPolicy,
    StreamFormat,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import CheckpointError
from headrace.runners.spark.query.appended import HadoopFolder, append_once
from headrace.runners.spark.startup.session import get_session

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
    return get_session({}, 2)


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
    assert [*Path(path, "_headrace").glob("*/*.json")]  # appended once, see below


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


def append(spark: SparkSession, path: Path, batch: int, *, rows: int = 6) -> None:
    """What an attempt of a micro-batch does: two files in each of two folders."""
    frame = spark.range(rows).selectExpr("id", "id % 2 as k", f"{batch} as batch").repartition(2)
    append_once(frame.write.partitionBy("k"), HadoopFolder(spark, str(path)), "sink", batch)


def appended(spark: SparkSession, path: Path) -> list[tuple[int, int]]:
    rows = spark.read.parquet(str(path)).select("batch", "id").collect()
    return sorted((row.batch, row.id) for row in rows)


def lines_of(spark: SparkSession, folder: Path, *names: str) -> Counter[str]:
    """A run of a job that reads these folders as streaming DataFrames; what it has written by then.

    It is over when each line that lies there by now is in the output.
    """
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {"parallelism.default": "2", "execution.checkpointing.dir": str(folder / "checkpoint")}
        )
    )
    streams = [env.from_sequence(0, 9).uid("numbers").map(str)]
    for name in names:
        frame = spark.readStream.text(str(folder / name))
        rows = env.from_source(
            headrace.from_dataframe(frame), WatermarkStrategy.no_watermarks(), name
        )
        streams.append(rows.uid(name).map(lambda row: row[0]))
    texts = streams[0].union(*streams[1:]) if names else streams[0]
    ones = texts.map(lambda text: (text, 1))
    files = FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder())
    files = files.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    ones.key_by(lambda pair: pair[0]).sum(1).uid("counts").sink_to(files.build()).uid("out")
    client = env.execute_async("lines")
    expected = {str(n) for n in range(10)} | {
        line for name in names for path in (folder / name).iterdir() for line in lines(path)
    }
    deadline = time.monotonic() + 60
    found: Counter[str] = Counter()
    while {ast.literal_eval(line)[0] for line in found} < expected:
        assert time.monotonic() < deadline
        time.sleep(0.05)
        written = [path for path in (folder / "out").rglob("part-*") if path.is_file()]
        found = Counter(line for path in written for line in lines(path))
    client.cancel().result()
    return found


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


@pytest.mark.timeout(180)
def test_streaming_dataframes_are_added_first_and_change_places(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Each is read on from where it was, however the program orders them."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.txt").write_text(f"{name}1\n{name}2\n")
    lines_of(spark, tmp_path)
    lines_of(spark, tmp_path, "a", "b")
    (tmp_path / "a" / "2.txt").write_text("a3\n")
    lines_of(spark, tmp_path, "b", "a")
    (tmp_path / "b" / "2.txt").write_text("b3\n")
    found = lines_of(spark, tmp_path, "a", "b")
    names = [*map(str, range(10)), *(f"{name}{n}" for name in "ab" for n in (1, 2, 3))]
    assert found == Counter(str((name, 1)) for name in names)
    (tmp_path / "c").mkdir()
    with pytest.raises(
        CheckpointError, match="the streaming DataFrame 'a' would be read from its beginning"
    ):
        lines_of(spark, tmp_path, "a", "b", "c")


BY_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda row: int(row[1])
)


def windows_of(folder: Path, *names: str) -> JobClient:
    """Counts per ten of event time, of a watched folder and of a streaming DataFrame.

    ``names``: of the windows, each of which counts all records.
    """
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {"parallelism.default": "2", "execution.checkpointing.dir": str(folder / "checkpoint")}
        )
    )
    watched = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(folder / "files")
    ).monitor_continuously(timedelta(milliseconds=100))
    files = env.from_source(watched.build(), WatermarkStrategy.no_watermarks(), "files")
    files = files.uid("files").map(lambda line: ("file", int(line)))
    files = files.assign_timestamps_and_watermarks(BY_TIME)
    frame = get_session({}, 2).readStream.text(str(folder / "rows"))
    rows = env.from_source(
        headrace.from_dataframe(frame), WatermarkStrategy.no_watermarks(), "rows"
    )
    rows = rows.uid("rows").map(lambda row: ("row", int(row[0])))
    both = files.union(rows.assign_timestamps_and_watermarks(BY_TIME))
    seen = FileSink.for_row_format(str(folder / "seen"), Encoder.simple_string_encoder())
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    both.sink_to(seen.with_rolling_policy(policy).build()).uid("seen")
    for name in names:
        ten = both.key_by(lambda row: 0).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        out = FileSink.for_row_format(str(folder / name), Encoder.simple_string_encoder())
        counted = ten.aggregate(Count(), OfWindow()).uid(f"windows {name}")
        counted.sink_to(out.with_rolling_policy(policy).build()).uid(name)
    return env.execute_async("windows")


class Count(AggregateFunction):
    """The number of records."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, one: int, other: int) -> int:
        return one + other


class OfWindow(ProcessWindowFunction):
    """A window's start and its count."""

    def process(self, key: int, context: Any, elements: Any) -> Any:
        yield context.window().start, *elements


def wait_for(folder: Path, line: str) -> list[str]:
    """The lines in a folder of output, once this one is among them."""
    deadline = time.monotonic() + 60
    found: list[str] = []
    while line not in found:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
        written = [path for path in folder.rglob("part-*") if path.is_file()]
        found = [found for path in written for found in lines(path)]
    return found


@pytest.mark.timeout(180)
def test_rows_of_a_dataframe_alone_do_not_decide_the_time_of_a_changed_program(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its first micro-batch has no others, and a receiver is new to the watermarks of the files."""
    files, rows = tmp_path / "files", tmp_path / "rows"
    for folder in (files, rows):
        folder.mkdir()
    (files / "1.txt").write_text("5\n")
    (rows / "1.txt").write_text("5\n")
    client = windows_of(tmp_path, "old")
    for line in ("('file', 5)", "('row', 5)"):
        wait_for(tmp_path / "seen", line)
    client.cancel().result()
    (rows / "2.txt").write_text("95\n")
    client = windows_of(tmp_path, "old", "new")
    wait_for(tmp_path / "seen", "('row', 95)")
    (files / "2.txt").write_text("6\n")
    wait_for(tmp_path / "seen", "('file', 6)")
    (files / "3.txt").write_text("91\n")
    assert wait_for(tmp_path / "old", "(0, 3)") == ["(0, 3)"]
    assert wait_for(tmp_path / "new", "(0, 1)") == ["(0, 1)"]
    client.cancel().result()


@pytest.mark.parametrize("moved", range(4))
def test_a_micro_batch_is_appended_once(
    moved: int, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was done of it when its first attempt broke off."""
    path = tmp_path / "out"
    append(spark, path, 0)
    left = moved
    move = HadoopFolder.move

    def breaks_off(folder: HadoopFolder, name: str, to: str) -> None:
        nonlocal left
        if left == 0:
            raise OSError("cancelled")
        left -= 1
        move(folder, name, to)

    with monkeypatch.context() as patched, pytest.raises(OSError, match="cancelled"):
        patched.setattr(HadoopFolder, "move", breaks_off)
        append(spark, path, 1)
    append(spark, path, 1)
    append(spark, path, 1)  # Spark had not noted it as committed
    append(spark, path, 2)
    assert appended(spark, path) == [(batch, n) for batch in range(3) for n in range(6)]
    kept = [file.name for file in (path / "_headrace").rglob("*") if not file.name.startswith(".")]
    assert sorted(kept) == ["2.json", "sink"]
    read = sorted(pyarrow.dataset.dataset(path, partitioning="hive").to_table()["id"].to_pylist())
    assert read == sorted([*range(6)] * 3)


@pytest.mark.parametrize("kind", ["json", "csv", "orc"])
def test_formats_that_are_appended_once(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    for _ in range(2):
        frame = spark.range(3).selectExpr("id")
        append_once(frame.write.format(kind), HadoopFolder(spark, str(tmp_path / kind)), "sink", 0)
    read = spark.read.format(kind).schema("id long").load(str(tmp_path / kind)).collect()
    assert sorted(row.id for row in read) == [0, 1, 2]
