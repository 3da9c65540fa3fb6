"""What is shown of a job is what it has counted."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from headrace.common.job_status import JobStatus
from headrace.runners.observers import BatchProgress, JobObserver
from headrace.runners.ui.record import JobRecord, JobView
from headrace.runners.ui.start import let_command
from tests.unit.runners.ui.watched import BEGAN_MS, Clock, watch


def test_a_job_before_its_start_has_nothing() -> None:
    view = JobRecord("clicks", Clock()).view()
    assert (view.status, view.records_in, view.operators) == (JobStatus.CREATED, 0, {})
    assert view.watermark_ms is None and view.pending is None


def test_all_records_are_there_at_the_end() -> None:
    view = watch().view()
    assert view.status is JobStatus.FINISHED
    assert (view.records_in, view.batch_count) == (100, 10)
    named = {each.counts.name: each for each in view.operators.values()}
    assert named["mapped"].records_in == 100
    assert named["sums"].records_in == 100
    assert named["written"].records_in == view.records_out > 0
    assert named["sums"].counts.state_entries is not None
    assert view.figures == {"seen": 100.0}


def test_the_rate_of_a_job_that_has_ended_is_that_of_the_whole_run() -> None:
    clock = Clock()
    view = watch(clock=clock).view()
    assert view.in_rate == 100 / view.seconds


class Watching:
    """Looks at the record just before it keeps the next micro-batch."""

    def __init__(self, clock: Clock) -> None:
        self.record: JobRecord | None = None
        self.clock, self.views = clock, list[JobView]()

    def on_start(self, job: object) -> None:
        pass

    def on_batch(self, batch: BatchProgress) -> None:
        assert self.record is not None
        self.views.append(self.record.view())
        self.clock.seconds += 2

    def on_failure(self, error: BaseException, restarts_in_ms: int | None) -> None:
        pass

    def on_end(self, status: JobStatus) -> None:
        pass


def watched_views() -> list[JobView]:
    clock = Clock()
    watching = Watching(clock)
    watching.record = JobRecord("clicks", clock, lambda: BEGAN_MS + 200_000)
    watch(watching, record=watching.record)
    return watching.views


def test_a_rate_is_that_of_the_last_seconds() -> None:
    views = watched_views()
    assert abs(views[-1].in_rate - 5) < 0.1  # ten records in two seconds
    assert views[-1].records_in == 90


def test_a_running_job_is_behind_by_its_watermark_and_knows_what_waits() -> None:
    view = watched_views()[5]
    assert view.pending == 50
    assert view.watermark_ms == BEGAN_MS + 49_000 - 1000 - 1
    assert view.lag_ms == 200_000 - 48_000 + 1
    (splits,) = view.splits.values()
    assert [each.pending_records for each in splits.values()] == [50]


def test_the_share_of_busy_tasks_is_between_none_and_all() -> None:
    view = watched_views()[-1]
    busy = {each.counts.name: each.busy for each in view.operators.values()}
    assert busy["mapped"] is None  # its task is the source's
    assert all(0 <= share <= 1 for share in busy.values() if share is not None)


def test_a_failure_is_kept() -> None:
    record = watch(function=lambda n: 1 // (50 - n))
    view = record.view()
    assert view.status is JobStatus.FAILED
    (failure,) = view.failures
    assert failure.shown(True).name == "ZeroDivisionError" and failure.restarts_in_ms is None
    assert view.records_in == 50  # of the micro-batches before


class Doubled:
    """A function that is large, as one with a model."""

    def __call__(self, value: int) -> int:
        return value * 2


def test_a_job_that_has_ended_keeps_no_program_and_shows_the_same() -> None:
    function = Doubled()
    function_before = weakref.ref(function)
    watching = Ending()
    record = JobRecord("clicks", Clock(), lambda: BEGAN_MS + 200_000)
    watching.record = record
    watch(watching, function=function, record=record)
    del function
    gc.collect()
    assert function_before() is None
    assert record.job is not None and record.job.program.sources == ()
    assert record.job.graph.operators and record.job.program.parallelism >= 1
    view = record.view()
    assert (view.records_in, view.batch_count, view.watermark_ms) == (100, 10, watching.watermark)
    assert view.operators.keys() == watching.operators
    names = {each.name for each in record.samples()}
    assert {"numRecordsIn", "currentOutputWatermark"} <= names


class Ending(JobObserver):
    """Looks at the record when the job has ended, before the record knows it."""

    record: JobRecord

    def on_end(self, status: JobStatus) -> None:
        view = self.record.view()
        self.watermark, self.operators = view.watermark_ms, view.operators.keys()


class Commanded:
    """A job that nobody commands."""

    def savepoint(self, folder: str | None) -> Callable[[], str]:
        raise NotImplementedError

    def stop_with_savepoint(self, folder: str | None, drain: bool) -> Callable[[], str]:
        raise NotImplementedError

    def query_state(self, uid: str, name: str, keys: Sequence[Any]) -> Any:
        raise NotImplementedError


def test_an_ended_job_takes_no_commands_of_one_that_is_told_too_late() -> None:
    record = watch()
    let_command([record], Commanded())
    assert record.commands.job is None
    running = JobRecord("running")
    let_command([running], job := Commanded())
    assert running.commands.job is job


def test_only_the_last_micro_batches_are_kept() -> None:
    view = watch(values=range(5000)).view()
    assert view.batch_count == 500
    assert len(view.batches) == 400 and view.batches[-1].batch_id == 499
