"""Patterns as they are built: what is refused, and what a pattern says of itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace.cep import (
    AfterMatchSkipStrategy,
    GroupPattern,
    MalformedPatternError,
    Pattern,
    WithinType,
)
from headrace.common import Duration, Time
from headrace.errors import PlanError, TypeMismatchError

GAP = WithinType.PREVIOUS_AND_CURRENT


def begin(name: str = "a") -> Pattern:
    return Pattern.begin(name)


def group() -> Pattern:
    return Pattern.begin(Pattern.begin("x").next("y"))


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    # Flink's cases.
    "not after optional": (lambda: begin().optional().not_next("b"), "'a', which is optional"),
    "not after times(0, n)": (
        lambda: begin().times(0, 2).not_followed_by("b"),
        "'a', which is optional",
    ),
    "optional twice": (lambda: begin().optional().optional(), "optional already"),
    "optional after greedy": (
        lambda: begin().one_or_more().greedy().next("b").optional(),
        "after a greedy stage",
    ),
    "greedy, one event": (lambda: begin().greedy(), "several events"),
    "greedy combinations": (
        lambda: begin().times(2).allow_combinations().greedy(),
        "after allow_combinations",
    ),
    "consecutive, one event": (lambda: begin().consecutive(), "several events"),
    "combinations, one event": (lambda: begin().allow_combinations(), "several events"),
    "consecutive combinations": (
        lambda: begin().times(2).consecutive().allow_combinations(),
        "comes after consecutive",
    ),
    "two quantifiers": (lambda: begin().times(2).one_or_more(), "after another quantifier"),
    "until without a loop": (lambda: begin().until(lambda e: True), "does not loop"),
    "until twice": (
        lambda: begin().one_or_more().until(lambda e: True).until(lambda e: True),
        "until.. already",
    ),
    "greedy group": (lambda: group().times(2).greedy(), "a group: a group cannot be greedy"),
    "where of a group": (lambda: group().where(lambda e: True), "no condition of its own"),
    "or_ of a group": (lambda: group().or_(lambda e: True), "no condition of its own"),
    "subtype of a group": (lambda: group().subtype(int), "no condition of its own"),
    "optional not": (lambda: begin().not_next("b").optional(), "must not come"),
    "looping not": (lambda: begin().not_next("b").one_or_more(), "must not come"),
    "a name with a colon": (lambda: begin("a:b"), "colon"),
    # What Python's lack of types lets through.
    "a name that is none": (lambda: begin(3), "a stage has a name"),  # type: ignore[arg-type]
    "a negative group": (
        lambda: begin().not_next(begin("b")),  # type: ignore[arg-type]
        "cannot be given",
    ),
    "times(0)": (lambda: begin().times(0), "takes no event"),
    "times(3, 2)": (lambda: begin().times(3, 2), "takes no number of events"),
    "times of a text": (lambda: begin().times("3"), "not '3'"),  # type: ignore[arg-type]
    "times_or_more(0)": (lambda: begin().times_or_more(0), "takes no event"),
    "begin on a pattern": (lambda: begin().next("b").begin("c"), "begins another pattern"),
    "subtype of no class": (lambda: begin().subtype("int"), "takes a class"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_call_that_makes_no_sense_is_refused(case: str) -> None:
    build, says = REFUSED[case]
    with pytest.raises(MalformedPatternError, match=says) as raised:
        build()
    assert "test_pattern.py:" in raised.value.where["called"]


AS_A_WHOLE: dict[str, tuple[Callable[[], Pattern], str]] = {
    "a name twice": (lambda: begin().next("b").next("a"), "two stages have the name 'a'"),
    "a name twice, in groups": (
        lambda: group().next(begin("z").next("x")),
        "two stages have the name 'x'",
    ),
    "not at the end": (lambda: begin().not_followed_by("b"), r"needs within\(\)"),
    "not at the end, within elsewhere": (
        lambda: begin().within(3).not_followed_by("b"),
        r"needs within\(\)",
    ),
    "no stage to skip to": (
        lambda: Pattern.begin("a", AfterMatchSkipStrategy.skip_to_first("b")),
        "'b', which is no stage",
    ),
    "a stage of a group to skip to": (
        lambda: Pattern.begin(begin("x"), AfterMatchSkipStrategy.skip_to_last("x")).next("b"),
        "'x', which is a stage of a group",
    ),
    "a group to skip to": (
        lambda: Pattern.begin(begin("x"), AfterMatchSkipStrategy.skip_to_last("GroupPattern")).next(
            "b"
        ),
        "'GroupPattern', which is no stage",
    ),
    "a gap longer than the whole": (
        lambda: begin().next("b").within(20, GAP).next("c").within(10),
        "20 ms may pass between two events",
    ),
    "a loop without events": (
        lambda: Pattern.begin(begin("x").optional()).one_or_more(),
        "repeated without end",
    ),
}


@pytest.mark.parametrize("case", AS_A_WHOLE)
def test_a_pattern_that_makes_no_sense_is_refused_as_a_whole(case: str) -> None:
    build, says = AS_A_WHOLE[case]
    pattern = build()
    with pytest.raises(MalformedPatternError, match=says) as raised:
        pattern.explain()
    assert "test_pattern.py:" in raised.value.where["built at"]
    assert raised.value.where["pattern"].replace("(", "")[0] in "ax"


def test_arguments_of_other_types_are_refused() -> None:
    with pytest.raises(TypeMismatchError, match=r"the time of within\(\) is '5 s'"):
        begin().within("5 s")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="expected a WithinType, not 'gap'"):
        begin().within(5, "gap")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="expected an AfterMatchSkipStrategy, not 'a'"):
        Pattern.begin("a", "a")  # type: ignore[arg-type]


def test_what_flink_accepts_is_accepted() -> None:
    greedy = begin().one_or_more().greedy().greedy().next("b").times(0, 1)
    ended = group().one_or_more().until(lambda event: True)
    for pattern in (greedy, ended, begin(""), begin().not_next("b"), begin().within(0)):
        assert pattern._stages()


def test_branches_share_no_later_stage() -> None:
    trunk = begin().where(lambda event: event > 0)
    left = trunk.next("b").times(2)
    right = trunk.followed_by("c").optional().within(5)
    further = left.next("d")
    left.within(7)
    assert trunk.get_name() == "a" and [each.name for each in trunk._stages()] == ["a"]
    assert [each.name for each in right._stages()] == ["a", "c"]
    names_and_limits = [(each.name, each.within_ms) for each in further._stages()]
    assert names_and_limits == [("a", None), ("b", 7), ("d", None)]
    assert left._stages()[1].times is not None and right._stages()[1].times is None
    # As in Flink, a method that describes a stage changes it in every pattern that has it.
    trunk.within(3)
    assert left._stages()[0].within_ms == right._stages()[0].within_ms == 3


def test_a_group_is_what_the_pattern_was_when_it_became_one() -> None:
    inner = begin("x")
    outer = begin().next(inner)
    inner.optional()
    assert isinstance(outer, GroupPattern) and outer.get_raw_pattern() is inner
    (_, of_group) = outer._stages()
    assert of_group.group is not None and not of_group.group[0].is_optional


def test_what_a_pattern_says_of_itself() -> None:
    skip = AfterMatchSkipStrategy.skip_to_last("b").throw_exception_on_miss()
    first = Pattern.begin("a", skip)
    pattern = first.next("b").within(Duration.of_seconds(3)).within(Time.seconds(1), GAP)
    assert (pattern.get_name(), first.get_name()) == ("b", "a")
    assert pattern.get_previous() is first and first.get_previous() is None
    assert pattern.get_after_match_skip_strategy() is skip
    assert pattern.get_window_size() == Duration.of_seconds(3)
    assert pattern.get_window_size(GAP) == Duration.of_seconds(1)
    assert first.get_window_size() is None
    assert repr(pattern) == "<pattern a, b, skip_to_last('b').throw_exception_on_miss()>"


def test_skip_strategies_say_what_they_are() -> None:
    none, to_first = AfterMatchSkipStrategy.no_skip(), AfterMatchSkipStrategy.skip_to_first("b")
    assert (none.is_skip_strategy(), to_first.is_skip_strategy()) == (False, True)
    assert (none.get_pattern_name(), to_first.get_pattern_name()) == (None, "b")
    others = AfterMatchSkipStrategy.skip_to_next(), AfterMatchSkipStrategy.skip_past_last_event()
    assert [*map(str, (none, to_first, *others))] == [
        "no_skip()",
        "skip_to_first('b')",
        "skip_to_next()",
        "skip_past_last_event()",
    ]


@pytest.mark.parametrize(
    "window", [Duration.of_millis(5), Time.milliseconds(5), timedelta(milliseconds=5)]
)
def test_the_time_of_times_may_be_the_second_argument(window: Any) -> None:
    (short,) = begin().times(3, window)._stages()
    (long,) = begin().times(3, 3, window)._stages()
    assert short.times == long.times
    assert short.times is not None and short.times.within_ms == 5
