"""Senders to a pattern leave out events that cannot change anything."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.cep import CEP, Pattern, SimpleCondition
from headrace.common import Configuration, Duration, WatermarkStrategy
from headrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from headrace.testing import run_pipeline
from tests.pipelines.running import SETTINGS, in_small_pieces

LATE = OutputTag("late")
BOUND_MS = 5

Event = tuple[int, str, int]
"""Key, name, and time (ms)."""


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Iterator[None]:
    with in_small_pieces():
        yield


def events(seed: int) -> list[Event]:
    """Most are no part of the pattern, and some come later than the bound allows."""
    dice = random.Random(seed)
    return [
        (dice.randrange(3), dice.choice("abxxxxxx"), 2 * place - dice.choice((0, 0, 3, 30)))
        for place in range(20, 120)
    ]


def named(name: str) -> Callable[[Event], bool]:
    return lambda event: event[1] == name


def matched(given: list[Event], combining: bool, event_time: bool = True) -> DataStream:
    settings = {**SETTINGS, "headrace.combining.enabled": str(combining).lower()}
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    times = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))
    keyed = (
        env.from_collection(given)
        .uid("events")
        .assign_timestamps_and_watermarks(times.with_timestamp_assigner(lambda event: event[2]))
        .key_by(lambda event: event[0])
    )
    pattern = Pattern.begin("a").where(named("a")).followed_by("b").where(named("b")).within(50)
    found = CEP.pattern(keyed, pattern)
    found = found.side_output_late_data(LATE) if event_time else found.in_processing_time()
    return found.select(lambda match: (match["a"], match["b"])).uid("pattern")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("how", [{}, {"cuts": [3, 5, 8, 13]}, {"mode": "batch"}], ids=str)
def test_late_events_are_given_aside_whatever_they_are(seed: int, how: dict[str, Any]) -> None:
    def results(combining: bool) -> tuple[list[Any], list[Any]]:
        def program(_: Any) -> dict[str, DataStream]:
            matches = matched(events(seed), combining)
            return {"found": matches, "late": matches.get_side_output(LATE)}

        given = run_pipeline(program, **how)
        return sorted(given["found"]), sorted(given["late"])

    found, late = results(combining=True)
    assert (found, late) == results(combining=False)
    assert found
    assert ("x" in {name for _, name, _ in late}) is ("mode" not in how)


def test_a_plan_shows_where_events_are_left_out() -> None:
    plan = matched(events(0), combining=True).explain()
    assert "Relevant events for Pattern" in plan
    assert "Relevant events" not in matched(events(0), combining=False).explain()
    assert "Relevant events" in matched(events(0), combining=True, event_time=False).explain()


class Named(SimpleCondition):
    def __init__(self, name: str) -> None:
        self.name = name

    def filter(self, value: Event) -> bool:
        return value[1] == self.name


class Opened(Named):
    """A model, say: what it needs is loaded where partial matches are, and not in each source."""

    opened = 0

    def open(self, runtime_context: Any) -> None:
        Opened.opened += 1

    def filter(self, value: Event) -> bool:
        assert value[1] == "b", "asked for an event that a cheap condition has excluded"
        return True


@pytest.mark.parametrize(
    ("conditions", "asked"),
    [([Named("b")], True), ([Opened("b")], False), ([Named("b"), Opened("b")], True)],
)
def test_conditions_with_an_open_of_their_own_are_asked_in_one_place(
    conditions: list[SimpleCondition], asked: bool
) -> None:
    keyed = StreamExecutionEnvironment().from_collection(events(0)).key_by(lambda event: event[0])
    pattern = Pattern.begin("a").where(named("a")).followed_by("b")
    for each in conditions:
        pattern = pattern.where(each)
    matches = CEP.pattern(keyed, pattern).in_processing_time().select(len)
    assert ("Relevant events" in matches.explain()) is asked
    if len(conditions) > 1:
        Opened.opened = 0
        assert run_pipeline(lambda _: {"found": matches})["found"]
        assert Opened.opened == 1


def test_a_failing_condition_fails_where_it_is_needed() -> None:
    """A sender asks it for each event; one that fails is sent."""
    env = StreamExecutionEnvironment()
    given = [(0, "a", 1), (0, None, 2), (0, "b", 3)]
    keyed = env.from_collection(given).key_by(lambda event: event[0])
    pattern = (
        Pattern.begin("a")
        .where(lambda event: event[1] == "a")
        .followed_by("b")
        .where(lambda event: event[1].upper() == "B")
    )
    matches = CEP.pattern(keyed, pattern).in_processing_time().select(len)
    with pytest.raises(AttributeError, match="upper"):
        run_pipeline(lambda _: {"found": matches})
