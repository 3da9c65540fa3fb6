"""The settings of a configuration that runners get."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Encoder, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from headrace.errors import ConfigurationError, UnsupportedError
from headrace.graph.stream_graph import StreamGraph
from headrace.runners import launch, signals
from headrace.runners.launch import program_of, start
from headrace.runtime.program import JobProgram, Settings

RECORDS = "headrace.source.max-records-per-batch"
BYTES = "headrace.source.max-bytes-per-batch"


def settings_of(values: dict[str, str]) -> Settings:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values))
    env.from_collection([1]).print()
    return program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job").settings


@pytest.mark.parametrize("tasks", [1, 2, 400])
def test_a_micro_batch_may_grow_with_the_tasks_that_share_it(tasks: int) -> None:
    found = settings_of({"parallelism.default": str(tasks)})
    assert (found.max_records, found.max_bytes) == (4_000_000 * tasks, (128 << 20) * tasks)
    assert found.pace is not None and found.pace.max_records == found.max_records


def test_bounds_that_were_chosen_are_for_the_whole_micro_batch() -> None:
    found = settings_of({"parallelism.default": "400", RECORDS: "70", BYTES: "1kb"})
    assert (found.max_records, found.max_bytes) == (70, 1024)


def test_the_local_runner_takes_little_at_once() -> None:
    found = settings_of({"parallelism.default": "400", "execution.target": "local"})
    assert found.max_records == 50_000


FOLDER = {"execution.checkpointing.dir": "/nowhere/at/all"}


def test_a_job_without_a_name_gets_no_checkpoint_folder() -> None:
    """All of them would share one."""
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(FOLDER))
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match="this job has none") as caught:
        start(StreamGraph.of(env._take_sinks()), env._configuration, None)
    assert "pipeline.name" in str(caught.value.hint)
    assert caught.value.where == FOLDER


def test_a_checkpoint_on_unknown_storage_is_refused_before_spark_starts() -> None:
    folder = {"execution.checkpointing.dir": "gs://bucket/checkpoints"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(folder))
    env.from_collection([1]).print()
    with pytest.raises(UnsupportedError, match=r"^checkpoints .* on gs: are not") as caught:
        start(StreamGraph.of(env._take_sinks()), env._configuration, "job")
    assert "hdfs://" in str(caught.value.hint)
    assert "read" not in str(caught.value), "that is about files of a source"


@pytest.mark.parametrize("on_cluster", [True, False])
def test_on_a_cluster_paths_are_those_of_the_driver(
    on_cluster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Executors have working folders of their own. Elsewhere splits keep their names."""
    pytest.importorskip("pyspark")
    started: list[JobProgram] = []
    monkeypatch.setattr(launch, "_is_on_cluster", lambda configuration: on_cluster)
    monkeypatch.setattr(
        "headrace.runners.spark.start.start_on_spark",
        lambda program, *_, **__: started.append(program),
    )
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "in").build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    lines.sink_to(FileSink.for_row_format("out", Encoder.simple_string_encoder()).build())
    start(StreamGraph.of(env._take_sinks()), env._configuration, "job")
    (program,) = started
    folder = Path.cwd() if on_cluster else Path()
    assert [each.source.locator for each in program.sources] == [str(folder / "in")]
    assert [each.sink.locator for each in program.sinks] == [str(folder / "out")]


def test_what_stays_open_must_be_kept() -> None:
    settings = {"headrace.stop.drain": "false"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match="no checkpoint to keep") as caught:
        start(StreamGraph.of(env._take_sinks()), env._configuration, "job")
    assert "execution.checkpointing.dir" in str(caught.value.hint)


def test_what_is_not_drained_runs_as_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"headrace.stop.drain": "false", "execution.runtime-mode": "AUTOMATIC"}
    settings["execution.target"] = "local"
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.from_collection([1]).print()
    graph = StreamGraph.of(env._take_sinks())
    assert not program_of(graph, env._configuration, "job").batch
    start(graph, env._configuration, "job").wait()
    assert "open windows and timers are lost at" in capsys.readouterr().err


