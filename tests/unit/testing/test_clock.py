"""A clock that a test moves."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace.common import Duration
from headrace.errors import PlanError
from headrace.testing import ManualClock


def test_it_stands_until_it_is_moved() -> None:
    clock = ManualClock(1_000)
    assert [clock(), clock()] == [1_000, 1_000]
    assert clock.advance(5) == clock() == clock.now_ms == 1_005


def test_any_amount_of_time_will_do() -> None:
    clock = ManualClock()
    clock.advance(timedelta(seconds=1))
    clock.advance(Duration.of_minutes(1))
    assert clock() == 61_000


def test_it_does_not_go_back() -> None:
    clock = ManualClock(10)
    with pytest.raises(PlanError):
        clock.advance(-1)
    assert clock() == 10


def test_it_shows_its_time() -> None:
    assert repr(ManualClock(7)) == "ManualClock(7)"
