"""Who runs when in the Yahoo Streaming Benchmark, and what is left when one fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.ysb import rounds, servers, watch
from bench.ysb.contenders import CATCHING_UP, CONTENDERS, LIVE
from bench.ysb.events import Events
from bench.ysb.rounds import Plan
from bench.ysb.servers import Input
from bench.ysb.tallies import Result
from bench.ysb.watch import Watched

NAMES = tuple(each.name for each in CONTENDERS)


class Servers:
    """Has every topic."""

    def filled(self, count: int, per_second: int) -> Input:
        return Input("topic", Events(0, per_second), count, Path("none"))


@pytest.fixture(autouse=True)
def _watching(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contenders read 20,000 events a second after a start of 3 s; PyFlink's jars are missing."""

    def catch_up(contender: Any, up: Any, given: Input) -> Watched:
        if contender.name == "pyflink":
            raise OSError("no jars")
        return Watched(seconds=3 + given.count / 20_000)

    def live(contender: Any, up: Any, rate: int, seconds: int, warm: int) -> Any:
        given = Input("topic", Events(0, rate), rate * seconds, Path("none"), live_tail_ms=10**9)
        late = 20_000 if contender.name == "spark" else 90
        results = [Result("a", 40_000, 1, 50_000 + late)]
        return Watched(results=results, generator={"late_ms": 7}), given

    monkeypatch.setattr(watch, "catch_up", catch_up)
    monkeypatch.setattr(watch, "live", live)
    monkeypatch.setattr(rounds, "versions", lambda environment: {})


def measured(plan: Plan, before: Any = ()) -> list[Any]:
    return [row for own in rounds.measure(plan, Servers(), before) for row in own]  # type: ignore[arg-type]


def test_another_contender_begins_in_each_round() -> None:
    turns = [(number, each.name) for number, each in Plan(NAMES, rounds=2).turns()]
    assert [number for number, _ in turns] == [0] * len(NAMES) + [1] * len(NAMES)
    assert [name for _, name in turns][: len(NAMES)] == [*NAMES]
    assert [name for _, name in turns][len(NAMES) :] == [*NAMES[1:], NAMES[0]]


def test_live_events_come_at_half_the_rate_of_the_round() -> None:
    *caught_up, live = measured(Plan(("headrace",), rounds=1))
    assert [row["records"] for row in caught_up] == [1_000_000, 4_000_000]
    assert {row["case"] for row in caught_up} == {CATCHING_UP}
    assert (live["case"], live["rate"]) == (LIVE, 10_000)
    assert live["values"]["median_ms"] == 90


def test_one_that_fails_is_a_row_and_the_others_go_on() -> None:
    rows = measured(Plan(("pyflink", "quix"), rounds=1))
    assert [row["failure"] for row in rows if row["contender"] == "pyflink"] == [
        "OSError: no jars"
    ] * 2
    assert [row["case"] for row in rows if row["contender"] == "quix"] == [CATCHING_UP] * 2 + [LIVE]


def test_one_that_does_not_keep_up_has_no_latency() -> None:
    *_, live = measured(Plan(("spark",), rounds=1))
    assert live["failure"] == "it does not keep up: half of each window was there after [20000] ms"
    assert "values" not in live


def test_a_late_generator_makes_no_latency() -> None:
    given = Input("topic", Events(0, 1), 60, Path("none"), live_tail_ms=10**9)
    results = [Result("a", 40_000, 1, 50_090)]
    assert rounds.behind(Watched(results=results, generator={"late_ms": 900}), given) is None
    said = rounds.behind(Watched(results=results, generator={"late_ms": 1_500}), given)
    assert said == "the generator did not keep up: an event came 1500 ms late"
    assert rounds.behind(Watched(generator={"late_ms": 0}), given) is not None


def test_a_run_goes_on_after_the_turns_that_are_done() -> None:
    plan = Plan(("headrace", "quix"), rounds=2)
    rows = measured(plan)
    first = [row for row in rows if row["round"] == 0]
    half = [row for row in rows if row["round"] == 1 and row["case"] == CATCHING_UP][:2]
    assert not rounds.is_done(half, 1, half[0]["contender"])
    again = measured(plan, first)
    assert {row["round"] for row in again} == {1}
    assert len(first) + len(again) == len(rows)
    assert rounds.right([*first, *half]) == first


def test_a_turn_that_failed_is_run_again() -> None:
    rows = measured(Plan(("pyflink", "spark", "quix"), rounds=1))
    assert {row["contender"] for row in rounds.right(rows)} == {"quix"}


@pytest.mark.parametrize(
    ("plan", "whole"),
    [
        (Plan(NAMES), True),
        (Plan(NAMES, rounds=2), False),
        (Plan(NAMES[1:]), False),
        (Plan(NAMES, scale=0.5), False),
        (Plan(NAMES, rate=5_000), False),
    ],
)
def test_only_all_of_it_is_committed(plan: Plan, whole: bool) -> None:
    assert plan.is_whole() is whole


def test_two_runs_of_a_checkout_are_not_under_way_at_once(tmp_path: Path) -> None:
    lock, refused = tmp_path / "lock", pytest.raises(RuntimeError, match="another run is under way")
    with servers._alone(lock), refused, servers._alone(lock):
        pass
    with servers._alone(lock):
        assert lock.exists()
