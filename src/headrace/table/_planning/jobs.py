"""The jobs that the INSERTs of an environment have started: SHOW, DESCRIBE and STOP."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.common.job_client import JobClient
from headrace.common.job_status import JobStatus
from headrace.errors import SqlValidationError
from headrace.runners.clock import wall_clock_ms
from headrace.sql import statements as parsed
from headrace.sql.catalog.errors import near_names
from headrace.sql.rel import Column
from headrace.sql.types import STRING, TimestampLtzType
from headrace.table.table_result import TableResult, content_of, done

_COLUMNS = (
    Column("job id", STRING),
    Column("job name", STRING),
    Column("status", STRING),
    Column("start time", TimestampLtzType(3)),
)


@dataclass(frozen=True)
class StartedJob:
    """A job that was started by a statement."""

    name: str
    client: JobClient
    started_ms: int

    @property
    def id(self) -> str:
        """The id, as statements name it."""
        return str(self.client.get_job_id())

    @property
    def is_running(self) -> bool:
        """Whether the job has not ended."""
        return not self.client.get_job_status().result().is_globally_terminal_state()

    @property
    def has_name(self) -> bool:
        """Whether the job keeps its name from others: it runs, or it has read all its input."""
        status = self.client.get_job_status().result()
        return status is JobStatus.FINISHED or not status.is_globally_terminal_state()

    def suspend(self) -> None:
        """Stop the job, and wait for its end; it goes on from its checkpoint when started again."""
        self.client._handle.cancel()

    @property
    def row(self) -> list[object]:
        """The row of SHOW JOBS."""
        status = self.client.get_job_status().result()
        started = datetime.datetime.fromtimestamp(self.started_ms / 1000, datetime.UTC)
        return [self.id, self.name, status.name, started]


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in itertools.count(2))


class StartedJobs:
    """The jobs of one environment, in the order in which they were started."""

    def __init__(self) -> None:
        self._jobs: dict[str, StartedJob] = {}
        self._stopped: set[str] = set()

    def add(self, name: str, client: JobClient) -> None:
        """Add a job that has just started."""
        job = StartedJob(name, client, wall_clock_ms())
        self._jobs[job.id] = job

    def free_name(self, name: str) -> str:
        """Return the first of ``name``, ``name-2``, ``name-3``, … that no job of the session keeps.

        A job that runs, or that has read all its input, keeps its name and its checkpoint: the
        next run is a new job, as in Flink. A job that was stopped, or that failed, does not: the
        next run has its name, and continues from its checkpoint.
        """
        taken = {job.name for job in self._jobs.values() if self._has_name(job)}
        return next(each for each in _numbered(name) if each not in taken)

    def _has_name(self, job: StartedJob) -> bool:
        return job.id not in self._stopped and job.has_name

    def of(self, client: JobClient) -> StartedJob:
        """Return the job of a client."""
        return self._jobs[str(client.get_job_id())]

    def running(self) -> list[StartedJob]:
        """Return the jobs that have not ended."""
        return [job for job in self._jobs.values() if job.is_running]

    def show(self) -> TableResult:
        """Return the result of SHOW JOBS."""
        return content_of(_COLUMNS, [job.row for job in self._jobs.values()])

    def describe(self, id_: str) -> TableResult:
        """Return the result of DESCRIBE JOB."""
        return content_of(_COLUMNS, [self._job(id_).row])

    def stop(self, statement: parsed.StopJob, below: str | None) -> TableResult:
        """Stop a job: at once, or with a savepoint, whose folder is the result.

        ``below``: where savepoints are; None: as the job was configured when it started.
        """
        job = self._job(statement.job)
        self._stopped.add(job.id)
        if not statement.savepoint:
            job.client.cancel().result()
            return done()
        folder = job.client.stop_with_savepoint(statement.drain, below).result()
        return content_of((Column("savepoint path", STRING),), [[folder]])

    def _job(self, id_: str) -> StartedJob:
        job = self._jobs.get(id_)
        if job is None:
            near = near_names(id_, self._jobs)
            hint = f"did you mean {near[0]}?" if near else "SHOW JOBS lists the jobs of the session"
            raise SqlValidationError(f"the session has started no job {id_!r}", hint=hint)
        return job
