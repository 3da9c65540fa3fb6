"""Where a job runs: what submits a program decides."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.errors import UnsupportedError
from headrace.runners.spark.modules import is_local
from headrace.runners.spark.startup import session
from headrace.runners.spark.startup.session import (
    WORKERS_PYTHON,
    _cluster_settings,
    _local_settings,
    _socket_settings,
    _warn_ignored,
    _workers_start_as,
    checkpoint_settings,
    makes_local_session,
    quiet_py4j,
    refuse_connect,
    runs_on_cluster,
    submitted_settings,
    was_submitted,
)


def test_a_session_that_runs_keeps_its_interpreter(capsys: pytest.CaptureFixture[str]) -> None:
    context = SimpleNamespace(applicationId="app-1", pythonExec="/one/python")
    spark: Any = SimpleNamespace(sparkContext=context, conf={"spark.executor.memory": "1g"})
    _warn_ignored(spark, {WORKERS_PYTHON: "/one/python", "spark.executor.memory": "1g"})
    assert capsys.readouterr().err == ""
    _warn_ignored(spark, {WORKERS_PYTHON: "/two/python"})
    assert capsys.readouterr().err == (
        "headrace: a SparkSession is active already, so python.executable (its workers run"
        " /one/python) has no effect: set it where the session is made\n"
    )


def test_the_interpreter_that_a_job_chose_counts_while_workers_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "of-the-user")
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    with _workers_start_as("ours"):
        assert os.environ["PYSPARK_PYTHON"] == "of-the-user"
    with _workers_start_as("chosen", chosen=True):
        assert os.environ["PYSPARK_PYTHON"] == os.environ["PYSPARK_DRIVER_PYTHON"] == "chosen"
    assert os.environ["PYSPARK_PYTHON"] == "of-the-user"
    assert "PYSPARK_DRIVER_PYTHON" not in os.environ


def test_who_submits_is_seen_by_the_gateway() -> None:
    assert was_submitted({"PYSPARK_GATEWAY_PORT": "1", "PYSPARK_GATEWAY_SECRET": "s"})
    assert not was_submitted({"PYSPARK_PYTHON": "python3"})


def test_what_was_submitted_stays() -> None:
    submitted = {
        "spark.master": "spark://there:7077",
        "spark.app.name": "theirs",
        "spark.sql.session.timeZone": "Europe/Paris",
    }
    added = submitted_settings(submitted, {"spark.executor.memory": "3g"})
    assert not submitted.keys() & added.keys()
    assert added["spark.executor.memory"] == "3g"
    assert added["spark.sql.streaming.pollingDelay"] == "10ms"
    # what is for this machine, or for a JVM that starts, would break a cluster
    here = ("spark.driver", "spark.ui", "spark.python.daemon")
    assert not [key for key in added if key.startswith(here)]


def test_workers_of_this_machine_are_forked_with_everything_imported() -> None:
    assert "spark.python.daemon.module" in submitted_settings({"spark.master": "local[2]"}, {})


@pytest.mark.parametrize(
    ("master", "local"),
    [("local", True), ("local[*]", True), ("local[2,4]", True), ("local-cluster[2,1,512]", False),
     ("spark://there:7077", False), ("yarn", False)],
)  # fmt: skip
def test_local_masters(master: str, local: bool) -> None:
    assert is_local(master) is local


@pytest.fixture
def nothing_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Nothing is set outside of the program; returns the folder for ``spark-defaults.conf``."""
    for name in ("PYSPARK_SUBMIT_ARGS", "MASTER", "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setattr(session, "running_session", lambda: None)
    return tmp_path


def test_a_local_session_is_made_where_nothing_says_otherwise(
    nothing_outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert makes_local_session({})
    assert makes_local_session({"spark.master": "local[3]"})
    assert not makes_local_session({"spark.master": "spark://there:7077"})
    monkeypatch.setenv("MASTER", "yarn")
    assert not makes_local_session({})
    monkeypatch.delenv("MASTER")
    (nothing_outside / "spark-defaults.conf").write_text("spark.master  k8s://https://there\n")
    assert not makes_local_session({})
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master local[2] pyspark-shell")
    assert makes_local_session({})


def test_a_cluster_is_known_before_there_is_a_session(
    nothing_outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not runs_on_cluster({})
    assert runs_on_cluster({"spark.master": "spark://there:7077"})
    monkeypatch.setenv("MASTER", "yarn")
    assert runs_on_cluster({})
    for master, found in (("local[2]", False), ("spark://there:7077", True)):
        running = SimpleNamespace(sparkContext=SimpleNamespace(master=master))
        monkeypatch.setattr(session, "running_session", lambda running=running: running)
        assert runs_on_cluster({}) is found


def test_a_cluster_gets_no_setting_of_this_machine() -> None:
    found = _cluster_settings(
        {"spark.executor.memory": "3g"}, {"spark.app.name": "theirs", "spark.master": "yarn"}
    )
    machine = ("spark.driver", "spark.ui.enabled", "spark.python", "spark.master")
    ours = [key for key in found if key.startswith(machine)]
    assert ours == ["spark.python.worker.reuse", "spark.driver.extraJavaOptions"]
    compiler = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    assert found["spark.driver.extraJavaOptions"] == compiler
    assert "spark.app.name" not in found
    assert found["spark.executor.memory"] == "3g"


def test_the_users_defaults_count_over_ours() -> None:
    outside = {
        "spark.driver.memory": "7g",
        "spark.ui.enabled": "true",
        "spark.sql.session.timeZone": "Europe/Paris",
        "spark.driver.extraJavaOptions": "-Dtheirs=1",
    }
    found = _local_settings({"spark.driver.memory": "8g"}, 2, outside)
    assert found["spark.driver.memory"] == "8g"
    assert "spark.ui.enabled" not in found and "spark.sql.session.timeZone" not in found
    assert found["spark.driver.extraJavaOptions"].endswith(" -Dtheirs=1")


@pytest.mark.parametrize(
    ("environment", "settings"),
    [
        ({"SPARK_REMOTE": "sc://there"}, {}),
        ({"SPARK_CONNECT_MODE_ENABLED": "1"}, {}),
        ({"PYSPARK_SUBMIT_ARGS": "--remote sc://there pyspark-shell"}, {}),
        ({}, {"spark.remote": "sc://there"}),
        ({}, {"spark.api.mode": "connect"}),
    ],
)
def test_spark_connect_is_refused(
    environment: dict[str, str],
    settings: dict[str, str],
    nothing_outside: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuse_connect({})
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UnsupportedError, match="needs a classic Spark session"):
        refuse_connect(settings)


def test_a_contradiction_to_the_command_line_is_said(
    nothing_outside: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.a=1 -c spark.b=2 pyspark-shell")
    session._print_contradictions({"spark.a": "1", "spark.b": "3", "spark.c": "4"})
    assert capsys.readouterr().err == (
        "headrace: headrace.spark.conf.* sets spark.b, and overrides the values of the command"
        " line\n"
    )


def test_connections_are_not_logged_in_a_programs_log(caplog: pytest.LogCaptureFixture) -> None:
    py4j = logging.getLogger("py4j")
    before = py4j.level
    try:
        for level, notes in ((logging.NOTSET, []), (logging.INFO, ["closed"])):
            py4j.setLevel(level)
            caplog.clear()
            quiet_py4j()
            with caplog.at_level(logging.INFO):
                logging.getLogger("py4j.clientserver").info("closed")
            assert caplog.messages == notes
    finally:
        py4j.setLevel(before)


def test_how_a_checkpoint_is_written_depends_on_its_storage() -> None:
    manager = "spark.sql.streaming.checkpointFileManagerClass"
    checksums = "spark.sql.streaming.checkpoint.fileChecksum.enabled"
    assert {*checkpoint_settings("/data/checkpoint")} == {manager}
    assert {*checkpoint_settings("s3a://bucket/checkpoint")} == {manager, checksums}
    assert checkpoint_settings("hdfs://nn/checkpoint") == {checksums: "false"}


def test_sockets_lie_in_a_folder_where_their_paths_are_short_enough() -> None:
    fits = Path("/tmp/" + "f" * 56)
    enabled, folder = _socket_settings(fits, "linux").values()
    assert (enabled, folder) == ("true", str(fits))
    assert _socket_settings(Path(f"{fits}f"), "linux") == {}
    assert _socket_settings(fits, "darwin") == {}


def test_a_user_may_have_spark_reach_its_processes_over_tcp() -> None:
    key = "spark.python.unix.domain.socket.enabled"
    assert _local_settings({}, 2)[key] == "true"
    assert _local_settings({key: "false"}, 2)[key] == "false"
    assert key not in _local_settings({}, 2, {key: "false"})  # Spark has it from elsewhere
