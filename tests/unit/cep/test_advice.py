"""Warnings of patterns that are valid, and probably not meant."""

from __future__ import annotations

import itertools
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import pytest

from headrace.cep import CEP, AfterMatchSkipStrategy, Pattern, WithinType
from headrace.cep._advice import advice, limited_events
from headrace.cep._checks import checked_automaton
from headrace.common import Duration
from headrace.datastream import StreamExecutionEnvironment
from headrace.operators.patterns.compiler import compile_stages
from headrace.operators.patterns.matcher import Event, Matcher
from tests.differential.patterns import build
from tests.differential.test_patterns_against_flink import GOLDENS

GAP = WithinType.PREVIOUS_AND_CURRENT
TO_NEXT = AfterMatchSkipStrategy.skip_to_next()
PAST_LAST = AfterMatchSkipStrategy.skip_past_last_event()
MINUTE = Duration.of_minutes(1)


def small(event: Any) -> bool:
    return bool(event < 3)


def large(event: Any) -> bool:
    return bool(event > 5)


def begin(name: str = "a", skip: AfterMatchSkipStrategy | None = None) -> Pattern:
    return Pattern.begin(name, skip).where(small)


def given(pattern: Pattern) -> list[str]:
    stages, skip = pattern._stages(), pattern._skip._skip
    return advice(stages, skip, checked_automaton(stages, skip, "here"))


def not_large() -> Pattern:
    return begin().not_followed_by("b").where(large)


Build = Callable[[], Pattern]
WARNED: dict[str, tuple[Build, str]] = {
    # Nothing removes partial matches.
    "combinations": (
        lambda: begin(skip=PAST_LAST).one_or_more().allow_combinations().next("b"),
        r"stage 'a' loops and may leave .* can double .*add within\(\), or until\(\)",
    ),
    "a loop after any": (
        lambda: begin(skip=PAST_LAST).followed_by_any("b").one_or_more().next("c"),
        r"'b' loops after followed_by_any\(\)",
    ),
    "any in a loop": (
        lambda: (
            Pattern.begin(begin("x").followed_by_any("y"), PAST_LAST).times_or_more(2).next("b")
        ),
        r"group \(x, y\) loops and may leave out .* can double",
    ),
    "a relaxed loop": (
        lambda: begin().one_or_more().next("b"),
        "'a' loops, and its .* without end",
    ),
    "any": (lambda: begin().followed_by_any("b"), r"'b': .* because of followed_by_any\(\)"),
    "some combinations": (
        lambda: begin().times(2).allow_combinations(),
        r"'a': .* because of allow_combinations\(\)",
    ),
    # Limits that do not hold.
    "a gap in a loop": (
        lambda: begin().next("b").one_or_more().within(3, GAP).within(5),
        r"'b': within\(..., PREVIOUS_AND_CURRENT\) has no effect on a stage with times",
    ),
    "a gap on a group": (
        lambda: begin().next(begin("x")).within(3, GAP),
        "no effect on a group",
    ),
    "a gap at the start": (lambda: begin().within(3, GAP).next("b"), "there is no stage before"),
    "a gap before another stage": (
        lambda: begin().not_followed_by("b").where(large).within(3, GAP).followed_by("c"),
        r"no effect on not_followed_by\(\) before another stage",
    ),
    "within at the end of a group": (
        lambda: begin().next(begin("x").within(3)),
        "'x': within.. on the last stage of a group has no effect",
    ),
    "the time of one repetition": (
        lambda: begin().times(2, window_time=3),
        "'a': the time .* has no effect",
    ),
    "the time of a loop at the start": (
        lambda: begin().one_or_more(3).within(5),
        "'a': the time between its events has no effect",
    ),
    "the time of a loop": (
        lambda: begin().next("b").one_or_more(3).within(5),
        "'b': the time between its events holds only before event 1 of the stage",
    ),
    "the time of repetitions": (
        lambda: begin().next("b").times(4, window_time=3),
        "only before event 1 to 3 of the stage",
    ),
    "the time of first repetitions": (
        lambda: begin().times(4, window_time=3),
        "event 2 to 3 of the stage",
    ),
    "the time of a group": (
        lambda: Pattern.begin(begin("x")).times(2, window_time=3),
        r"group \(x\): the time between its events has no effect",
    ),
    # Negative stages.
    "no event may come next": (
        lambda: begin().not_next("b").next("c"),
        "'b' has no condition, .* the stages after it never take one",
    ),
    "no event may come": (
        lambda: begin().not_followed_by("b").followed_by("c").next("d"),
        "'b' has no condition, .* the stages after it never take one",
    ),
    "no event may come, except the last": (
        lambda: begin().not_followed_by("b").followed_by("c").where(large),
        r"'b' has no condition, .* except one that completes a match: next\(\)",
    ),
    "no event may come at the end": (lambda: begin().not_next("b"), "'b' .* never matches"),
    "the same condition": (
        lambda: not_large().followed_by("c").where(large).next("d"),
        "'c' never takes an event: it has the same condition as 'b'",
    ),
    "the same condition, twice": (
        lambda: not_large().followed_by("c").where(large).times(2),
        "'c' never takes an event: it has the same condition as 'b'",
    ),
    "the same condition, and another": (
        lambda: begin().not_next("b").where(large).next("c").where(small).where(large),
        "'c' never takes an event",
    ),
    "the same condition in a group": (
        lambda: not_large().next(Pattern.begin("c").where(large).next("d")),
        "'c' never takes an event",
    ),
    "the same condition, optional": (
        lambda: not_large().followed_by("c").where(large).optional().next("d"),
        "'c' never takes an event",
    ),
    "the same condition at the end": (
        lambda: not_large().followed_by("c").where(large),
        "'c' has the same condition as 'b', .* completes a match is taken although",
    ),
    "not at the end of a group": (
        lambda: begin().next(begin("x").not_followed_by("y").where(large)),
        r"'y': not_followed_by\(\) at the end of a group has no effect.*add within",
    ),
    "not at the end of a group that loops": (
        lambda: Pattern.begin(begin("x").not_followed_by("y").where(large)).one_or_more().within(5),
        "'y': not_followed_by.. at the end of a group has no effect",
    ),
    # The end.
    "optional after a loop": (
        lambda: begin().one_or_more().consecutive().next("b").optional(),
        "'b' is optional after a loop",
    ),
    "optional, and dropped": (
        lambda: begin(skip=PAST_LAST).next("b").optional(),
        "'b' takes no event: the match without it comes first",
    ),
    "longer, and dropped": (
        lambda: begin(skip=TO_NEXT).next("b").times_or_more(2),
        r"'b', the last one, takes no more than 2: .*use times\(2\)",
    ),
    # Skip strategies.
    "to a stage without events": (
        lambda: (
            begin(skip=AfterMatchSkipStrategy.skip_to_first("b"))
            .not_next("b")
            .where(large)
            .next("c")
        ),
        "'b', which takes no event: it drops nothing",
    ),
    "to the first stage": (
        lambda: begin(skip=AfterMatchSkipStrategy.skip_to_first("a")).next("b"),
        "'a', whose event is the first one",
    ),
    "to the first stage, or fail": (
        lambda: Pattern.begin(
            "a", AfterMatchSkipStrategy.skip_to_last("a").throw_exception_on_miss()
        ).next("b"),
        "each match fails the job",
    ),
}


