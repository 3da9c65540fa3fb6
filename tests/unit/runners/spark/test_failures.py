"""The messages for errors that are not from user code."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import JobError
from headrace.operators.keyed_function import KeyedMapSpec
from headrace.runners.spark import attempt
from headrace.runners.spark.attempt import Attempt, user_error
from headrace.runners.spark.failures import TaskFailure, failure_in, reason_in
from headrace.runners.spark.query.wire import encode_errors
from headrace.runners.spark.reasons import explain_failure
from headrace.runtime.tasks.keyed_task import TaskInput
from headrace.runtime.user_function import UserFunction
from tests.unit.runtime.keyed import Harness
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


def test_the_reason_behind_a_traceback_is_reported() -> None:
    assert reason_in(NOT_THERE) == (
        "[PYTHON_DATA_SOURCE_ERROR] Failed to create a data source:"
        " ModuleNotFoundError: No module named 'headrace'"
    )
    assert reason_in("Job aborted\n\tat org.apache.spark") == "Job aborted"
    assert reason_in(" \n") == ""


def test_a_long_reason_says_that_it_was_cut() -> None:
    reason = reason_in("x" * 1_000)
    assert len(reason) < 600
    assert reason.endswith("x …")


def test_a_stop_iteration_of_a_user_reaches_the_driver() -> None:
    """Tasks are generators, which make a RuntimeError of it."""
    harness = Harness(KeyedMapSpec(UserFunction(stop)))
    task = TaskInput(0, [block("a", keys=["k"])], 0)
    envelopes: Any = harness.task.advance(task, harness.backend(0))
    with pytest.raises(TaskFailure) as raised:
        list(encode_errors(envelopes))
    error = failure_in(str(raised.value))
    assert type(error) is StopIteration and error.args == ("a",)
    assert "key:      'k'" in error.__notes__[0]


def test_the_error_of_workers_without_headrace_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(attempt, "log_path", lambda: tmp_path / "log")
    error = user_error(RuntimeError(NOT_THERE))
    assert isinstance(error, JobError)
    assert "PYSPARK_PYTHON" in (error.hint or "")
    assert error.where == {}, "a log that is not there is named"
    (tmp_path / "log").touch()
    other = user_error(RuntimeError(""))
    assert isinstance(other, JobError)
    assert other.message == "Spark stopped the job: RuntimeError"
    assert (other.where, other.hint) == ({"log": str(tmp_path / "log")}, None)


QUERY = "[STREAM_FAILED] Query [id = 89d3f53a, runId = 873b4197] terminated with exception: "
TASK = (
    "Job aborted due to stage failure: Task 1 in stage 0.0 failed 4 times, most recent failure:"
    " Lost task 1.3 in stage 0.0 (TID 4) (192.0.2.2 executor driver): "
)
DIED = "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider …"


def test_a_worker_that_died_is_reported_in_a_sentence() -> None:
    story = explain_failure(
        f"{QUERY}{TASK}{DIED}\n\tat org.apache.spark", "StreamingQueryException"
    )
    assert story.message.startswith("a Python worker of Spark died without an exception")
    assert story.where == {"task": "1 of stage 0.0, tried 4 times", "host": "192.0.2.2"}
    assert "memory" in (story.hint or "") and "faulthandler" in (story.hint or "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{QUERY}{TASK}{DIED}: Fatal Python error: Segmentation fault\n", "Segmentation fault"),
        (f"{TASK}ExecutorLostFailure (executor 0 exited caused by one of the running tasks)"
         " Reason: Command exited with code 137", "was killed (exit code 137, SIGKILL)"),
        (f"{TASK}ExecutorLostFailure (executor 0 exited caused by one of the running tasks)"
         " Reason: Remote RPC client disassociated.", "Remote RPC client disassociated."),
        (f"{QUERY}{TASK}java.lang.OutOfMemoryError: Java heap space", "out of memory"),
    ],
)  # fmt: skip
def test_how_a_process_ended_is_reported(text: str, message: str) -> None:
    story = explain_failure(text, "Error")
    assert message in story.message
    assert "runId" not in story.message and "Lost task" not in story.message


def test_a_process_that_plans_and_died_is_reported_in_a_sentence() -> None:
    """Spark's exception has no message then."""
    story = explain_failure(f"{QUERY} SQLSTATE: XXKST", "java.io.EOFException")
    assert story.message.startswith("a Python worker of Spark died without an exception")
    other = explain_failure(f"{QUERY} SQLSTATE: XXKST", "java.lang.NullPointerException")
    assert other.message == "Spark stopped the job: java.lang.NullPointerException"


