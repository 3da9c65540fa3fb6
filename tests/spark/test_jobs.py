"""The life of a job on Spark: cancelled, gone on with, begun anew, in a session of the user's."""

from __future__ import annotations

import json
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as parquet
import pytest
from pyspark.sql import SparkSession

from headrace.common import Configuration, Encoder, WatermarkStrategy
from headrace.common._options.catalogue import FRESH_VARIABLE
from headrace.common.job_client import JobClient
from headrace.common.job_status import JobStatus
from headrace.common.time import Duration
from headrace.connector import (
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.datastream import MapFunction, StreamExecutionEnvironment
from headrace.datastream._build.execution import _build_graph
from headrace.datastream.connectors.dataframe import DataFrameSink
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.file_system import (
    FileSink,
    FileSource,
    RollingPolicy,
    StreamFormat,
)
from headrace.errors import CheckpointError, HeadraceError
from headrace.metrics import BatchCounts
from headrace.runners import launch
from headrace.runners.observers import JobInfo, JobObserver
from tests.pipelines import counted

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


def task_records(folder: Path) -> list[int]:
    """How many records a source task was worth in each micro-batch that the job has planned."""
    files = (folder / "checkpoint").glob("*/spark/offsets/[0-9]*")
    offsets = [
        json.loads(path.read_text().splitlines()[2])
        for path in sorted(files, key=lambda path: int(path.name))
    ]
    return [offset["cut"].get("task_records", 1) for offset in offsets]


@pytest.mark.beam("Misc/Checkpoint", runners="streaming")
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

    env = environment(execution__checkpointing__dir=str(tmp_path / "checkpoint"))
    env.from_sequence(0, RECORDS - 1).print()
    with pytest.raises(CheckpointError, match=r"no operator 'Sum' .* its states: headrace.reduce"):
        env.execute("sums")

    monkeypatch.setenv(FRESH_VARIABLE, "1")
    start(tmp_path).get_job_execution_result().result()
    assert written(tmp_path) == sums() + sums()
    first, *later = task_records(tmp_path)
    assert first == 1  # nothing is known yet of what a record costs
    assert max(later) > 1


def test_a_source_that_is_added_to_a_finished_job_is_read(tmp_path: Path) -> None:
    def run(*first: int) -> Counter[str]:
        env = environment(execution__checkpointing__dir=str(tmp_path / "checkpoint"))
        numbers = [env.from_sequence(n, n + 9).uid(f"from {n}") for n in first]
        together = numbers[0].union(*numbers[1:]) if numbers[1:] else numbers[0]
        pairs = together.map(lambda n: (n % KEYS, n))
        policy = RollingPolicy.on_checkpoint_rolling_policy()
        files = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
        sums = pairs.key_by(lambda pair: pair[0]).sum(1).uid("sums")
        sums.sink_to(files.with_rolling_policy(policy).build()).uid("files")
        env.execute("grows")
        return written(tmp_path)

    def sums_up_to(records: int) -> Counter[str]:
        return Counter(str((n % KEYS, sum(range(n % KEYS, n + 1, KEYS)))) for n in range(records))

    assert run(0) == sums_up_to(10)
    assert run(0, 10) == sums_up_to(20)
    assert run(10, 20, 0) == sums_up_to(30)


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


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_operators_and_sources_count_as_on_the_local_runner(mode: str) -> None:
    batches: list[BatchCounts] = []
    env = counted.environment(
        **{
            "execution.runtime-mode": mode,
            "parallelism.default": "2",
            "headrace.source.max-records-per-batch": "16",
        }
    )
    env.register_job_listener(SimpleNamespace(on_batch=batches.append))
    for name, stream in counted.program(env).items():
        sink = stream._collecting_sink()
        sink.name = name
        env._pending_sinks.append(sink)
    env.execute("counts")
    found = batches[-1].total_operators
    assert counted.passed(found) == counted.IN_AND_OUT
    assert counted.passed(e for b in batches for e in b.subtasks) == counted.IN_AND_OUT
    late = {each.name: n for each in found if (n := each.late_records_dropped)}
    assert late == ({} if mode == "BATCH" else {"windows": counted.LATE_RECORDS})
    heads = {each.name: each for each in found if each.watermark_ms is not None}
    assert heads.keys() == {"windows", "count"}
    assert [each.watermark_ms for each in heads.values()] == [2**63 - 1] * 2
    assert heads["count"].state_entries == 3
    assert (heads["count"].state_bytes is None) == (mode == "BATCH")
    assert all(each.bytes_in > 0 and each.bytes_out > 0 for each in heads.values())
    assert all(each.busy_ms > 0 for each in heads.values())
    first = batches[-1].source("first")
    assert (first.records, first.pending_records) == (len(counted.FIRST), 0)
    if mode == "STREAMING":
        assert [each.batch_id for each in batches] == [*range(len(batches))]
        assert batches[0].source("first").pending_records == len(counted.FIRST) - 8


def test_a_bounded_source_with_a_rate_is_read_to_its_end() -> None:
    source = DataGeneratorSource(lambda index: index, count=6, rate_per_second=4)
    stream = environment().from_source(source, WatermarkStrategy.no_watermarks(), "slow")
    with stream.execute_and_collect() as results:  # type: ignore[union-attr]
        assert sorted(results) == [0, 1, 2, 3, 4, 5]


def test_a_job_without_records_ends() -> None:
    with environment().from_collection([]).execute_and_collect() as results:  # type: ignore[union-attr]
        assert list(results) == []


@dataclass(frozen=True)
class CommandLines(Sink):
    """Writes the command line of every process that a record meets, with its own two at the end."""

    path: str

    def writer(self, context: WriterContext) -> SinkWriter:
        return CommandLinesWriter()

    def committer(self, context: CommitterContext) -> Committer:
        return CommandLinesCommitter(self.path)


@dataclass
class CommandLinesWriter(SinkWriter):
    values: list[list[str]] = field(default_factory=list)

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        self.values += [[*value, command_line()] for value in values]

    def prepare_commit(self) -> Any:
        return self.values


@dataclass
class CommandLinesCommitter(Committer):
    path: str

    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        with open(self.path, "a") as file:
            for value in (value for values in committables for value in values):
                file.write("\t".join([*value, command_line()]) + "\n")


def command_line() -> str:
    return Path("/proc/self/cmdline").read_bytes().replace(b"\0", b" ").decode()


def test_every_process_of_a_job_is_forked(tmp_path: Path) -> None:
    """One that is not imports everything anew, and each garbage collection goes through all of it.

    A process that is forked has the command line of the server.
    """
    env = environment()
    read = env.from_sequence(0, 3).map(lambda n: (n, command_line()))
    latest = read.key_by(lambda pair: pair[0]).reduce(lambda first, second: second)
    latest.map(lambda pair: [pair[1], command_line()]).sink_to(
        CommandLines(str(tmp_path / "processes"))
    )
    env.execute("forks")
    processes = [line.split("\t") for line in (tmp_path / "processes").read_text().splitlines()]
    assert [len(of_record) for of_record in processes] == [4, 4, 4, 4]
    assert [c for of_record in processes for c in of_record if ".fork_server " not in c] == []


def test_a_second_collection_of_one_name_is_refused(tmp_path: Path) -> None:
    def collected(name: str) -> list[int]:
        env = environment(execution__checkpointing__dir=str(tmp_path))
        with env.from_collection([1, 2]).execute_and_collect(name) as results:  # type: ignore[union-attr]
            return sorted(results)

    assert collected("first") == [1, 2]
    with pytest.raises(CheckpointError, match="there is nothing left to collect") as caught:
        collected("first")
    assert "a name of its own" in str(caught.value.hint)
    assert collected("second") == [1, 2]


def test_a_first_run_that_fails_does_not_pin_its_shape(tmp_path: Path) -> None:
    def fails(value: int) -> int:
        raise OSError("not now")

    env = environment(pipeline__name="job", execution__checkpointing__dir=str(tmp_path))
    env.from_collection([1, 2]).map(fails).print()
    with pytest.raises(OSError, match="not now"):
        env.execute()
    env = environment(pipeline__name="job", execution__checkpointing__dir=str(tmp_path))
    mended = env.from_collection([1, 3]).key_by(lambda value: value % 2).sum()
    with mended.execute_and_collect() as results:
        assert sorted(results) == [1, 4]


def test_a_failure_is_borne_by_a_restart(tmp_path: Path) -> None:
    failures = tmp_path / "failures"
    failures.write_text("")

    class FailsSixTimes(MapFunction):
        def map(self, value: int) -> int:
            if value == 57 and len(failures.read_text()) < 6:
                with failures.open("a") as file:
                    file.write("x")
                raise OSError("not now")
            return value

    env = environment(
        restart_strategy__type="fixed-delay",
        restart_strategy__fixed_delay__attempts="9",
        restart_strategy__fixed_delay__delay="10 ms",
        headrace__source__max_records_per_batch="20",
    )
    numbers = env.from_sequence(0, 99).map(FailsSixTimes())
    with numbers.key_by(lambda n: n % 3).sum().execute_and_collect() as results:
        sums = Counter(results)
    assert sums == Counter(sum(range(n % 3, n + 1, 3)) for n in range(100))
    # Spark itself tries a task four times, then the job fails
    assert failures.read_text() == "xxxxxx"


def test_new_tokens_of_hdfs_take_a_new_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    attempts: list[Any] = []

    class FindsNewTokens:
        def __init__(self, *of: Any) -> None:
            attempts.append(self)

        def has_new_tokens(self) -> bool:
            return len(attempts) < 3 and bool(written(tmp_path))

    monkeypatch.setattr("headrace.runners.spark.job.TokenWatch", FindsNewTokens)
    start(tmp_path).get_job_execution_result().result()
    assert len(attempts) == 3
    assert capfd.readouterr().err.count("'sums' continues with new delegation tokens") == 2
    assert written(tmp_path) == sums()


def test_what_goes_wrong_beside_the_driver_is_reported_as_it_was(tmp_path: Path) -> None:
    env = environment()
    lines = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(tmp_path / "gone")
    )
    env.from_source(lines.build(), WatermarkStrategy.no_watermarks(), "lines").print()
    with pytest.raises(HeadraceError, match="gone"):
        env.execute("reads nothing")


