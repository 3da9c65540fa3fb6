"""Lost executors and failed tasks are told in a sentence each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from py4j.protocol import Py4JError

from headrace.runners.spark.losses import LossWatch


class Context:
    """A Spark context whose executors and stages a test sets."""

    def __init__(self) -> None:
        self.ports: list[int] = [1, 2, 3]
        self.failed: dict[int, int] = {7: 0}
        self.stopped = False

    def statusTracker(self) -> Any:
        if self.stopped:
            raise Py4JError("stopped")
        return SimpleNamespace(
            getActiveStageIds=lambda: [*self.failed],
            getStageInfo=lambda stage: SimpleNamespace(numFailedTasks=self.failed[stage]),
        )

    @property
    def _jsc(self) -> Any:
        infos = [
            SimpleNamespace(host=lambda: "worker", port=lambda port=port: port)
            for port in self.ports
        ]
        tracker = SimpleNamespace(getExecutorInfos=lambda: infos)
        return SimpleNamespace(sc=lambda: SimpleNamespace(statusTracker=lambda: tracker))


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
    assert looking.look() == []


def test_a_lost_executor_is_told_once() -> None:
    looking = Looking()
    looking.context.ports.remove(2)
    (text,) = looking.look()
    assert "the executor at worker:2 is gone" in text
    assert looking.look() == []
    looking.context.ports.append(4)
    assert looking.look() == []


def test_the_driver_is_not_counted_among_those_left() -> None:
    looking = Looking()
    looking.context.ports = [1, 2]
    (text,) = looking.look()
    assert text.endswith("(1 executor is left)")


def test_failed_tasks_are_told_by_stage() -> None:
    looking = Looking()
    looking.context.failed = {7: 1}
    (text,) = looking.look()
    assert text == "a task of Spark's stage 7 failed and will be tried again"
    looking.context.failed = {7: 3, 8: 0}
    (text,) = looking.look()
    assert text.startswith("2 tasks of Spark's stage 7")
    assert looking.look() == []


def test_it_looks_once_a_second() -> None:
    looking = Looking()
    looking.context.failed = {7: 1}
    assert looking.look(after_s=0.5) == []
    assert len(looking.look(after_s=0.5)) == 1


def test_a_context_that_stops_is_left_to_the_attempt() -> None:
    looking = Looking()
    looking.context.stopped = True
    assert looking.look() == []
