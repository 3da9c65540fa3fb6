"""The life of a job on Spark: cancelled, gone on with, begun anew, in a session of the user's."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.common import Configuration, Encoder
from headrace.common.job_client import JobClient
from headrace.common.job_status import JobStatus
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink, RollingPolicy
from headrace.runners.launch import FRESH_VARIABLE

pytestmark = pytest.mark.spark

RECORDS = 400
KEYS = 7


def environment(**settings: str) -> StreamExecutionEnvironment:
    keys = {key.replace("__", ".").replace("_", "-"): value for key, value in settings.items()}
    configuration = Configuration.from_dict({"parallelism.default": "2", **keys})
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def start(folder: Path) -> JobClient:
    """Running sums per key into files, 40 records to a micro-batch."""
    env = environment(
        pipeline__name="sums",
        execution__checkpointing__dir=str(folder / "checkpoint"),
        headrace__source__max_records_per_batch="40",
    )
    numbers = env.from_sequence(0, RECORDS - 1).map(lambda n: (n % KEYS, n))
    numbers.key_by(lambda pair: pair[0]).sum(1).sink_to(
        FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .build()
    )
    return env.execute_async("sums")


def sums() -> Counter[str]:
    return Counter(str((n % KEYS, sum(range(n % KEYS, n + 1, KEYS)))) for n in range(RECORDS))


def written(folder: Path) -> Counter[str]:
    files = [path for path in (folder / "out").rglob("part-*") if path.is_file()]
    return Counter(line for path in files for line in path.read_text().splitlines())


def test_a_cancelled_job_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = start(tmp_path)
    deadline = time.monotonic() + 120
    while client.get_accumulators().result().get("microBatches", 0) < 2:
        assert time.monotonic() < deadline and not client.get_job_execution_result().done()
        time.sleep(0.05)
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED
    before = written(tmp_path)
    assert before and before < sums()  # whole micro-batches of it, not all

    client = start(tmp_path)
    client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert written(tmp_path) == sums()

    start(tmp_path).get_job_execution_result().result()  # there is nothing left to do
    assert written(tmp_path) == sums()

    monkeypatch.setenv(FRESH_VARIABLE, "1")
    start(tmp_path).get_job_execution_result().result()
    assert written(tmp_path) == sums() + sums()


def test_a_job_runs_in_the_active_session_and_leaves_it_as_it_was() -> None:
    environment().from_collection([1]).print()  # makes a session where there is none
    spark = SparkSession.getActiveSession() or _session()
    spark.conf.set("spark.sql.shuffle.partitions", "11")
    before = {row.key: row.value for row in spark.sql("SET").collect()}
    with environment().from_collection([3, 4]).key_by(lambda v: v).sum().execute_and_collect() as r:
        assert sorted(r) == [3, 4]
    assert SparkSession.getActiveSession() is spark
    assert {row.key: row.value for row in spark.sql("SET").collect()} == before
    assert spark.range(3).count() == 3
    spark.conf.unset("spark.sql.shuffle.partitions")


def _session() -> SparkSession:
    with environment().from_collection([0]).execute_and_collect() as results:
        assert list(results) == [0]
    session = SparkSession.getActiveSession()
    assert session is not None
    return session


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_a_failure_shows_the_users_own_lines(mode: str) -> None:
    def split(pair: str) -> list[str]:
        left, right = pair.split("=")
        return [left, right]

    env = environment(execution__runtime_mode=mode)
    env.from_collection(["a=1", "b"]).flat_map(split).name("split").print()
    with pytest.raises(ValueError, match="not enough values to unpack") as caught:
        env.execute("fails")
    shown = "".join(traceback.format_exception(caught.value))
    assert 'left, right = pair.split("=")' in shown
    assert "operator: split" in shown and "record:   'b'" in shown
    assert "py4j" not in shown and "at org.apache" not in shown
