"""What a user reads where Spark's JVM has ended, for errors that py4j 0.10.9 has raised."""

from __future__ import annotations

import logging
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext

from headrace.errors import SparkEndedError
from headrace.runners.spark.attempt import Attempt
from headrace.runners.spark.jvm import lost_jvm_error

EMPTY = Py4JError("An error occurred while calling o156.isActive")
OF_A_CALL = Py4JError("An error occurred while calling o156.isActive. Trace:\npy4j.Py4JException")


def refused() -> ConnectionRefusedError:
    """What py4j raises when it connects anew after it has lost the connection."""
    error = ConnectionRefusedError(111, "Connection refused")
    error.__context__ = Py4JNetworkError("Answer from Java side is empty")
    return error


def jvm_that(monkeypatch: pytest.MonkeyPatch, code: str | None) -> None:
    """Let the JVM of this process be one that has ended so, or one that somebody else started."""
    process = None
    if code is not None:
        process = subprocess.Popen([sys.executable, "-S", "-E", "-c", f"import os; {code}"])
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))


@pytest.mark.parametrize("error", [EMPTY, refused(), Py4JNetworkError("Error while sending")])
def test_a_jvm_that_was_killed_is_reported_with_its_signal(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    jvm_that(monkeypatch, "os.kill(os.getpid(), 9)")
    story = lost_jvm_error(error)
    assert story is not None
    assert story.message == "Spark's JVM has ended: it was killed (exit code 137, SIGKILL)"
    assert "memory" in (story.hint or "") and "start the program again" in (story.hint or "")


def test_a_jvm_of_somebody_else_is_reported_without_an_exit_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jvm_that(monkeypatch, None)
    story = lost_jvm_error(EMPTY)
    assert story is not None and "no longer answers" in story.message
    assert lost_jvm_error(refused()) == story


@pytest.mark.parametrize(
    "error", [OF_A_CALL, ConnectionResetError("a connector's"), ConnectionRefusedError(), OSError()]
)
def test_an_error_of_a_call_or_of_another_connection_is_left(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    jvm_that(monkeypatch, None)
    assert lost_jvm_error(error) is None


def test_an_attempt_fails_with_one_sentence(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def run(self: Attempt) -> None:
        try:
            raise Py4JNetworkError("Error while sending or receiving")
        except Py4JNetworkError:
            logging.exception("Exception while sending command.")  # as py4j does
        logging.warning("of the program")
        raise refused()

    jvm_that(monkeypatch, "os._exit(3)")
    monkeypatch.setattr(Attempt, "_run_batch", run)
    monkeypatch.setattr("headrace.runners.spark.attempt._register", lambda spark: None)
    attempt: Any = object.__new__(Attempt)
    attempt.spark, attempt.program = None, SimpleNamespace(batch=True)
    with pytest.raises(SparkEndedError, match="it ended with exit code 3") as raised:
        attempt.run()
    assert raised.value.__context__ is None, "the error of py4j is not shown"
    assert caplog.messages == ["of the program"]
