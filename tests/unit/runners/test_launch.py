"""The settings of a configuration that runners get."""

import signal
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import ConfigurationError, UnsupportedError
from headrace.graph.stream_graph import StreamGraph
from headrace.runners import launch
from headrace.runners.launch import program_of, start
from headrace.runtime.program import Settings

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


def test_what_stays_open_must_be_kept() -> None:
    settings = {"headrace.stop.drain": "false"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match="kept nowhere") as caught:
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
    assert "what stays open is gone at the end" in capsys.readouterr().err


def test_the_local_runner_needs_no_name() -> None:
    settings = {**FOLDER, "execution.target": "local"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    with env.from_collection([1]).execute_and_collect() as results:  # type: ignore[union-attr]
        assert list(results) == [1]


class Interrupted:
    """A job whose waiting and whose cancelling are interrupted."""

    def __init__(self) -> None:
        self.cancelled = 0
        self.handler: Any = None

    def wait(self) -> None:
        self.handler = signal.getsignal(signal.SIGINT)
        raise KeyboardInterrupt

    def cancel(self) -> None:
        self.cancelled += 1
        raise KeyboardInterrupt


def test_a_second_interrupt_leaves_the_job(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Interrupted()
    monkeypatch.setattr(launch, "start", lambda *_: job)
    with pytest.raises(KeyboardInterrupt) as raised:
        launch.execute(None, Configuration(), "job")  # type: ignore[arg-type]
    assert job.cancelled == 1
    printed = capsys.readouterr().err.splitlines()
    assert printed == ["cancelling the job", "headrace: the job's end is not waited for"]
    assert raised.value.__suppress_context__


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
