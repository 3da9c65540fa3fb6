"""Lost executors and failed tasks are told in a sentence each."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JJavaError

from headrace.runners.observers import Slots
from headrace.runners.spark import losses
from headrace.runners.spark.losses import LossWatch, slots_of, watching_slots


class NoSuchElement(Py4JJavaError):
    """What Spark throws of a job that it does not know."""

    def __init__(self) -> None:
        pass


@dataclass
class Job:
    """What Spark's store says of a job."""

    failed: int = 0
    state: str = "RUNNING"

    def numFailedTasks(self) -> int:
        return self.failed

    def status(self) -> Any:
        return SimpleNamespace(toString=lambda: self.state)

    def completionTime(self) -> Any:
        return SimpleNamespace(isDefined=lambda: self.state != "RUNNING")


@dataclass
class Executor:
    """What Spark's store says of an executor; ``reason``: why it was removed."""

    port: int
    reason: str | None

    def hostPort(self) -> str:
        return f"worker:{self.port}"

    def removeReason(self) -> Any:
        return SimpleNamespace(isDefined=lambda: self.reason is not None, get=lambda: self.reason)


class Context:
    """A Spark context whose executors and jobs a test sets. A job may be unknown (None).

    ``reasons``: why executors were removed, by port.

    ``late``: what the store learns only when the last events have arrived. ``stopping``: it ends
    its executors, and has no scheduler any more.
    """

    def __init__(self) -> None:
        self.ports: list[int] = [1, 2, 3]
        self.reasons: dict[int, str] = {}
        self.jobs: list[Job | None] = [Job(failed=9, state="SUCCEEDED")]
        self.late: dict[int, Job] = {}
        self.stopping = self.stopped = False

    @property
    def _jsc(self) -> Any:
        infos = [
            SimpleNamespace(host=lambda: "worker", port=lambda port=port: port)
            for port in self.ports
        ]
        tracker = SimpleNamespace(getExecutorInfos=lambda: infos)
        scheduler = SimpleNamespace(numTotalJobs=lambda: len(self.jobs))
        scheduler_now = None if self.stopping else scheduler

        def status_tracker() -> Any:
            if self.stopped:
                raise Py4JError("stopped")
            return tracker

        context = SimpleNamespace(
            statusTracker=status_tracker,
            dagScheduler=lambda: scheduler_now,
            isStopped=lambda: self.stopping,
            statusStore=self._status_store,
            listenerBus=lambda: SimpleNamespace(waitUntilEmpty=self._receive_events),
        )
        return SimpleNamespace(sc=lambda: context)

    def _status_store(self) -> Any:
        if self.stopped:
            raise Py4JError("stopped")
        return SimpleNamespace(job=self._job, executorList=self._list_executors)

    def _job(self, number: int) -> Job:
        job = self.jobs[number]
        if job is None:
            raise NoSuchElement
        return job

    def _list_executors(self, active_only: bool) -> Any:
        assert not active_only
        found = [Executor(port, self.reasons.get(port)) for port in (*self.ports, *self.reasons)]
        return SimpleNamespace(
            iterator=lambda: SimpleNamespace(hasNext=lambda: bool(found), next=lambda: found.pop())
        )

    def _receive_events(self, timeout_ms: int) -> None:
        for number, job in self.late.items():
            self.jobs[number] = job


class Looking:
    def __init__(self) -> None:
        self.context, self.told, self.now_s = Context(), list[str](), 0.0
        watched: Any = self.context
        self.watch = LossWatch(watched, self.told.append, lambda: self.now_s)
        self.look()

    def look(self, after_s: float = 1.0) -> list[str]:
        self.told.clear()
        self.now_s += after_s
        self.watch.look()
        return [*self.told]


def test_nothing_is_told_of_a_sound_job() -> None:
    looking = Looking()
    looking.context.jobs.append(Job())
    assert looking.look() == []


def test_what_a_stopping_context_ends_is_not_told() -> None:
    looking = Looking()
    looking.context.ports.remove(2)
    looking.context.stopping = True
    assert looking.look() == []


def test_a_lost_executor_is_told_once() -> None:
    looking = Looking()
    looking.context.ports.remove(2)
    (text,) = looking.look()
    assert "the executor at worker:2 is gone" in text
    assert looking.look() == []
    looking.context.ports.append(4)
    assert looking.look() == []