@pytest.mark.parametrize("case", WARNED)
def test_what_is_probably_not_meant(case: str) -> None:
    make, says = WARNED[case]
    (found,) = given(make())
    assert re.search(says, found), found
    assert found in make().explain()


ORDINARY: dict[str, Build] = {
    "the same condition after an optional stage": lambda: (
        not_large().next("x").where(small).optional().next("c").where(large).next("d")
    ),
    "in turn": lambda: begin().next("b").followed_by("c"),
    "card fraud": lambda: (
        begin(skip=PAST_LAST)
        .not_followed_by("b")
        .where(large)
        .followed_by("c")
        .times(2)
        .within(MINUTE)
    ),
    "silence": lambda: begin().not_followed_by("b").within(MINUTE),
    "no answer": lambda: begin().not_followed_by("b").where(large).within(MINUTE),
    "no answer, within a gap": lambda: begin().not_followed_by("b").where(large).within(3, GAP),
    "a loop in time": lambda: begin().one_or_more().followed_by("b").within(MINUTE),
    "combinations in time": lambda: begin().times(3).allow_combinations().within(MINUTE),
    "a loop that ends": lambda: begin().one_or_more().until(large).followed_by("b"),
    "a strict loop": lambda: begin().next("b").times_or_more(2).consecutive().next("c"),
    "a loop that is dropped": lambda: begin(skip=PAST_LAST).one_or_more().greedy().next("b"),
    "a group": lambda: Pattern.begin(begin("x").followed_by("y")).times(2).next("b"),
    "optional": lambda: begin().next("b").optional().next("c"),
    "the same condition later": lambda: (
        begin().not_next("b").where(large).followed_by("c").where(large)
    ),
    "another condition between": lambda: (
        begin()
        .not_followed_by("b")
        .where(large)
        .followed_by("c")
        .where(small)
        .next("d")
        .where(large)
    ),
    "a gap": lambda: begin().next("b").within(3, GAP),
    "skip to the second": lambda: begin(skip=AfterMatchSkipStrategy.skip_to_first("b")).next("b"),
    "skip to the last of a loop": lambda: (
        begin(skip=AfterMatchSkipStrategy.skip_to_last("a")).times(2).next("b")
    ),
    "not at the end of the last group": lambda: (
        begin().next(begin("x").not_followed_by("y").where(large)).within(5)
    ),
}


