"""Requests of other processes, which the driver answers."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.errors import CheckpointError, JobError, StorageError
from headrace.runners.observers import SaveFailed, SavepointTaken
from headrace.runners.retention import Retention
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.pins import Pin
from headrace.runners.spark.checkpoint.requests import (
    Answer,
    RequestKind,
    RequestStatus,
    answer_of,
    new_request,
)
from headrace.runners.spark.retainer import keep_restore_points
from headrace.runners.spark.saver import RequestWatch, Saver
from headrace.runners.stop import Stop, StopRequest


class Job:
    """A job that can be stopped once."""

    def __init__(self) -> None:
        self.stop = StopRequest()

    def savepoint_target(self, folder: str | None) -> str:
        return f"{folder}/trades-1"

    def save(self, target: str) -> SavepointTaken:
        return SavepointTaken(target, 7, 1000, 2500.0, 1234, 12)

    def request_stop(self, stop: Stop) -> None:
        self.stop.accept(stop)

    def rescale(self, parallelism: int) -> None:
        raise NotImplementedError


def test_the_answer_says_how_long_the_job_waited(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    checkpoint: Any = SimpleNamespace(folder=folder, directory=str(tmp_path))
    watch = RequestWatch(Job(), checkpoint)
    request = new_request(RequestKind.SAVEPOINT, "/saved")
    watch._handle(request)
    done = Answer(RequestStatus.DONE, "/saved/trades-1", pause_ms=12)
    assert answer_of(folder.signals, request.id) == done
    watch.close(None, None)


class Failing(Saver):
    """Cannot pin a micro-batch, for a reason that a test sets."""

    def __init__(self, error: Exception) -> None:
        self.error, self.found = error, list[SaveFailed]()
        none: Any = SimpleNamespace()
        super().__init__(*[none] * 5, lambda: False, None, none, self.found.append)

    def pin(self, name: str) -> Pin:
        raise self.error


@pytest.mark.parametrize("error", [StorageError("full"), CheckpointError("gone")])
def test_a_savepoint_that_fails_is_reported(error: Exception) -> None:
    saver = Failing(error)
    with pytest.raises(type(error)):
        saver.take("/savepoints/trades-1")
    (failed,) = saver.found
    assert (failed.error, failed.folder) == (error, "/savepoints/trades-1")


def test_a_job_that_ends_before_its_savepoint_has_not_failed_to_save() -> None:
    saver = Failing(JobError("ended"))
    with pytest.raises(JobError):
        saver.take("/savepoints/trades-1")
    assert saver.found == []


def test_a_restore_point_that_fails_is_reported(tmp_path: Path) -> None:
    saver, failed = Failing(CheckpointError("gone")), threading.Event()
    retention = Retention(1, 1, 0, 10_000, 0)
    folder = CheckpointFolder(str(tmp_path))
    periodic = keep_restore_points(saver, folder, retention, lambda error: failed.set())
    assert failed.wait(20)
    periodic.close()
    assert (saver.found[0].error, saver.found[0].folder) == (saver.error, None)


def test_of_two_stops_the_first_is_answered_with_its_savepoint(tmp_path: Path) -> None:
    job, folder = Job(), CheckpointFolder(str(tmp_path))
    checkpoint: Any = SimpleNamespace(folder=folder, directory=str(tmp_path))
    watch = RequestWatch(job, checkpoint)
    first, second = (
        new_request(RequestKind.STOP_WITH_SAVEPOINT, target) for target in ("/one", "/two")
    )
    watch._handle(first)
    watch._handle(second)
    refused = answer_of(folder.signals, second.id)
    assert refused is not None and refused.status is RequestStatus.FAILED
    assert refused.error == f"{JobError.__name__}: the job has ended, or is already stopping"
    watch.close(job.stop.close(), None)
    done = Answer(RequestStatus.DONE, "/one/trades-1")
    assert answer_of(folder.signals, first.id) == done
    assert answer_of(folder.signals, second.id) == refused
