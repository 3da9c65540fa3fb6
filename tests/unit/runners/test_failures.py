"""What a user is told of an error that is not from the user's code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.errors import JobError
from headrace.operators.keyed_function import KeyedMapSpec
from headrace.runners.spark import job
from headrace.runners.spark.failures import TaskFailure, failure_in, reason_in
from headrace.runners.spark.job import _explained
from headrace.runners.spark.query.wire import telling
from headrace.runtime.keyed_task import TaskInput
from headrace.runtime.user_function import UserFunction
from tests.unit.runtime.keyed import Desk
from tests.unit.runtime.programs import block


def stop(value: Any) -> Any:
    raise StopIteration(value)


NOT_THERE = """\
[PYTHON_DATA_SOURCE_ERROR] Failed to create a data source: Traceback (most recent call last):
  File "/spark/python/worker.py", line 10, in main
    raise ValueError("no \\n matter")

  File "/spark/python/other.py", line 11, in load
    return cloudpickle.loads(data)
           ^^^^^^^^^^^^^^^^^^^^^^^
ModuleNotFoundError: No module named 'headrace'
 SQLSTATE: 38000
\tat org.apache.spark.Some.call(Some.scala:1)
"""


def test_the_reason_behind_a_traceback_is_told() -> None:
    assert reason_in(NOT_THERE) == (
        "[PYTHON_DATA_SOURCE_ERROR] Failed to create a data source:"
        " ModuleNotFoundError: No module named 'headrace'"
    )
    assert reason_in("Job aborted\n\tat org.apache.spark") == "Job aborted"
    assert reason_in(" \n") == ""


def test_a_long_reason_says_that_it_was_cut() -> None:
    told = reason_in("x" * 1_000)
    assert len(told) < 600
    assert told.endswith("x …")


def test_a_stop_iteration_of_a_user_reaches_the_driver() -> None:
    """Tasks are generators, which make a RuntimeError of it."""
    desk = Desk(KeyedMapSpec(UserFunction(stop)))
    task = TaskInput(0, [block("a", keys=["k"])], 0)
    envelopes: Any = desk.task.advance(task, desk.backend(0))
    with pytest.raises(TaskFailure) as raised:
        list(telling(envelopes))
    error = failure_in(str(raised.value))
    assert type(error) is StopIteration and error.args == ("a",)
    assert "key:      'k'" in error.__notes__[0]


def test_workers_without_headrace_are_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(job, "log_path", lambda: tmp_path / "log")
    error = _explained(RuntimeError(NOT_THERE))
    assert isinstance(error, JobError)
    assert "PYSPARK_PYTHON" in (error.hint or "")
    assert error.where == {}, "a log that is not there is named"
    (tmp_path / "log").touch()
    other = _explained(RuntimeError(""))
    assert isinstance(other, JobError)
    assert other.message == "Spark stopped the job: RuntimeError"
    assert (other.where, other.hint) == ({"log": str(tmp_path / "log")}, None)
