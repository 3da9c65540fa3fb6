"""When a run of the Yahoo Streaming Benchmark has ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.ysb import tallies, watch
from bench.ysb.events import Events, Tally
from bench.ysb.servers import Input


class Moments:
    """Time that passes only where somebody sleeps; then something may happen."""

    def __init__(self, happens: dict[int, Any]) -> None:
        self._happens = happens
        self.now_s = 0.0
        self._slept = 0

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self._slept += 1
        self._happens.get(self._slept, lambda: None)()


class Redis:
    """Has so many results."""

    def __init__(self) -> None:
        self.results = 0

    def xlen(self, name: str) -> int:
        return self.results


class Child:
    """A process."""

    returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode


@pytest.fixture
def given(tmp_path: Path) -> Input:
    return Input("events", Events(0, 1), 20, tmp_path / "tally.json")


def waited(
    given: Input, redis: Redis, child: Child, happens: dict[int, Any], patch: pytest.MonkeyPatch
) -> tuple[str | None, float]:
    moments = Moments(happens)
    patch.setattr("time.sleep", moments.sleep)
    patch.setattr("time.monotonic", lambda: moments.now_s)
    return watch._wait(child, redis, given, 60), moments.now_s


def test_it_ends_a_moment_after_the_last_result(
    given: Input, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis = Redis()

    def counted() -> None:  # live, the tally comes after the first results
        tallies.save(Tally({("a", 0): 1, ("b", 0): 1}), given.tally_file)

    happens = {
        1: lambda: setattr(redis, "results", 1),
        2: counted,
        3: lambda: setattr(redis, "results", 2),
    }
    said, seconds = waited(given, redis, Child(), happens, monkeypatch)
    assert said is None
    assert seconds == pytest.approx(3 * watch._POLL_S + watch._MORE_S)


def test_a_process_that_ends_early_is_a_failure(
    given: Input, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = Child()
    happens = {2: lambda: setattr(child, "returncode", 3)}
    said, seconds = waited(given, Redis(), child, happens, monkeypatch)
    assert said == "it ended with exit code 3"
    assert seconds == pytest.approx(2 * watch._POLL_S)


def test_there_is_an_end_to_waiting(given: Input, monkeypatch: pytest.MonkeyPatch) -> None:
    said, seconds = waited(given, Redis(), Child(), {}, monkeypatch)
    assert said == "no end within 60 s"
    assert seconds == pytest.approx(60, abs=1)
