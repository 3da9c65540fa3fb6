"""What calls into Spark's state store raise when they fail; the texts are of Spark 4.3."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkRuntimeError

from headrace.errors import JobError, StateTooLargeError, StorageError
from headrace.runners.spark import attempt
from headrace.runners.spark.attempt import Attempt, user_error
from headrace.runners.spark.query.state_pages import BucketState

FULL = (
    "Error updating map state value: While appending to file: /tmp/local/spark-d386/workingDir-cb52"
    "/000015.sst: No space left on device"
)
NOT_COMMITTED = (
    "[CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT] Error writing state store files for provider RocksDB."
    " Cannot perform commit during state checkpoint. SQLSTATE: 42K03"
)


class Pages:
    """A map state of Spark's that fails when it is written to."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def getValue(self, key: Any) -> None:
        return None

    def updateValue(self, key: Any, value: Any) -> None:
        raise self.error


def store(error: Exception) -> Any:
    vertex: Any = SimpleNamespace(id="v")
    return BucketState(Pages(error)).of(vertex, 3, 100)


@pytest.mark.parametrize("error", [EOFError(), BrokenPipeError(), ConnectionResetError()])
def test_a_call_without_an_answer_is_explained(error: Exception) -> None:
    with pytest.raises(StorageError, match="did not answer") as raised:
        store(error).put("p1", b"")
    assert "the disk of the checkpoint" in (raised.value.hint or "")


def test_a_full_disk_is_named() -> None:
    with pytest.raises(StorageError, match="is full: No space left on device") as raised:
        store(PySparkRuntimeError(FULL)).put("p1", b"")
    assert raised.value.where == {"file": "/tmp/local/spark-d386/workingDir-cb52/000015.sst"}
    assert "spark.local.dir" in (raised.value.hint or "")


def test_another_error_of_sparks_stays() -> None:
    with pytest.raises(PySparkRuntimeError, match="no such state"):
        store(PySparkRuntimeError("no such state")).put("p1", b"")


def test_a_large_record_is_not_sent() -> None:
    with pytest.raises(StateTooLargeError):
        store(AssertionError("sent")).put("p1", bytes(101))


class Java:
    """An exception of Java, as py4j shows it."""

    def __init__(self, message: str, cause: Java | None = None) -> None:
        self.getMessage, self.getCause = lambda: message, lambda: cause

    def getClass(self) -> Any:
        return SimpleNamespace(getName=lambda: "org.apache.spark.SparkException")


def test_a_full_disk_among_the_causes_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(attempt, "log_path", lambda: tmp_path / "log")
    error: Any = RuntimeError(NOT_COMMITTED)
    error._origin = Java(NOT_COMMITTED, Java("/cp/state/1.zip: No space left on device"))
    found = user_error(error)
    assert isinstance(found, StorageError)
    assert found.where == {"file": "/cp/state/1.zip"}
    error._origin = Java(NOT_COMMITTED)
    assert type(user_error(error)) is JobError


def test_the_room_on_the_disks_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(attempt, "user_error", lambda error: StorageError("full"))
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    running: Any = object.__new__(Attempt)
    running.show_output = lambda lines: None
    running._write_error, running.program = None, SimpleNamespace(batch=True)
    running.checkpoint = SimpleNamespace(directory=str(tmp_path))
    context = SimpleNamespace(master="local[2]", getConf=lambda: {"spark.local.dir": "/"})
    running.spark = SimpleNamespace(sparkContext=context)
    failure = running._to_user_error(RuntimeError())
    assert failure.where["checkpoint"].startswith(f"{tmp_path}, ")
    assert failure.where["spark.local.dir"].startswith("/, ")
    assert all(" MiB free of " in room for room in failure.where.values())
    assert pickle.loads(pickle.dumps(failure)).where == failure.where
