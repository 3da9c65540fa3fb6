"""What a running job does at an interval."""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from headrace.errors import StorageError
from headrace.runners.spark.periodic import Periodic


def test_the_next_one_begins_a_pause_after_the_end_of_one_that_took_too_long() -> None:
    times: list[tuple[float, float]] = []
    enough = threading.Event()

    def act() -> None:
        began = time.monotonic()
        while time.monotonic() < began + 0.01:
            pass
        times.append((began, time.monotonic()))
        if len(times) == 3:
            enough.set()

    periodic = Periodic("a restore point", act, interval_ms=5, min_pause_ms=30)
    assert enough.wait(30)
    periodic.close()
    for (_, ended), (began, _) in itertools.pairwise(times):
        assert began - ended >= 0.03


def test_more_failures_in_a_row_than_are_tolerated_fail_the_job(
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = iter([False, True, False, False])
    failed: list[BaseException] = []
    done = threading.Event()

    def act() -> None:
        if not next(results, True):  # it may begin once more before it is closed
            raise StorageError("full")

    def fail(error: BaseException) -> None:
        failed.append(error)
        done.set()

    periodic = Periodic("a restore point", act, 1, tolerable_failures=1, fail=fail)
    assert done.wait(30)
    periodic.close()
    assert next(results, "used up") == "used up"
    assert [str(error) for error in failed] == ["full"]
    said = capsys.readouterr().err
    assert [line.split("(")[1].split(" ")[0] for line in said.splitlines()] == ["1", "1", "2"]
