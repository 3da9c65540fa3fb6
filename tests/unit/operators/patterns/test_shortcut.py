"""Events that are not kept would not have changed anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cep import AfterMatchSkipStrategy, Pattern, SimpleCondition
from headrace.errors import HeadraceError
from headrace.operators.patterns import operator
from headrace.operators.patterns.compiler import compile_stages
from headrace.operators.patterns.shortcut import Check, any_holds, conditions_to_ask
from tests.differential.patterns import build, random_case
from tests.differential.test_patterns_against_flink import answer
from tests.effort import examples
from tests.unit.operators.patterns.finding import Found, a_then_b, harness, named


def check_of(pattern: Pattern, number_shows: bool = True) -> Check | None:
    stages = pattern._stages()
    asked = conditions_to_ask(stages, compile_stages(stages), number_shows)
    return None if asked is None else any_holds(asked)


def a() -> Pattern:
    return Pattern.begin("a").where(named("a"))


ALWAYS_LEAVES_OUT: dict[str, Callable[[], Pattern]] = {
    "followed by": a_then_b,
    "followed by any": lambda: a().followed_by_any("b").where(named("b")),
    "not before": lambda: (
        a().not_followed_by("c").where(named("c")).followed_by("b").where(named("b"))
    ),
    "not in time": lambda: a().not_followed_by("b").where(named("b")).within(5),
    "times": lambda: a().times(2).followed_by("b").where(named("b")),
    "or": lambda: a().or_(named("x")).followed_by("b").where(named("b")).where(named("c")),
    "subtype": lambda: Pattern.begin("a").subtype(str).followed_by("b").where(named("b")),
    "and iterative": lambda: a().where(lambda event, ctx: event[2] > 3),
}
IF_THE_NUMBER_DOES_NOT_SHOW: dict[str, Callable[[], Pattern]] = {
    "one or more": lambda: a().one_or_more().followed_by("b").where(named("b")),
    "one or more, last": lambda: a().followed_by("b").where(named("b")).one_or_more(),
    "optional": lambda: (
        a().followed_by("c").where(named("c")).optional().followed_by("b").where(named("b"))
    ),
    "between": lambda: a().times(1, 3).followed_by("b").where(named("b")),
    "until": lambda: a().one_or_more().until(named("x")).followed_by("b").where(named("b")),
}
NEVER: dict[str, Callable[[], Pattern]] = {
    "any event": lambda: a().followed_by("b"),
    "strict": lambda: a().next("b").where(named("b")),
    "strict loop": lambda: a().one_or_more().consecutive().followed_by("b").where(named("b")),
    "not next": lambda: a().not_next("c").where(named("c")).followed_by("b").where(named("b")),
    "iterative": lambda: a().followed_by("b").where(lambda event, ctx: event[2] > 3),
    "or iterative": lambda: a().or_(lambda event, ctx: event[2] > 3),
    "time between": lambda: a().times(1, 3, 5).followed_by("b").where(named("b")),
    "last loop, then not": lambda: (
        a().one_or_more().not_followed_by("b").where(named("b")).within(9)
    ),
}


@pytest.mark.parametrize("made", ALWAYS_LEAVES_OUT.values(), ids=ALWAYS_LEAVES_OUT)
def test_other_events_change_nothing(made: Callable[[], Pattern]) -> None:
    for shows in (True, False):
        check = check_of(made(), shows)
        assert check is not None
        assert not check(("key", "z", 0))
        assert check(("key", "a", 0)) or check("a text")


@pytest.mark.parametrize(
    "made", IF_THE_NUMBER_DOES_NOT_SHOW.values(), ids=IF_THE_NUMBER_DOES_NOT_SHOW
)
def test_other_events_change_only_the_number(made: Callable[[], Pattern]) -> None:
    assert check_of(made()) is None
    check = check_of(made(), False)
    assert check is not None
    assert [check(("key", name, 0)) for name in "abz"] == [True, True, False]


@pytest.mark.parametrize("made", NEVER.values(), ids=NEVER)
def test_each_event_may_change_something(made: Callable[[], Pattern]) -> None:
    assert check_of(made()) is None
    assert check_of(made(), False) is None


def test_the_number_shows_in_timeouts_and_skip_strategies() -> None:
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    for strategy, function, is_left_out in (
        (None, Found(), True),
        (None, None, False),
        (skip, Found(), False),
    ):
        loop = Pattern.begin("a", strategy).where(named("a")).one_or_more()
        more = {} if function is None else {"function": function}
        with harness(loop.followed_by("b").where(named("b")), **more) as task:
            task.process(("key", "z", 1), 1)
            assert (task.keys() == []) is is_left_out


@pytest.mark.parametrize("is_event_time", [True, False])
def test_a_condition_that_fails_leaves_no_event_out(is_event_time: bool) -> None:
    def fails(event: Any) -> bool:
        raise ValueError("no")

    pattern = a().followed_by("b").where(fails)
    with harness(pattern, is_event_time=is_event_time, function=Found()) as task:
        task.process(("key", "z", 1), 1)
        task.process(("key", "a", 2), 2)
        assert task.keys() == ["key"]


class OfCall(SimpleCondition):
    def __init__(self) -> None:
        self.calls = 0

    def filter(self, value: Any) -> bool:
        self.calls += 1
        return False


def test_an_event_that_matches_no_stage_costs_one_check_of_each_condition() -> None:
    condition = OfCall()
    pattern = Pattern.begin("a").where(condition).followed_by("b").where(condition)
    check = check_of(pattern)
    assert check is not None
    assert not check(("key", "z", 0))
    assert condition.calls == 2


def test_a_condition_after_one_of_the_context_is_not_called_for_the_check() -> None:
    costly, first = OfCall(), SimpleCondition.of(lambda event: event[1] == "a")
    pattern = (
        Pattern.begin("a")
        .where(first)
        .followed_by("b")
        .where(first)
        .where(lambda event, ctx: True)
        .where(costly)
    )
    check = check_of(pattern)
    assert check is not None
    assert not check(("key", "z", 0)) and check(("key", "a", 0))
    assert costly.calls == 0


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(1_000, 10**9))
def test_answers_are_equal_with_and_without(first: int) -> None:
    """The number is the seed of the first of some random patterns and events."""
    for number in range(first, first + 6):
        case = random_case(number)
        try:
            stages = build(case["pattern"], case["skip"])._stages()
            automaton = compile_stages(stages)
        except HeadraceError:
            continue
        if conditions_to_ask(stages, automaton, False) is None:
            continue
        with pytest.MonkeyPatch.context() as patch:
            found = answered(case)
            patch.setattr(operator, "conditions_to_ask", lambda *arguments: None)
            assert found == answered(case), number


def answered(case: Any) -> Any:
    try:
        found = answer(case, "heap")
    except HeadraceError as error:
        return error.message
    shows = case["timeouts"] or case["skip"] not in (None, ["no_skip"])
    # Of matches at one moment only the number is certain, if they begin with the same event.
    return found if shows else {**found, "matches": sorted(found["matches"], key=str)}
