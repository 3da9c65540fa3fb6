import threading
from concurrent.futures import CancelledError, Future
from datetime import timedelta

import pytest

from headrace.common import (
    CompletableFuture,
    Configuration,
    InputDependencyConstraint,
    JobClient,
    JobExecutionResult,
    JobID,
    JobStatus,
    RestartStrategies,
)
from headrace.common._options import catalogue as options
from headrace.errors import JobError, PlanError

ID = JobID("0123456789abcdef" * 2)


class Handle:
    """A job that runs until it is released, cancelled or broken."""

    def __init__(self):
        self.job_id = ID
        self.over = threading.Event()
        self.failure = None
        self.now = JobStatus.RUNNING
        self.waits = 0

    def end(self, status, failure=None):
        self.now, self.failure = status, failure
        self.over.set()

    def status(self):
        return self.now

    def cancel(self, *, final=False):
        self.end(JobStatus.CANCELED)

    def savepoint(self, folder):
        return lambda: f"{folder or 'default'}/1"

    def stop_with_savepoint(self, folder, drain):
        return lambda: f"{folder or 'default'}/{'drained' if drain else 'stopped'}"

    def wait(self):
        self.waits += 1
        assert self.over.wait(10)
        if self.failure:
            raise self.failure
        return JobExecutionResult(self.job_id, 12, self.accumulators())

    def accumulators(self):
        return {"records": 3}

    def metrics(self):
        return {"map": {0: {"numRecordsIn": 3}}}


def test_a_client_follows_its_job():
    handle = Handle()
    client = JobClient(handle)
    assert client.get_job_id() == ID
    assert client.get_job_status().result() is JobStatus.RUNNING
    assert client.get_accumulators().result() == {"records": 3}
    assert client.get_metrics().result() == {"map": {0: {"numRecordsIn": 3}}}
    end = client.get_job_execution_result()
    assert not end.done()
    handle.end(JobStatus.FINISHED)
    result = end.result(10)
    assert end.done() and end.exception() is None
    assert result.get_net_runtime() == 12
    assert client.get_job_execution_result() is end
    assert handle.waits == 1
    assert client.get_job_status().result() is JobStatus.FINISHED


def test_a_client_cancels_its_job():
    handle = Handle()
    client = JobClient(handle)
    client.cancel().result(10)
    assert client.get_job_status().result() is JobStatus.CANCELED


def test_a_failure_reaches_whoever_asks():
    handle = Handle()
    end = JobClient(handle).get_job_execution_result()
    handle.end(JobStatus.FAILED, JobError("no more disk"))
    with pytest.raises(JobError, match="no more disk"):
        end.result(10)
    assert isinstance(end.exception(10), JobError)


def test_savepoints_have_their_folder():
    client = JobClient(Handle())
    assert client.trigger_savepoint("below").result(10) == "below/1"
    assert client.stop_with_savepoint(True, "below").result(10) == "below/drained"
    assert client.stop_with_savepoint(False).result(10) == "default/stopped"


def test_futures():
    assert CompletableFuture.of(lambda: 3).result() == 3
    failed = CompletableFuture.of(lambda: 1 // 0)
    assert failed.done() and isinstance(failed.exception(), ZeroDivisionError)
    waiting = CompletableFuture(Future())
    assert not waiting.done()
    with pytest.raises(TimeoutError):
        waiting.result(0)
    assert waiting.cancel() and waiting.cancelled()
    with pytest.raises(CancelledError):
        waiting.result()
    assert not CompletableFuture.of(lambda: 3).cancel()


def test_an_interrupt_is_not_swallowed():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CompletableFuture.of(interrupted)


def test_results():
    result = JobExecutionResult(ID, 1500, {"b": 2, "a": 1})
    assert result.get_job_id() == ID
    assert result.get_accumulator_result("a") == 1
    assert result.get_accumulator_result("none") is None
    assert result.get_all_accumulator_results() == {"a": 1, "b": 2}
    assert str(result).splitlines() == [f"job {ID} ended after 1500 ms", "  a: 1", "  b: 2"]


def test_ids():
    assert str(ID) == "0123456789abcdef" * 2
    assert len({ID, JobID(str(ID))}) == 1
    for text in ("", "abc", "G" * 32, "A" * 32):
        with pytest.raises(PlanError):
            JobID(text)


def test_states():
    for_good = {JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED}
    assert {status for status in JobStatus if status.is_globally_terminal_state()} == for_good
    assert {status for status in JobStatus if status.is_terminal_state()} == for_good | {
        JobStatus.SUSPENDED
    }
    assert {one.name for one in InputDependencyConstraint} == {"ANY", "ALL"}


def test_restart_strategies_become_configuration():
    fixed = RestartStrategies.fixed_delay_restart(3, timedelta(seconds=10))
    assert fixed == RestartStrategies.fixed_delay_restart(3, 10_000)
    assert isinstance(fixed, RestartStrategies.FixedDelayRestartStrategyConfiguration)
    assert fixed.get_restart_attempts() == 3
    assert fixed.get_delay_between_attempts_interval() == timedelta(seconds=10)
    assert "3 times" in fixed.get_description()
    configuration = Configuration.from_dict(fixed.settings())
    assert options.read(configuration, options.RESTART_STRATEGY) == "fixed-delay"
    assert options.read(configuration, options.FIXED_DELAY_ATTEMPTS) == 3
    assert options.read(configuration, options.FIXED_DELAY) == 10_000

    rate = RestartStrategies.failure_rate_restart(2, 60_000, 500)
    assert rate.get_max_failure_rate() == 2
    assert rate.get_failure_interval() == timedelta(minutes=1)
    assert rate.get_delay_between_attempts_interval() == timedelta(milliseconds=500)
    assert "2 failures in 60000 ms" in rate.get_description()
    configuration = Configuration.from_dict(rate.settings())
    assert options.read(configuration, options.RESTART_STRATEGY) == "failure-rate"
    assert options.read(configuration, options.FAILURE_RATE_MAX) == 2
    assert options.read(configuration, options.FAILURE_RATE_INTERVAL) == 60_000
    assert options.read(configuration, options.FAILURE_RATE_DELAY) == 500

    assert RestartStrategies.no_restart().settings() == {"restart-strategy.type": "none"}
    assert RestartStrategies.fall_back_restart().settings() == {}
    assert RestartStrategies.no_restart() != RestartStrategies.fall_back_restart()


@pytest.mark.parametrize(
    "build",
    [
        lambda: RestartStrategies.fixed_delay_restart(-1, 5),
        lambda: RestartStrategies.fixed_delay_restart(1, -5),
        lambda: RestartStrategies.failure_rate_restart(0, 5, 5),
        lambda: RestartStrategies.failure_rate_restart(1, 0, 5),
    ],
)
def test_restart_strategies_that_cannot_be(build):
    with pytest.raises(PlanError):
        build()
