"""The operator finds what the definition says (see ``brute_force.py``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import event as noted
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.cep import Pattern, PatternProcessFunction
from tests.effort import examples
from tests.unit.operators.patterns.brute_force import Event, Match, Stage, find
from tests.unit.operators.patterns.finding import harness

NAMES = ["a", "b", "c", "ab", "bc", "abc"]
HOW = {"strict": "next", "relaxed": "followed_by", "any": "followed_by_any"}


class Places(PatternProcessFunction):
    """The places of a match's events, by stage."""

    def process_match(self, match: Any, ctx: Any) -> Iterable[Any]:
        yield {stage: tuple(number for _, _, number in events) for stage, events in match.items()}


def built(stages: list[Stage], within_ms: int | None) -> Pattern:
    pattern: Any = None
    for number, stage in enumerate(stages):
        name = f"s{number}"
        if pattern is None:
            pattern = Pattern.begin(name)
        else:
            if stage.negative is not None:
                kind, names = stage.negative
                pattern = getattr(pattern, kind)(f"not {name}").where(of(names))
            pattern = getattr(pattern, HOW[stage.contiguity])(name)
        pattern = pattern.where(of(stage.names))
        if stage.most is None:
            pattern = (
                pattern.one_or_more() if stage.least == 1 else pattern.times_or_more(stage.least)
            )
        elif (stage.least, stage.most) != (1, 1):
            pattern = pattern.times(stage.least, stage.most)
        if (stage.least, stage.most) != (1, 1):
            if stage.inner == "strict":
                pattern = pattern.consecutive()
            elif stage.inner == "any":
                pattern = pattern.allow_combinations()
        if stage.is_optional:
            pattern = pattern.optional()
    whole: Pattern = pattern if within_ms is None else pattern.within(within_ms)
    return whole


def of(names: str) -> Any:
    return lambda event: event[1] in names


@st.composite
def drawn_stages(draw: st.DrawFn) -> list[Stage]:
    stages: list[Stage] = []
    for number in range(draw(st.integers(1, 4))):
        names = draw(st.sampled_from(NAMES))
        least, most = draw(
            st.sampled_from([(1, 1)] * 4 + [(1, None), (2, None), (2, 2), (1, 2), (2, 3)])
        )
        negative: Any = None
        before = stages[-1] if stages else None
        if (
            before is not None
            and not before.is_optional
            and before.least == before.most
            and draw(st.integers(0, 3)) == 0
        ):
            has_both = before.least == 1 and most in (None, least)
            kinds = ["not_next", "not_followed_by"][: 2 if has_both else 1]
            kind = draw(st.sampled_from(kinds))
            other = {*names, *(before.names if before.least > 1 else "")}
            free = [each for each in NAMES if kind == "not_next" or not {*each} & other]
            if free:
                negative = kind, draw(st.sampled_from(free))
        stages.append(
            Stage(
                names,
                draw(st.sampled_from(["strict", "relaxed", "relaxed", "any"])) if number else "any",
                least,
                most,
                draw(st.sampled_from(["strict", "relaxed", "relaxed", "any"])),
                negative is None and draw(st.integers(0, 3)) == 0,
                negative,
            )
        )
    return stages


drawn_events = st.lists(
    st.tuples(st.sampled_from("aabbcz"), st.sampled_from([0, 1, 1, 3])), max_size=7
)
within = st.none() | st.integers(1, 9)
LOOP = [Stage("ab", least=1, most=None), Stage("b", "any", is_optional=True), Stage("c")]


def by_operator(
    stages: list[Stage], events: list[Event], within_ms: int | None, backend: str
) -> Counter[Match]:
    found: Counter[Match] = Counter()
    with harness(built(stages, within_ms), backend, function=Places()) as task:
        for number, (name, timestamp) in enumerate(events):
            task.process(("key", name, number), timestamp)
        task.end_input()
        for match in task.output():
            found[tuple(match.get(f"s{number}", ()) for number in range(len(stages)))] += 1
    return found


