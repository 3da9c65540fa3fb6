"""Patterns as text, kept in ``goldens``.

After a change that is meant to change them, renew the files and read the difference:

    HEADRACE_RENEW_PLANS=1 python -m pytest tests/unit/cep/test_explaining.py
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.cep import AfterMatchSkipStrategy, IterativeCondition, Pattern, WithinType
from headrace.cep._explaining import condition_text, time_text
from headrace.common import Duration
from headrace.operators.patterns.conditions import ALWAYS, And, Call, Not, Or, Subtype
from headrace.runtime.user_function import UserFunction

GOLDENS = Path(__file__).parent / "goldens"
RENEW = "HEADRACE_RENEW_PLANS"


def is_small(event: Any) -> bool:
    return bool(event < 3)


def is_confirmation(event: Any) -> bool:
    return bool(event == 0)


def is_large(event: Any) -> bool:
    return bool(event > 5)


class LargerThanBefore(IterativeCondition):
    def filter(self, value: Any, ctx: Any) -> bool:
        return bool(value > max(ctx.get_events_for_pattern("small")))


def card_fraud() -> Pattern:
    return (
        Pattern.begin("small", AfterMatchSkipStrategy.skip_past_last_event())
        .where(is_small)
        .not_followed_by("confirmed")
        .where(is_confirmation)
        .followed_by("large")
        .where(is_large)
        .where(LargerThanBefore())
        .times(2)
        .within(Duration.of_minutes(10))
    )


def no_answer() -> Pattern:
    return (
        Pattern.begin("order")
        .where(is_small)
        .not_followed_by("answer")
        .where(is_large)
        .or_(is_confirmation)
        .within(Duration.of_seconds(5))
    )


def groups_and_loops() -> Pattern:
    inner = Pattern.begin("b").where(is_small).next("c").where(is_large).optional()
    return (
        Pattern.begin("a", AfterMatchSkipStrategy.skip_to_last("a"))
        .where(is_small)
        .one_or_more()
        .greedy()
        .until(is_confirmation)
        .next(inner)
        .times(1, 2)
        .consecutive()
        .not_next("d")
        .subtype(str)
        .followed_by_any("e")
        .within(Duration.of_hours(1))
    )


def warned() -> Pattern:
    return (
        Pattern.begin("a")
        .where(lambda event: event > 0)
        .times_or_more(2, Duration.of_millis(1_500))
        .allow_combinations()
        .next("b")
        .within(Duration.of_seconds(2), WithinType.PREVIOUS_AND_CURRENT)
    )


@pytest.mark.parametrize("pattern", [card_fraud, no_answer, groups_and_loops, warned])
def test_explain(pattern: Callable[[], Pattern]) -> None:
    file = GOLDENS / f"{pattern.__name__}.txt"
    line = str(warned.__code__.co_firstlineno + 3)
    found = pattern().explain().replace(f"test_explaining.py:{line}", "test_explaining.py:LINE")
    if os.environ.get(RENEW):
        file.write_text(f"{found}\n", "utf-8")
    assert f"{found}\n" == file.read_text("utf-8"), f"if that is right, renew it: {RENEW}=1"


def test_conditions_have_no_needless_parentheses() -> None:
    small, large = (Call(UserFunction(each)) for each in (is_small, is_large))
    texts = {
        And((ALWAYS, And((small, Not(large))))): "is_small and not is_large",
        And((small, Or((small, large)))): "is_small and (is_small or is_large)",
        Not(And((ALWAYS, small))): "not is_small",
        Not(Or((small, Subtype(int)))): "not (is_small or is int)",
        Or((And((small, large)), large)): "(is_small and is_large) or is_large",
        And((ALWAYS, ALWAYS)): "any event",
        Not(ALWAYS): "never",
        Call(UserFunction(LargerThanBefore(), "filter"), True): "LargerThanBefore",
    }
    assert {text: condition_text(condition) for condition, text in texts.items()} == {
        text: text for text in texts.values()
    }


@pytest.mark.parametrize(
    ("amount_ms", "text"),
    [(1, "1 ms"), (1_000, "1 s"), (90_000, "90 s"), (600_000, "10 min"), (172_800_000, "2 d")],
)
def test_times_are_in_their_largest_whole_unit(amount_ms: int, text: str) -> None:
    assert time_text(amount_ms) == text