@pytest.mark.parametrize("case", ORDINARY)
def test_ordinary_patterns_give_no_warning(case: str) -> None:
    assert given(ORDINARY[case]()) == []
    assert "Warnings" not in ORDINARY[case]().explain()


NO_EFFECT: dict[str, tuple[Build, Build]] = {
    "a gap in a loop": (
        lambda: begin().next("b").one_or_more().within(3, GAP).within(5),
        lambda: begin().next("b").one_or_more().within(5),
    ),
    "a gap on a group": (
        lambda: begin().next(begin("x")).within(3, GAP),
        lambda: begin().next(begin("x")),
    ),
    "a gap on a group that repeats": (
        lambda: Pattern.begin(begin("x")).times(2).within(3, GAP),
        lambda: Pattern.begin(begin("x")).times(2),
    ),
    "a gap at the start": (
        lambda: begin().within(3, GAP).next("b"),
        lambda: begin().next("b"),
    ),
    "a gap before another stage": (
        lambda: begin().not_followed_by("b").where(large).within(3, GAP).followed_by("c"),
        lambda: begin().not_followed_by("b").where(large).followed_by("c"),
    ),
    "within at the end of a group": (
        lambda: begin().next(begin("x").within(3)).next("b"),
        lambda: begin().next(begin("x")).next("b"),
    ),
    "the time of one repetition": (
        lambda: begin().next("b").times(1, window_time=3),
        lambda: begin().next("b").times(1),
    ),
    "the time of a loop at the start": (
        lambda: begin().one_or_more(3).within(5),
        lambda: begin().one_or_more().within(5),
    ),
    "the time of a group": (
        lambda: Pattern.begin(begin("x")).times(2, window_time=3),
        lambda: Pattern.begin(begin("x")).times(2),
    ),
    "not at the end of a group": (
        lambda: begin().next(begin("x").not_followed_by("y").where(large)),
        lambda: begin().next(begin("x")),
    ),
    "not at the end of a group that loops": (
        lambda: Pattern.begin(begin("x").not_followed_by("y").where(large)).one_or_more().within(5),
        lambda: Pattern.begin(begin("x")).one_or_more().within(5),
    ),
    "not at the end of a group before another stage": (
        lambda: Pattern.begin(begin("x").not_followed_by("y").where(large)).next("b").within(5),
        lambda: Pattern.begin(begin("x")).next("b").within(5),
    ),
}


@pytest.mark.parametrize("case", NO_EFFECT)
def test_what_has_no_effect_changes_neither_states_nor_limits(case: str) -> None:
    make, make_without = NO_EFFECT[case]
    (found,) = [each for each in given(make()) if "no effect" in each]
    assert found not in given(make_without())
    texts = [each().explain() for each in (make, make_without)]
    first, second = (re.search(r"^Time$.*^Kept", each, re.M | re.S) for each in texts)
    assert first is not None and second is not None
    assert first[0] == second[0]


NEVER = {
    "the same condition": "c",
    "the same condition, twice": "c",
    "the same condition, and another": "c",
    "the same condition in a group": "c",
    "the same condition, optional": "c",
    "no event may come next": "c",
    "no event may come": "c",
    "no event may come at the end": "a",
}
"""Of cases of ``WARNED``: the stage that is in no match."""


def matches_of(pattern: Pattern, events: Iterable[int]) -> Iterator[dict[str, list[Any]]]:
    """The matches in events of one ms each, and of the time after them."""
    matcher = Matcher(compile_stages(pattern._stages()), pattern._skip._skip)
    matches, at = matcher.begin(), 0
    for at, event in enumerate(events):
        yield from (match.events() for match in matcher.advance(matches, at)[0])
        yield from (match.events() for match in matcher.process(matches, Event(event, at, at)))
    yield from (match.events() for match in matcher.advance(matches, at + 100_000)[0])


