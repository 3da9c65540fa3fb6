"""Where a job runs: what submits a program decides."""

from __future__ import annotations

import logging
import os
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.runners.spark.modules import is_local
from headrace.runners.spark.startup.session import (
    WORKERS_PYTHON,
    _warn_ignored,
    _workers_start_as,
    quiet_py4j,
    session_line,
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
        "headrace: there is a SparkSession already, so python.executable (its workers run"
        " /one/python) has no effect\n"
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


def test_the_line_that_says_where() -> None:
    assert session_line("local[2,4]", "4.3.0", None) == "headrace: runs on local[2,4], Spark 4.3.0"
    assert session_line("yarn", "4.3.0", "http://here:4040").endswith(", http://here:4040")


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