@pytest.mark.parametrize(
    "text",
    [
        "java.io.FileNotFoundException: /cp/state/0/1/2.changelog (Read-only file system)",
        "[CANNOT_LOAD_STATE_STORE] x\n/cp/state/0/1/2.changelog: Read-only file system",
    ],
)
def test_a_read_only_disk_is_reported_in_a_sentence(text: str) -> None:
    error = user_error(RuntimeError(f"{QUERY}{text}"))
    assert isinstance(error, JobError)
    assert error.message == "a disk that Spark writes to is read-only"
    assert error.where["file"] == "/cp/state/0/1/2.changelog"


def test_the_reason_comes_before_ids() -> None:
    story = explain_failure(f"{QUERY}{TASK}java.io.IOException: disk full\n\tat x", "Error")
    assert story.message == "Spark stopped the job: java.io.IOException: disk full"
    assert story.where["task"] == "1 of stage 0.0, tried 4 times"


def test_a_missing_module_says_how_modules_travel() -> None:
    story = explain_failure(NOT_THERE.replace("'headrace'", "'refdata.prices'"), "Error")
    assert "install refdata where the workers run" in (story.hint or "")
    assert "spark.submit.pyFiles" in (story.hint or "")


DAEMON = """org.apache.spark.SparkException:
Error from python worker:
  sh: 1: something
  headrace: Python 3.11 is not on the path of node7
PYTHONPATH was:
  /spark/python/lib/pyspark.zip
org.apache.spark.SparkException: EOFException occurred while reading the port number
"""
VERSIONS = (
    "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: PySparkRuntimeError:"
    " [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than that in driver:"
    " 3.11, PySpark cannot run with different minor versions."
)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (VERSIONS, "Spark's workers run Python 3.12, and the program runs Python 3.11",
         "spark.pyspark.python=python3.11"),
        ('java.io.IOException: Cannot run program "./environment/bin/python": error=2, No such'
         " file", "Spark's workers have no Python at ./environment/bin/python",
         "--archives FILE.tar.gz#environment"),
        ('java.io.IOException: Cannot run program "python3": error=2, No such file',
         "Spark's workers have no Python at python3", "PYSPARK_PYTHON"),
        (DAEMON, "Python did not start in a worker of Spark: Python 3.11 is not on the path of"
         " node7", "HEADRACE_PYTHON"),
        ("[PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be installed; however, it was not found.",
         "the Python of Spark's workers needs PyArrow 18.0.0 or newer", "headrace package"),
        (NOT_THERE.replace("'headrace'", "'refdata.prices'"),
         "the Python of Spark's workers has no module 'refdata'", "headrace package"),
    ],
)  # fmt: skip
def test_what_the_workers_lack_is_said_in_a_sentence(text: str, message: str, hint: str) -> None:
    story = explain_failure(f"{TASK}{text}", "Error")
    assert story.message == message
    assert hint in (story.hint or "") and story.where["host"] == "192.0.2.2"


def test_what_breaks_off_a_write_is_reported_to_spark_in_few_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spark takes the text apart, and overflows its stack on that of a Java exception."""

    def write(self: Attempt, *_: object) -> None:
        raise RuntimeError("java.lang.InterruptedException\n" + "\tat x.y(Z.java:1)\n" * 1000)

    monkeypatch.setattr(Attempt, "_write", write)
    running = object.__new__(Attempt)
    with pytest.raises(JobError) as raised:
        running._write_batch(None, "plan", 3)  # type: ignore[arg-type]
    assert len("".join(traceback.format_exception(raised.value))) < 1_500
    assert isinstance(running._write_error, RuntimeError)
