"""Random patterns give the same wherever their run is cut, at any parallelism, and as a batch.

Also what happens if a pattern's stages change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cep import (
    CEP,
    Pattern,
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
)
from headrace.common import Configuration, Duration, WatermarkStrategy
from headrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from headrace.errors import CheckpointError, JobError, MalformedPatternError
from headrace.testing import run_pipeline
from tests.differential.patterns import Event, build, random_case
from tests.effort import examples

from .running import SETTINGS, in_small_pieces

pytestmark = pytest.mark.filterwarnings("ignore:pattern .*, built at")
"""Random patterns are warned of for good reasons."""

LATE, OVER = OutputTag("late"), OutputTag("over")
KEYS, BOUND_MS = 3, 20


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Iterator[None]:
    with in_small_pieces():
        yield


@dataclass(frozen=True)
class Placed(Event):
    """An event of a key, with its time."""

    key: int
    at: int


class Shown(PatternProcessFunction, TimedOutPartialMatchHandler):
    """Matches and partial matches that are over, with key and time."""

    def process_match(self, match: Any, ctx: Any) -> Iterable[Any]:
        yield shown(match, ctx)

    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterable[Any]:
        yield OVER, shown(match, ctx)


def shown(match: dict[str, list[Placed]], ctx: Any) -> Any:
    found = {stage: [event.id for event in taken] for stage, taken in match.items()}
    key = next(taken[0].key for taken in match.values())
    return key, ctx.timestamp(), found


def events_of(first: int) -> list[Placed]:
    """The events of some cases, one for each key, in turn; each at most ``BOUND_MS`` late."""
    events = []
    for key in range(KEYS):
        own = [event for event in random_case(first + key)["events"] if "id" in event]
        events += [(place, key, event) for place, event in enumerate(own)]
    placed: list[Placed] = []
    latest = 0
    for place, key, event in sorted(events, key=lambda event: event[:2]):
        at = max(event.get("ts", place), latest - BOUND_MS)
        latest = max(latest, at)
        placed.append(Placed(event["id"], event["name"], event["value"], key, at))
    return placed


def program(
    pattern: Callable[[], Pattern], events: list[Placed], **settings: str
) -> Callable[..., dict[str, DataStream]]:
    times = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))

    def made(_: Any) -> dict[str, DataStream]:
        env = StreamExecutionEnvironment(Configuration.from_dict({**SETTINGS, **settings}))
        records = env.from_collection(events).uid("events")
        timed = records.assign_timestamps_and_watermarks(
            times.with_timestamp_assigner(lambda event: event.at)
        )
        keyed = timed.key_by(lambda event: event.key)
        found = CEP.pattern(keyed, pattern()).side_output_late_data(LATE)
        matches = found.process(Shown()).uid("pattern")
        sides = {"over": OVER, "late": LATE}
        return {"found": matches} | {
            name: matches.get_side_output(tag) for name, tag in sides.items()
        }

    return made


def answer(made: Callable[..., dict[str, DataStream]], **how: Any) -> dict[str, Any]:
    """Matches of each key in order; partial ones that are over; or that it failed."""
    try:
        results = run_pipeline(made, **how)
    except JobError as error:
        return {"failed": "cannot skip to" in error.message}
    found = {str(key): [each for each in results["found"] if each[0] == key] for key in range(KEYS)}
    return {**found, "over": sorted(results["over"], key=str), "late": results["late"]}


cuts = st.lists(st.integers(1, 9), max_size=8)
spreads = st.lists(st.tuples(st.integers(1, 7), st.integers(1, 3)), min_size=2, max_size=3)


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 10**9), cuts, cuts, spreads)
def test_a_pattern_gives_the_same_however_it_is_run(
    number: int, some: list[int], other: list[int], spreads: list[tuple[int, int]]
) -> None:
    """The number is the seed of the pattern and of the events."""
    case = random_case(number)

    def pattern() -> Pattern:
        return build(case["pattern"], case["skip"])

    made = program(pattern, events_of(number))
    try:
        expected = answer(made)
    except MalformedPatternError:
        return
    assert expected.get("late", []) == []
    key_groups, parallelism = spreads[0]
    spread = {"key_groups": key_groups, "parallelism": parallelism}
    hows: list[dict[str, Any]] = [
        {"mode": "batch"},
        {"cuts": some},
        {"cuts": other, "backends": "paged", "restarts": True, **spread},
        {
            "cuts": some,
            "backends": "paged",
            "restarts": "savepoint",
            "regroup": spreads[1:] + spreads[:1],
            **spread,
        },
    ]
    for how in hows:
        assert answer(made, **how) == expected, (number, how)


# Other stages.

SMALL = [Placed(n, name, 0, n % KEYS, 10 * n) for n, name in enumerate("aaaxxxaaabbbbbb")]
"""Three keys: an a, something else, an a, and two b."""

CUT = 7
"""Then the first a of each key has been taken, and the second one of the first key waits."""


def stage(begun: Pattern | None, name: str, of: str) -> Pattern:
    added = Pattern.begin(name) if begun is None else begun.followed_by(name)
    return added.where(lambda event: event.name == of)


def a_then_b() -> Pattern:
    return stage(stage(None, "first", "a"), "second", "b").within(1_000)


def other_conditions() -> Pattern:
    return stage(stage(None, "first", "x"), "second", "b").within(1_000)


def other_name() -> Pattern:
    return stage(stage(None, "first", "a"), "third", "b").within(1_000)


def other_order() -> Pattern:
    return stage(stage(None, "second", "a"), "first", "b").within(1_000)


def other_quantifier() -> Pattern:
    return stage(stage(None, "first", "a").times(2), "second", "b").within(1_000)


def other_time() -> Pattern:
    return stage(stage(None, "first", "a"), "second", "b").within(2_000)


def found_after(
    after: Callable[..., Any], how: dict[str, Any], dropped: int = 0
) -> list[dict[str, list[int]]]:
    """The matches of a program that goes on after the cut, and drops so many partial ones."""
    before = program(a_then_b, SMALL)
    results = run_pipeline(before, cuts=[CUT], successors=[after], **how)
    assert results["over"] == []
    counts = {name: n for name, n in results.counters.items() if "PartialMatches" in str(name)}
    assert [*counts.values()] == [dropped]
    return [match for *_, match in results["found"]]


CHANGES = {
    other_name: ["gone: second", "new:  third"],
    other_order: ["in another order: first, second (is now: second, first)"],
    other_quantifier: ["changed: first (was: next; is now: next, 2 to 2 of times (relaxed))"],
    other_time: ["changed: second (was: followed by, within 1000 ms; is now: followed by, within"],
}
HOWS: dict[str, dict[str, Any]] = {
    "checkpoint": {"backends": "paged", "restarts": True},
    "savepoint": {"backends": "paged", "restarts": "savepoint"},
    "savepoint of heap": {"backends": "heap", "restarts": "savepoint"},
}
BY_WAY = pytest.mark.parametrize("how", HOWS.values(), ids=HOWS)


@BY_WAY
@pytest.mark.parametrize("change", CHANGES)
def test_other_stages_are_refused_by_name(
    change: Callable[[], Pattern], how: dict[str, Any]
) -> None:
    with pytest.raises(CheckpointError) as error:
        run_pipeline(
            program(a_then_b, SMALL), cuts=[CUT], successors=[program(change, SMALL)], **how
        )
    said = str(error.value)
    assert "has other stages than in the checkpoint" in said
    assert "headrace.restore.drop-partial-matches: true" in said
    for part in CHANGES[change]:
        assert part in said


@BY_WAY
def test_conditions_may_change(how: dict[str, Any]) -> None:
    """Partial matches go on, and others begin by the new condition."""
    found = found_after(program(other_conditions, SMALL), how)
    assert found == [{"first": [n], "second": [9 + n]} for n in range(3)]


DROP = {"headrace.restore.drop-partial-matches": "true"}


@BY_WAY
def test_partial_matches_of_other_stages_are_dropped_if_so_set(how: dict[str, Any]) -> None:
    """The event that waits is kept."""
    found = found_after(program(other_name, SMALL, **DROP), how, dropped=3)
    assert found == [{"first": [6 + n], "third": [9 + n]} for n in range(3)]


@BY_WAY
def test_equal_stages_keep_their_partial_matches_with_the_setting(how: dict[str, Any]) -> None:
    found = found_after(program(a_then_b, SMALL, **DROP), how)
    expected = [{"first": [n], "second": [9 + n % 3]} for n in (0, 1, 2, 6, 7, 8)]
    assert sorted(found, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_stream_without_keys_is_matched_as_a_whole(parallelism: int) -> None:
    def made(_: Any) -> dict[str, DataStream]:
        env = StreamExecutionEnvironment(Configuration.from_dict(SETTINGS))
        env.set_parallelism(parallelism)
        times = WatermarkStrategy.for_monotonous_timestamps()
        timed = env.from_collection(SMALL).assign_timestamps_and_watermarks(
            times.with_timestamp_assigner(lambda event: event.at)
        )
        found = CEP.pattern(timed, a_then_b()).select(
            lambda match: [events[0].id for events in match.values()]
        )
        return {"found": found}

    results = run_pipeline(made, parallelism=parallelism, key_groups=4)
    events_a = [event.id for event in SMALL if event.name == "a"]
    first_b = next(event.id for event in SMALL if event.name == "b")
    assert results["found"] == [[each, first_b] for each in events_a]