def test_the_local_runner_needs_no_name() -> None:
    settings = {**FOLDER, "execution.target": "local"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    with env.from_collection([1]).execute_and_collect() as results:  # type: ignore[union-attr]
        assert list(results) == [1]


class Interrupted:
    """A job whose waiting is interrupted."""

    def __init__(self) -> None:
        self.cancelled = 0
        self.handler: Any = None

    def wait(self) -> None:
        self.handler = signal.getsignal(signal.SIGINT)
        raise KeyboardInterrupt

    def cancel(self) -> None:
        self.cancelled += 1


class InterruptedTwice(Interrupted):
    def cancel(self) -> None:
        super().cancel()
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(20)


def test_a_second_interrupt_leaves_the_job(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = InterruptedTwice()
    monkeypatch.setattr(launch, "start", lambda *_: job)
    with pytest.raises(KeyboardInterrupt) as raised:
        launch.execute(None, Configuration(), "job")  # type: ignore[arg-type]
    assert job.cancelled == 1
    printed = capsys.readouterr().err.splitlines()
    assert printed == ["cancelling the job", "headrace: not waiting for the end of the job"]
    assert raised.value.__suppress_context__


class Signalled:
    """A job that waits until the process gets a signal, and whose micro-batch then takes long."""

    def __init__(self, number: int, seconds: float = 0) -> None:
        self._number, self._seconds = number, seconds
        self.cancelled = False

    def wait(self) -> None:
        os.kill(os.getpid(), self._number)
        time.sleep(20)

    def cancel(self) -> None:
        time.sleep(self._seconds)
        self.cancelled = True


ENDING = [signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def _default_signals() -> Iterator[None]:
    """Give signals their default actions: under nohup, or in the background, some are ignored."""
    default = dict.fromkeys(ENDING, signal.SIG_DFL) | {signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, action) for number, action in default.items()}
    yield
    for number, action in before.items():
        signal.signal(number, action)


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_the_job_after_its_micro_batch(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Signalled(number)
    monkeypatch.setattr(launch, "start", lambda *_: job)
    with pytest.raises(SystemExit) as raised:
        launch.execute(None, Configuration(), "job")  # type: ignore[arg-type]
    assert raised.value.code == 128 + number and job.cancelled
    assert capsys.readouterr().err == "cancelling the job\n"
    assert signal.getsignal(number) is signal.SIG_DFL


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_waits_for_a_micro_batch_no_longer_than_the_timeout(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(signals, "_end_at_once", ended.append)
    monkeypatch.setattr(launch, "start", lambda *_: Signalled(number, 20))
    configuration = Configuration.from_dict({"headrace.stop.timeout": "10 ms"})
    with pytest.raises(SystemExit):
        launch.execute(None, configuration, "job")  # type: ignore[arg-type]
    assert ended == [number]
    assert "did not end within 0.01 s; the next start repeats it" in capsys.readouterr().err


def test_a_handler_of_the_user_keeps_its_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    class Ending(Signalled):
        def wait(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(launch, "start", lambda *_: Ending(signal.SIGTERM))
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        launch.execute(None, Configuration(), "job")  # type: ignore[arg-type]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]


PROGRAM = """
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource

settings = {"execution.target": "local"}
env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
source = DataGeneratorSource(lambda index: index, rate_per_second=100)
env.from_source(source, None, "numbers").print()
try:
    env.execute("signalled")
finally:
    print("cleaned up", flush=True)
"""


@pytest.mark.parametrize("number", ENDING)
def test_a_program_ends_with_the_signals_exit_code(number: int, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
    assert child.returncode == 128 + number, err
    assert out.endswith("cleaned up\n") and "cancelling the job" in err


@pytest.mark.parametrize("of_pyspark", [True, False])
def test_an_interrupt_does_not_call_into_the_jvm(
    of_pyspark: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PySpark's handler is put aside while a job runs; one of the user's is not."""

    def handler(number: int, frame: Any) -> None:
        raise AssertionError("it is not to be called")

    if of_pyspark:
        handler.__module__ = "pyspark.core.context"
    job = Interrupted()
    monkeypatch.setattr(launch, "start", lambda *_: job)
    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            launch.execute(None, Configuration(), "job")  # type: ignore[arg-type]
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert job.handler is (signal.default_int_handler if of_pyspark else handler)
