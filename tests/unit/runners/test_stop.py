"""A stop that is requested of a job."""

from __future__ import annotations

import pytest

from headrace.errors import JobError
from headrace.runners.stop import Stop, StopRequest


def test_one_stop_is_accepted():
    request, stop = StopRequest(), Stop("folder")
    assert request.accepted is None
    request.accept(stop)
    with pytest.raises(JobError, match="has ended, or is already stopping"):
        request.accept(Stop("another"))
    assert request.accepted is stop
    assert request.close() is stop
    stop.end(None)
    assert stop.wait() == "folder"


def test_no_stop_is_accepted_once_the_job_has_looked_for_the_last_time():
    request = StopRequest()
    assert request.close() is None
    with pytest.raises(JobError, match="has ended, or is already stopping"):
        request.accept(Stop("folder"))
    assert request.close() is None


def test_the_first_end_counts():
    stop = Stop("folder")
    stop.end(ValueError("the disk is full"))
    stop.end(None)
    with pytest.raises(ValueError, match="the disk is full"):
        stop.wait()
