"""A checkpoint is replaced by a copy of an earlier moment, under sinks of each kind."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pyarrow.dataset
import pytest
from pyspark.sql import SparkSession

from headrace.common import Configuration, Encoder, Row
from headrace.common.job_client import JobClient
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.dataframe import DataFrameSink
from headrace.datastream.connectors.file_system import FileSink
from headrace.errors import CheckpointError
from headrace.runners.spark.query.dataframes import last_written
from headrace.runners.spark.startup.session import get_session
from headrace.runtime.program import SinkProgram
from tests.connectors.sqlite_log import SqliteLogSink, connect
from tests.connectors.test_sqlite_log import content, make_log

pytestmark = pytest.mark.spark

RECORDS, KEYS = 800, 7


def environment(folder: Path, per_batch: int, **settings: str) -> StreamExecutionEnvironment:
    """A job that writes running sums to a log, to one held file, and as a DataFrame."""
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "execution.checkpointing.dir": str(folder / "checkpoint"),
                "headrace.source.max-records-per-batch": str(per_batch),
                **settings,
            }
        )
    )
    pairs = env.from_sequence(0, RECORDS - 1).map(lambda n: [n % KEYS, n])
    sums = pairs.key_by(lambda pair: pair[0]).reduce(lambda one, other: [one[0], one[1] + other[1]])
    sums.sink_to(SqliteLogSink(str(folder / "log.db"))).uid("log")
    files = FileSink.for_row_format(str(folder / "files"), Encoder.simple_string_encoder())
    sums.map(str).sink_to(files.build()).uid("files")
    rows = sums.map(lambda pair: Row(key=pair[0], total=pair[1]))
    path = str(folder / "frame")
    rows.sink_to(DataFrameSink("parquet", path, schema="key BIGINT, total BIGINT")).uid("frame")
    return env


def run_some(folder: Path) -> None:
    """Three micro-batches and maybe some more."""
    client: JobClient = environment(folder, 40).execute_async("sums")
    first = None
    deadline = time.monotonic() + 120
    while True:
        assert time.monotonic() < deadline and not client.get_job_execution_result().done()
        found = client.get_accumulators().result().get("microBatches")
        first = found if first is None else first
        if first is not None and found >= first + 3:
            break
        time.sleep(0.05)
    client.cancel().result()


def expected() -> Counter[str]:
    return Counter(str([n % KEYS, sum(range(n % KEYS, n + 1, KEYS))]) for n in range(RECORDS))


def in_the_log(folder: Path) -> Counter[str]:
    return Counter(map(str, content(folder / "log.db")))


def in_the_frame(folder: Path) -> Counter[str]:
    rows = pyarrow.dataset.dataset(folder / "frame", format="parquet").to_table().to_pylist()
    return Counter(str([row["key"], row["total"]]) for row in rows)


def last_marker(folder: Path) -> int:
    with closing(connect(str(folder / "log.db"))) as client:
        last: int = client.execute("SELECT max(batch) FROM marker").fetchone()[0]
    return last


@pytest.mark.timeout(300)
def test_a_copy_of_a_checkpoint_is_put_in_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_log(tmp_path / "log.db")
    checkpoint, copy = tmp_path / "checkpoint", tmp_path / "copy"
    run_some(tmp_path)
    shutil.copytree(checkpoint, copy)
    kept, ends_with = in_the_log(tmp_path), last_marker(tmp_path)
    run_some(tmp_path)
    before, last = in_the_log(tmp_path), last_marker(tmp_path)
    assert last > ends_with and in_the_frame(tmp_path) == before
    shutil.rmtree(checkpoint)
    shutil.copytree(copy, checkpoint)

    for _ in range(2):
        with pytest.raises(CheckpointError) as caught:
            environment(tmp_path, 70).execute("sums")
        message = caught.value.message
        assert f"it ends with micro-batch {ends_with}, and" in message
        for sink in ("SqliteLogSink' (uid=log)", "FileSink' (uid=files)", "' (uid=frame)"):
            assert f"{sink} has micro-batch {last}" in message
    assert in_the_log(tmp_path) == before

    environment(tmp_path, 70, **{"headrace.restore.write-again": "true"}).execute("sums")
    assert "under new sink ids" in capsys.readouterr().err
    assert in_the_log(tmp_path) == expected() + (before - kept)
    assert in_the_frame(tmp_path) == expected() + (before - kept)
    (held,) = (tmp_path / "files").glob("part-*")  # nothing was visible of it until now
    assert Counter(held.read_text().splitlines()) == expected()


def delta_log(table: Path, *versions: tuple[str, int]) -> None:
    """A log as the Delta protocol describes it, with an action for each (app, version)."""
    log = table / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    for app, version in versions:
        number = len([*log.glob("*.json")])
        actions = [{"commitInfo": {"operation": "WRITE"}}, {"add": {"path": 'a "txn" file'}}]
        actions.append({"txn": {"appId": app, "version": version, "lastUpdated": 1}})
        text = "\n".join(map(json.dumps, actions))
        (log / f"{number:020}.json").write_text(text)


def checkpoint_of_log(spark: SparkSession, table: Path, version: int, app: str, last: int) -> None:
    log = table / "_delta_log"
    rows = [(None,), ((app, last, 1),), (("another", 99, 1),)]
    frame = spark.createDataFrame(rows, "txn STRUCT<appId STRING, version LONG, lastUpdated LONG>")
    frame.coalesce(1).write.parquet(str(table / "aside"))
    (written,) = (table / "aside").glob("*.parquet")
    written.rename(log / f"{version:020}.checkpoint.parquet")
    shutil.rmtree(table / "aside")
    (log / "_last_checkpoint").write_text(json.dumps({"version": version, "size": 3}))


def test_deltas_log_says_which_micro_batches_a_table_has(tmp_path: Path) -> None:
    spark, table = get_session({}, None), tmp_path / "table"
    by_path = SinkProgram("s", "s", None, DataFrameSink("delta", str(table)))
    assert last_written(spark, by_path, "s-1") == -1
    delta_log(table, ("s-1", 0), ("s-1", 1), ("another", 7))
    assert last_written(spark, by_path, "s-1") == 1
    assert last_written(spark, by_path, "s-2") == -1
    checkpoint_of_log(spark, table, 2, "s-1", 5)
    assert last_written(spark, by_path, "s-1") == 5  # of older commits only the checkpoint counts
    delta_log(table, ("s-1", 6))
    assert last_written(spark, by_path, "s-1") == 6
    spark.range(1).write.mode("append").parquet(str(table))
    spark.sql(f"CREATE TABLE older_copy (id LONG) USING parquet LOCATION '{table}'")
    try:
        by_name = SinkProgram("s", "s", None, DataFrameSink("delta", table="older_copy"))
        assert last_written(spark, by_name, "s-1") == 6
    finally:
        spark.sql("DROP TABLE older_copy")
    assert last_written(spark, by_name, "s-1") == -1
    at_least_once = SinkProgram("s", "s", None, DataFrameSink("jdbc"))
    assert last_written(spark, at_least_once, "s-1") is None
