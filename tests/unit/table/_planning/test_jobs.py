"""The jobs of an environment: how they are found, and how they are stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from headrace.common.job_client import JobClient, JobHandle
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus
from headrace.errors import SqlValidationError
from headrace.sql.statements import StopJob
from headrace.table._planning.jobs import StartedJobs
from headrace.table.table_result import TableResult

FIRST, SECOND = "a1" * 16, "b2" * 16


class Handle:
    """A job that notes how it is stopped."""

    def __init__(self, job_id: str) -> None:
        self.job_id = JobID(job_id)
        self.stops: list[object] = []

    def status(self) -> JobStatus:
        return JobStatus.CANCELED if self.stops else JobStatus.RUNNING

    def cancel(self, *, final: bool = False) -> None:
        self.stops.append("final" if final else "suspended")

    def stop_with_savepoint(self, folder: str | None, drain: bool) -> Callable[[], str]:
        self.stops.append((folder, drain))
        return lambda: f"{folder}/savepoint-1"


@pytest.fixture
def handles() -> list[Handle]:
    return [Handle(FIRST), Handle(SECOND)]


@pytest.fixture
def jobs(handles: list[Handle]) -> StartedJobs:
    made = StartedJobs()
    for name, handle in zip(("first", "second"), handles, strict=True):
        made.add(name, JobClient(cast(JobHandle, handle)))
    return made


def rows(result: TableResult) -> list[list[Any]]:
    with result.collect() as found:
        return [[*row] for row in found]


def test_jobs_are_listed_in_the_order_of_their_start(jobs: StartedJobs) -> None:
    assert [row[:3] for row in rows(jobs.show())] == [
        [FIRST, "first", "RUNNING"],
        [SECOND, "second", "RUNNING"],
    ]
    assert [row[:3] for row in rows(jobs.describe(SECOND))] == [[SECOND, "second", "RUNNING"]]


def test_a_job_is_stopped_for_good(jobs: StartedJobs, handles: list[Handle]) -> None:
    assert rows(jobs.stop(StopJob(text="", job=FIRST), "/below")) == [["OK"]]
    assert [each.stops for each in handles] == [["final"], []]
    assert [each.name for each in jobs.running()] == ["second"]


def test_a_job_that_is_suspended_keeps_its_checkpoint(
    jobs: StartedJobs, handles: list[Handle]
) -> None:
    jobs.running()[0].suspend()
    assert handles[0].stops == ["suspended"]


@pytest.mark.parametrize("drain", [False, True])
def test_a_savepoint_lies_where_savepoints_are(
    jobs: StartedJobs, handles: list[Handle], drain: bool
) -> None:
    stop = StopJob(text="", job=SECOND, savepoint=True, drain=drain)
    assert rows(jobs.stop(stop, "/below")) == [["/below/savepoint-1"]]
    assert handles[1].stops == [("/below", drain)]


def test_a_job_that_is_stopped_leaves_its_name(jobs: StartedJobs) -> None:
    assert jobs.free_name("other") == "other"
    assert jobs.free_name("first") == "first-2"
    jobs.stop(StopJob(text="", job=FIRST), None)
    assert jobs.free_name("first") == "first"


def test_an_id_that_is_nearly_right_is_corrected(jobs: StartedJobs) -> None:
    with pytest.raises(SqlValidationError, match="has started no job") as caught:
        jobs.describe(FIRST[:-1])
    assert caught.value.hint == f"did you mean {FIRST}?"
    with pytest.raises(SqlValidationError) as caught:
        jobs.describe("something else")
    assert caught.value.hint == "SHOW JOBS lists the jobs of the session"
