"""Patterns in tests of the operator: events are ``(key, name, number)``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.cep import AfterMatchSkipStrategy, Pattern, PatternProcessFunction
from headrace.cep import TimedOutPartialMatchHandler as TimedOut
from headrace.datastream import OutputTag
from headrace.operators.patterns.operator import PatternSpec
from headrace.runtime.user_function import UserFunction
from headrace.testing import KeyedHarness

LATE, OVER = OutputTag("late"), OutputTag("over")

Event = tuple[str, str, int]


class Found(PatternProcessFunction):
    """Gives a match as the numbers of its events by stage."""

    def process_match(self, match: Any, ctx: Any) -> Iterable[Any]:
        yield shown(match)


class FoundAndOver(Found, TimedOut):
    """Gives partial matches that are over, too, with the moment."""

    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterable[Any]:
        yield OVER, (ctx.timestamp(), shown(match))


def shown(match: Any) -> str:
    return " ".join(
        f"{stage}={','.join(str(number) for _, _, number, *_ in events)}"
        for stage, events in match.items()
    )


def named(name: str) -> Callable[[Event], bool]:
    """A condition."""
    return lambda event: event[1] == name


def spec(pattern: Pattern, **more: Any) -> PatternSpec:
    """The operator of a pattern."""
    function = more.pop("function", FoundAndOver())
    return PatternSpec(
        UserFunction(function, "process_match"), pattern._stages(), pattern._skip._skip, **more
    )


def harness(pattern: Pattern, backend: Any = "heap", **more: Any) -> KeyedHarness:
    return KeyedHarness(spec(pattern, **more), 0, backend=backend)


def a_then_b(skip: AfterMatchSkipStrategy | None = None) -> Pattern:
    """An a, and later a b within 10 ms."""
    begun = Pattern.begin("a", skip).where(named("a"))
    return begun.followed_by("b").where(named("b")).within(10)


def give(task: KeyedHarness, events: str, key: str = "key") -> None:
    """Give events written as ``name@ms``; each one's number is its time."""
    for event in events.split():
        name, time = event.split("@")
        task.process((key, name, int(time)), int(time))


def is_clean(task: KeyedHarness) -> bool:
    """No key has state, and there are no timers."""
    return not task.keys() and not task.timers()


def numbered(events: Iterable[str]) -> Iterator[Event]:
    """Events of names, numbered from 0."""
    return (("key", name, number) for number, name in enumerate(events))
