"""Skip strategies: which matches are dropped after a match."""

from __future__ import annotations

import pytest

from headrace.cep import AfterMatchSkipStrategy, Pattern
from headrace.errors import JobError
from headrace.operators.patterns.skips import (
    NO_SKIP,
    Skip,
    SkipPastLastEvent,
    SkipToNext,
    SkipToStage,
)
from tests.unit.operators.patterns.finding import give, harness, named

MATCH = {"a": [3, 5], "b": [4, 8], "c": [9]}


@pytest.mark.parametrize(
    ("skip", "last"),
    [
        (NO_SKIP, -1),
        (SkipToNext(), 3),
        (SkipPastLastEvent(), 9),
        (SkipToStage("b", False), 3),
        (SkipToStage("b", True), 7),
        (SkipToStage("a", False), 2),
        (SkipToStage("missing", False), -1),
        (SkipToStage("missing", True), -1),
    ],
)
def test_matches_that_begin_by_an_event_are_dropped(skip: Skip, last: int) -> None:
    assert skip.last_dropped(MATCH) == last
    assert skip.is_skip is (skip is not NO_SKIP)


def test_a_miss_fails_if_it_must() -> None:
    with pytest.raises(JobError, match="cannot skip to 'd': the match has no event of that stage"):
        SkipToStage("d", False, fails_on_miss=True).last_dropped(MATCH)
    with pytest.raises(JobError, match="that is the first event of the match"):
        SkipToStage("a", False, fails_on_miss=True).last_dropped(MATCH)
    assert SkipToStage("b", False, fails_on_miss=True).last_dropped(MATCH) == 3


STRATEGIES = {
    "no_skip": ["a=1 b=3", "a=1,2 b=3", "a=2 b=3", "a=1 b=4", "a=1,2 b=4", "a=2 b=4"],
    "skip_to_next": ["a=1,2 b=3", "a=2 b=3"],
    "skip_past_last_event": ["a=1,2 b=3"],
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_is_left_of_a_loop(strategy: str) -> None:
    skip = getattr(AfterMatchSkipStrategy, strategy)()
    loop = Pattern.begin("a", skip).where(named("a")).one_or_more()
    with harness(loop.followed_by_any("b").where(named("b"))) as task:
        give(task, "a@1 a@2 b@3 b@4")
        task.end_input()
        assert sorted(task.output()) == sorted(STRATEGIES[strategy])


def test_a_match_waits_for_an_earlier_partial_one() -> None:
    """It is given once the earlier one is over; nothing is dropped that should not be."""
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    begun = Pattern.begin("a", skip).where(lambda event: event[1] in "ax")
    pattern = begun.followed_by("b").where(
        lambda event, ctx: event[1] == {"a": "b", "x": "y"}[ctx.get_events_for_pattern("a")[0][1]]
    )
    with harness(pattern.within(10)) as task:
        give(task, "x@1 a@2 b@3 a@4 b@5")
        task.advance_watermark(10)
        assert task.output() == []
        task.advance_watermark(11)
        assert task.output() == ["a=2 b=3", "a=4 b=5"]