@pytest.mark.parametrize("backend", ["heap", "paged"])
@settings(max_examples=examples(150), deadline=None)
@example(LOOP, [(name, 1) for name in "abazbc"], 5)
@given(drawn_stages(), drawn_events, within)
def test_matches_are_those_of_the_definition(
    backend: str, stages: list[Stage], steps: list[Event], within_ms: int | None
) -> None:
    now, events = 10, []
    for name, step in steps:
        now += step
        events.append((name, now))
    expected = Counter(find(stages, events, within_ms))
    noted(f"matches: {min(len(expected), 3)}")
    assert by_operator(stages, events, within_ms, backend) == expected


A_LOOP = Stage("a", least=1, most=None)
DEVIATIONS: list[tuple[list[Stage], str, set[Match], set[Match]]] = [
    (
        [Stage("a", least=2, most=2), Stage("a", "strict", negative=("not_followed_by", "c"))],
        "acaa",
        set(),
        {((0, 2), (3,))},
    ),
    (
        [A_LOOP, Stage("b", negative=("not_followed_by", "a"))],
        "aab",
        {((1,), (2,))},
        {((0, 1), (2,)), ((1,), (2,))},
    ),
    (
        [Stage("a"), Stage("b", negative=("not_followed_by", "b")), Stage("c")],
        "abc",
        set(),
        {((0,), (1,), (2,))},
    ),
    (
        [Stage("a"), Stage("b", most=2, negative=("not_followed_by", "c"))],
        "abccb",
        {((0,), (1,))},
        {((0,), (1,)), ((0,), (1, 4))},
    ),
]
"""Stages, events, what Flink's library finds, and what the definition says."""


@pytest.mark.parametrize(("stages", "names", "by_flink", "by_definition"), DEVIATIONS)
def test_where_flink_deviates_headrace_does(
    stages: list[Stage], names: str, by_flink: set[Match], by_definition: set[Match]
) -> None:
    events = [(name, 10 + place) for place, name in enumerate(names)]
    assert {*by_operator(stages, events, None, "heap")} == by_flink
    assert {*find(stages, events)} == by_definition


def test_the_brute_force_finds_what_a_reader_finds() -> None:
    """Patterns whose matches Flink's documentation lists."""

    def names_of(stages: list[Stage], names: str) -> list[str]:
        events = [(name, 0) for name in names]
        return sorted(
            "".join(names[place] + str(place) for taken in match for place in taken)
            for match in find(stages, events)
        )

    a, c = Stage("a"), Stage("c")
    assert names_of([Stage("a"), Stage("b", "strict")], "acbb") == []
    assert names_of([a, Stage("b", "relaxed")], "acbb") == ["a0b2"]
    assert names_of([a, Stage("b", "any")], "acbb") == ["a0b2", "a0b3"]
    loop = [c, Stage("a", least=1, most=None, inner="strict"), Stage("b")]
    assert names_of(loop, "cdaaadab") == ["c0a2a3a4b7", "c0a2a3b7", "c0a2b7"]
    loop[1] = Stage("a", least=1, most=None)
    assert names_of(loop, "cdaaadab") == ["c0a2a3a4a6b7", "c0a2a3a4b7", "c0a2a3b7", "c0a2b7"]
    loop[1] = Stage("a", least=1, most=None, inner="any")
    assert names_of(loop, "cdaaadab") == [
        "c0a2a3a4a6b7",
        "c0a2a3a4b7",
        "c0a2a3a6b7",
        "c0a2a3b7",
        "c0a2a4a6b7",
        "c0a2a4b7",
        "c0a2a6b7",
        "c0a2b7",
    ]
    assert names_of([a, Stage("c", negative=("not_followed_by", "b"))], "abc") == []
    assert names_of([a, Stage("c", negative=("not_next", "b"))], "adbc") == ["a0c3"]