def counts_of_lines(folder: Path, deeper: bool, until: str) -> None:
    """Count the lines of a watched folder by text, until Spark has committed a micro-batch."""
    env = environment(
        pipeline__name="lines", execution__checkpointing__dir=str(folder / "checkpoint")
    )
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder / "in"))
    source = lines.monitor_continuously(Duration.of_millis(100)).build()
    ones = env.from_source(source, WatermarkStrategy.no_watermarks(), "in").map(lambda k: (k, 1))
    if deeper:
        ones = ones.rebalance().map(lambda pair: pair)
    counts = ones.key_by(lambda pair: pair[0]).sum(1).uid("counts")
    sink = DataFrameSink(schema="k STRING, n BIGINT", path=str(folder / "out"), format="parquet")
    counts.sink_to(sink).uid("out")
    client = env.execute_async("lines")
    deadline = time.monotonic() + 60
    while not (folder / "checkpoint" / "lines" / until).exists():
        assert time.monotonic() < deadline and not client.get_job_execution_result().done()
        time.sleep(0.05)
    client.cancel().result()


def test_state_moves_to_other_stages_when_nothing_new_has_come(tmp_path: Path) -> None:
    """What the last micro-batch had read is not read again with it."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text("a\nb\na\n")
    counts_of_lines(tmp_path, deeper=False, until="spark/commits/0")
    counts_of_lines(tmp_path, deeper=True, until="spark-1/commits/0")
    (tmp_path / "in" / "2.txt").write_text("a\n")
    counts_of_lines(tmp_path, deeper=True, until="spark-1/commits/1")
    found = [row for path in (tmp_path / "out").glob("*.parquet") for row in _rows(path)]
    assert sorted(found) == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]


def _rows(path: Path) -> list[tuple[str, int]]:
    return [(row["k"], row["n"]) for row in parquet.read_table(path).to_pylist()]


def test_a_source_that_is_added_while_the_last_micro_batch_waits_is_read(tmp_path: Path) -> None:
    """That micro-batch ends every source of the program which has planned it."""

    def run(fails: bool) -> None:
        def passing(value: int) -> int:
            if fails and value >= 130:
                raise OSError("not now")
            return value

        env = StreamExecutionEnvironment(
            Configuration.from_dict(
                {
                    "parallelism.default": "2",
                    "headrace.source.max-records-per-batch": "40",
                    "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
                }
            )
        )
        stream = env.from_sequence(0, 159).uid("first").map(passing)
        if not fails:
            stream = stream.union(env.from_sequence(1_000, 1_019).uid("second"))
        out = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
        stream.sink_to(out.build()).uid("out")
        env.execute("added")

    with pytest.raises(OSError, match="not now"):
        run(fails=True)
    run(fails=False)
    parts = (path for path in (tmp_path / "out").rglob("part-*") if path.is_file())
    written = sorted(int(line) for path in parts for line in path.read_text().splitlines())
    assert written == [*range(160), *range(1_000, 1_020)]


class Executors(JobObserver):
    """Sees how many executors a job has had, at its end."""

    def on_start(self, job: JobInfo) -> None:
        self.job = job

    def on_end(self, status: JobStatus) -> None:
        self.found = self.job.find_slots()


def test_a_batch_knows_its_executors() -> None:
    keys = {"execution.runtime-mode": "BATCH", "parallelism.default": "2"}
    configuration = Configuration.from_dict(keys)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_sequence(0, 9).map(lambda n: n * n).print()
    graph, seen = _build_graph(env._take_sinks(), configuration), Executors()
    launch.start(graph, configuration, "squares", observers=[seen]).wait()
    assert seen.found is not None and seen.found.executors == 1 and seen.found.tasks >= 1