@pytest.mark.parametrize("case", NEVER)
def test_a_stage_that_never_takes_an_event_is_in_no_match(case: str) -> None:
    for length in range(1, 6):
        for events in itertools.product([1, 4, 7], repeat=length):
            for match in matches_of(WARNED[case][0](), events):
                assert NEVER[case] not in match, events


@pytest.mark.parametrize(
    "pattern",
    [
        *(ORDINARY[each] for each in ("silence", "the same condition later")),
        ORDINARY["another condition between"],
        ORDINARY["the same condition after an optional stage"],
        WARNED["the same condition at the end"][0],
        WARNED["no event may come, except the last"][0],
    ],
)
def test_what_is_like_it_has_matches(pattern: Build) -> None:
    made = pattern()
    last = [each.name for each in made._stages() if not each.follows.is_negative][-1]
    sequences = itertools.product([1, 4, 7], repeat=4)
    assert any(last in match for each in sequences for match in matches_of(made, each))


LIMITED: dict[str, Callable[[Pattern], Pattern]] = {
    "times(4)": lambda stage: stage.times(4, window_time=10),
    "times(2, 4)": lambda stage: stage.times(2, 4, window_time=10),
    "times(1)": lambda stage: stage.times(1, window_time=10),
    "one_or_more()": lambda stage: stage.one_or_more(10),
    "times_or_more(3)": lambda stage: stage.times_or_more(3, 10),
}


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("quantified", LIMITED)
def test_a_time_between_events_holds_before_the_events_that_are_named(
    quantified: str, is_first: bool
) -> None:
    """A pause of 100 ms before one of the events ends a match exactly if it is named."""
    stage = Pattern.begin("b") if is_first else Pattern.begin("a").next("b")
    pattern = LIMITED[quantified](stage).consecutive().within(1_000)
    (*_, of_b) = pattern._stages()
    assert of_b.times is not None
    most = of_b.times.most or 5
    ended = []
    for number in range(2 if is_first else 1, most + 1):
        matcher = Matcher(compile_stages(pattern._stages()), pattern._skip._skip)
        matches, lengths, time_ms = matcher.begin(), [0], 0
        for place in range(0 if not is_first else 1, most + 1):
            time_ms += 100 if place == number else 1
            matcher.advance(matches, time_ms)
            found = matcher.process(matches, Event(place, time_ms, place))
            lengths += [len(each.events()["b"]) for each in found]
        if max(lengths) < most:
            ended.append(number)
    assert ended == [*limited_events(of_b, is_first)]


@cache
def of_goldens() -> list[tuple[list[str], Any]]:
    """The warnings of each random pattern, and the matches that Flink found."""
    found = []
    for line in GOLDENS.read_text("utf-8").splitlines():
        case = json.loads(line)
        if "error" not in case["flink"]:
            pattern = build(case["given"]["pattern"], case["given"]["skip"])
            found.append((given(pattern), case["flink"]["matches"]))
    return found


def test_what_never_matches_has_no_match_in_flink() -> None:
    ever = 0
    for found, matches in of_goldens():
        for each in found:
            if each.endswith("never matches"):
                assert matches == [], each
                ever += 1
    assert ever > 0


def test_what_takes_no_more_events_takes_no_more_in_flink() -> None:
    ever = held_back = 0
    for found, matches in of_goldens():
        for each in found:
            at_most = re.match(r"stage '(\w+)', the last one, takes no more than (\d)", each)
            never = re.match(r"stage '(\w+)' takes no event: the match without", each)
            if at_most is None and never is None:
                continue
            stage, most = (at_most[1], int(at_most[2])) if at_most else (never[1], 0)  # type: ignore[index]
            counts = [len(match.get(stage, ())) for _, match in matches]
            ever += len(counts)
            held_back += sum(count > most for count in counts)
    assert ever > 50 and held_back <= 1


def test_a_pattern_is_warned_of_where_it_is_used() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([1, 2])
    with pytest.warns(UserWarning, match=r"pattern a, b, built at .*test_advice.py:\d+: ") as noted:
        CEP.pattern(stream, begin().followed_by_any("b"))
    assert [each.filename for each in noted] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CEP.pattern(stream, begin().followed_by("b"))
