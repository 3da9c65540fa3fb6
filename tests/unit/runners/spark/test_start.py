"""What is said when a job starts on Spark, and the parallelism that it gets."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import ConfigurationError
from headrace.graph.stream_graph import StreamGraph
from headrace.runners.launch import program_of
from headrace.runners.spark import start
from headrace.runners.spark.checkpoint.checkpoint import Checkpoint
from headrace.runtime.program import JobProgram


def program(**settings: str) -> JobProgram:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({key.replace("_", "."): text for key, text in settings.items()})
    )
    env.from_collection([1]).key_by(lambda n: n).reduce(lambda a, b: a).name("sums").print()
    return program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")


@pytest.mark.parametrize(
    ("cores", "text"),
    [
        (4, "runs on spark://there:7077 with 4 cores, Spark 4.3.0, http://there:4040"),
        (1, "runs on spark://there:7077 with 1 core in 4 tasks, Spark 4.3.0, http://there:4040"),
        (None, "runs on spark://there:7077 with 4 tasks at once, Spark 4.3.0, http://there:4040"),
    ],
)
def test_the_line_that_says_where(cores: int | None, text: str) -> None:
    job = program(parallelism_default="4")
    found = start.session_text("spark://there:7077", cores, job, "4.3.0", "http://there:4040")
    assert found == text


def test_fewer_key_groups_than_tasks_are_said() -> None:
    assert start.key_groups_warning(program(parallelism_default="128")) is None
    warning = start.key_groups_warning(program(parallelism_default="400"))
    assert warning == (
        "'sums' has 128 key groups, so of the 400 tasks of its stage 272 have nothing to do"
        " (pipeline.max-parallelism sets the number, before the first run)"
    )


def test_a_stream_without_a_key_needs_no_warning() -> None:
    settings = Configuration.from_dict({"parallelism.default": "2"})
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    whole = env.from_collection([1]).count_window_all(2)
    whole.reduce(lambda a, b: a + b).print()
    job = program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")
    assert [vertex.groups for stage in job.stages for vertex in stage] == [1]
    assert start.key_groups_warning(job) is None


def test_fewer_partitions_than_tasks_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two, four = program(parallelism_default="2"), program(parallelism_default="4")
    with Checkpoint.open(str(tmp_path), two, False) as checkpoint:
        assert start.partitions_warning(two, checkpoint) is None
        assert start.partitions_warning(four, checkpoint) is None  # its state moves
        monkeypatch.setattr(start, "streaming_dataframes", lambda program: ["a DataFrame"])
        assert start.partitions_warning(two, checkpoint) is None
        warning = start.partitions_warning(four, checkpoint)
    assert warning is not None and warning.startswith("each keyed stage has 2 tasks and not 4")


def test_state_of_a_cluster_must_be_reached_by_all(tmp_path: Path) -> None:
    job = program()
    with Checkpoint.open(None, job, False) as checkpoint:
        for master in ("local[2]", "local-cluster[2,1,1024]"):
            start._check_reachable(job, checkpoint, master)
        with pytest.raises(ConfigurationError, match="is on the driver's machine"):
            start._check_reachable(job, checkpoint, "spark://there:7077")
    with Checkpoint.open(str(tmp_path), job, False) as checkpoint:
        start._check_reachable(job, checkpoint, "spark://there:7077")


def test_a_checkpoint_keeps_its_parallelism_until_another_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session: Any = SimpleNamespace()
    monkeypatch.setattr(start, "makes_local_session", lambda settings: False)
    monkeypatch.setattr(start, "get_session", lambda *_: session)
    monkeypatch.setattr(start, "cores_of", lambda spark: 40 if spark is session else 0)
    configuration = Configuration()

    def chosen(configured: int | None, name: str = "job") -> int:
        return start.choose_parallelism(configured, configuration, str(tmp_path), name)

    assert (chosen(None), chosen(5)) == (40, 5)
    three = program(parallelism_default="3")
    with Checkpoint.open(str(tmp_path), three, False, configured_parallelism=2):
        pass  # it was rescaled from 2 to 3
    assert (chosen(None), chosen(2), chosen(3), chosen(5)) == (3, 3, 3, 5)
    assert chosen(None, "another") == 40
    with Checkpoint.open(str(tmp_path), program(parallelism_default="5"), False):
        pass
    assert (chosen(None), chosen(2)) == (5, 2)
    monkeypatch.setenv("HEADRACE_FRESH", "1")
    assert (chosen(None), chosen(2)) == (40, 2)
