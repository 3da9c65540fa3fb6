"""Patterns that are too large are refused when they are built, at once, with the stage."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from headrace.cep import Pattern, PatternRegistry, pattern_from
from headrace.errors import MalformedPatternError
from headrace.operators.patterns.compiler import compile_stages
from headrace.operators.patterns.matcher import Event, Matcher
from headrace.operators.patterns.skips import NO_SKIP


def is_one(event: Any) -> bool:
    return bool(event == 1)


def optional_stages(count: int, pattern: Pattern | None = None) -> Pattern:
    pattern = pattern or Pattern.begin("begin").where(is_one)
    for number in range(count):
        pattern = pattern.followed_by(f"s{number}").where(is_one).optional()
    return pattern.followed_by("end").where(is_one)


def after_what_must_not_come() -> Pattern:
    return optional_stages(400, Pattern.begin("begin").not_followed_by("not").where(is_one))


def optional_groups() -> Pattern:
    pattern = Pattern.begin("begin")
    for number in range(20):
        group = Pattern.begin(f"a{number}").optional().followed_by(f"b{number}").optional()
        pattern = pattern.followed_by(group).optional()
    return pattern.followed_by("end")


def nested_groups() -> Pattern:
    pattern = Pattern.begin("a")
    for _ in range(2_000):
        pattern = Pattern.begin(pattern)
    return pattern


def where_and_or() -> Pattern:
    pattern = Pattern.begin("a")
    for _ in range(300):
        pattern = pattern.where(is_one).or_(is_one)
    return pattern


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: Pattern.begin("a").times(10**9), "stage 'a': .*more than 10,000 states"),
        (after_what_must_not_come, r"stage 's\d+': .*more than 10,000 states"),
        (lambda: optional_stages(1_100), r"stage 's0': .*more than 1,000 ways"),
        (optional_groups, r"stage 'a\d+': .*more than 1,000 ways"),
        (nested_groups, "more than 100 deep"),
        (where_and_or, "more than 100 deep"),
    ],
)
def test_a_pattern_that_is_too_large(build: Callable[[], Pattern], reason: str) -> None:
    pattern, begun = build(), time.process_time()
    with pytest.raises(MalformedPatternError, match=reason):
        pattern._stages()
    assert time.process_time() - begun < 5


def test_data_that_make_a_pattern_too_large() -> None:
    optional = [{"name": f"s{number}", "optional": True} for number in range(400)]
    stages = [{"name": "a"}, {"name": "b", "follows": "not_followed_by"}, *optional, {"name": "c"}]
    with pytest.raises(MalformedPatternError, match=r"pattern 'p', stage .*10,000 states"):
        pattern_from({"id": "p", "stages": stages}, PatternRegistry())


def test_the_stages_after_a_loop_may_be_optional_in_any_number() -> None:
    """The states that must not lead to a stop are copied: one after another, not in one another."""
    looping = Pattern.begin("a").not_followed_by("b").where(is_one).followed_by("c").one_or_more()
    assert len(compile_stages(optional_stages(300, looping)._stages()).states) > 600


def test_an_event_of_any_of_many_stages_may_be_the_last_one() -> None:
    pattern = Pattern.begin("begin")
    for number in range(300):
        pattern = pattern.next(f"s{number}").optional()
    matcher = Matcher(compile_stages(pattern._stages()), NO_SKIP)
    matches = matcher.begin()
    found = [len(matcher.process(matches, Event(at, at, at))) for at in range(2)]
    assert found == [1, 301]
