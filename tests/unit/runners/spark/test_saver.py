"""Requests of other processes, which the driver answers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from headrace.errors import JobError
from headrace.runners.observers import SavepointTaken
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.requests import (
    Answer,
    RequestKind,
    RequestStatus,
    answer_of,
    new_request,
)
from headrace.runners.spark.saver import RequestWatch
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