def test_an_executor_that_dynamic_allocation_gives_back_is_not_told() -> None:
    looking = Looking()
    looking.context.ports = [1]
    looking.context.reasons = {2: "Executor killed by driver.", 3: "worker lost: timed out"}
    (text,) = looking.look()
    assert "the executor at worker:3 is gone" in text


def test_the_driver_is_not_counted_among_those_left() -> None:
    looking = Looking()
    looking.context.ports = [1, 2]
    (text,) = looking.look()
    assert text.endswith("(1 executor is left)")


def test_failed_tasks_are_told_while_their_job_runs() -> None:
    looking = Looking()
    job = Job(failed=1)
    looking.context.jobs.append(job)
    assert looking.look() == ["a task of Spark's job 1 failed, and Spark runs it again"]
    job.failed = 3
    assert looking.look() == ["2 tasks of Spark's job 1 failed, and Spark runs them again"]
    job.state = "SUCCEEDED"
    assert looking.look() == []


def test_jobs_that_end_between_two_looks_are_told_of() -> None:
    looking = Looking()
    looking.context.jobs += [
        Job(state="SUCCEEDED"),
        Job(failed=2, state="SUCCEEDED"),
        Job(failed=1, state="SUCCEEDED"),
    ]
    found = sorted(looking.look())
    assert [text.partition(" failed")[0] for text in found] == [
        "2 tasks of Spark's job 2",
        "a task of Spark's job 3",
    ]
    assert looking.look() == []


def test_a_job_that_failed_is_left_to_its_error() -> None:
    looking = Looking()
    looking.context.jobs.append(Job(failed=4, state="FAILED"))
    assert looking.look() == []


def test_a_job_that_is_not_known_yet_is_told_of_later() -> None:
    looking = Looking()
    looking.context.jobs += [Job(), None]
    assert looking.look() == []
    looking.context.jobs[2] = Job(failed=1, state="SUCCEEDED")
    (text,) = looking.look()
    assert "Spark's job 2" in text


def test_a_job_that_spark_has_forgotten_is_not_asked_for_again() -> None:
    looking = Looking()
    looking.context.jobs += [None, Job()]
    assert looking.look() == []
    looking.context.jobs[1] = Job(failed=1)
    assert looking.look() == []


def test_the_last_look_waits_for_what_the_last_tasks_did() -> None:
    looking = Looking()
    looking.context.jobs.append(None)
    looking.context.late[1] = Job(failed=1, state="SUCCEEDED")
    assert looking.look(after_s=0.5) == []
    looking.watch.look_last()
    assert len(looking.told) == 1


def test_it_looks_once_a_second() -> None:
    looking = Looking()
    looking.context.jobs.append(Job(failed=1))
    assert looking.look(after_s=0.5) == []
    assert len(looking.look(after_s=0.5)) == 1


@pytest.mark.parametrize("last", [False, True])
def test_a_context_that_stops_is_left_to_the_attempt(last: bool) -> None:
    looking = Looking()
    looking.context.stopped = True
    if last:
        looking.watch.look_last()
        assert looking.told == []
    else:
        assert looking.look() == []


def test_the_executors_of_a_batch_are_looked_at_until_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, enough = list[Slots | None](), threading.Event()
    monkeypatch.setattr(losses, "slots_of", lambda context: Slots(len(found), 4))

    def on_slots(slots: Slots | None) -> None:
        found.append(slots)
        if len(found) == 3:
            enough.set()

    before = {*threading.enumerate()}
    with watching_slots(Context(), on_slots, seconds=0.001):  # type: ignore[arg-type]
        (thread,) = {*threading.enumerate()} - before
        assert enough.wait(20)
    thread.join(20)
    assert not thread.is_alive()
    assert found[:3] == [Slots(0, 4), Slots(1, 4), Slots(2, 4)]


def test_the_driver_of_a_cluster_has_no_slots() -> None:
    def context(*tasks_at_once: int) -> Any:
        left = [SimpleNamespace(maxTasks=lambda each=each: each) for each in tasks_at_once]
        found = SimpleNamespace(hasNext=lambda: bool(left), next=lambda: left.pop())
        store = SimpleNamespace(executorList=lambda active: SimpleNamespace(iterator=lambda: found))
        return SimpleNamespace(
            _jsc=SimpleNamespace(sc=lambda: SimpleNamespace(statusStore=lambda: store))
        )

    assert slots_of(context(0, 4, 2)) == Slots(2, 6)
    stopped: Any = Context()
    stopped.stopped = True
    assert slots_of(stopped) is None
    ended: Any = SimpleNamespace(_jsc=None)
    assert slots_of(ended) is None
