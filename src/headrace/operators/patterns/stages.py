"""The stages of a pattern: which events each takes, how many, and how it follows the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from headrace.operators.patterns.conditions import ALWAYS, Condition
from headrace.runtime.user_function import UserFunction


class Contiguity(Enum):
    """Which events may lie between two matched ones: none, other ones, or any."""

    STRICT = "strict"
    RELAXED = "relaxed"
    RELAXED_ANY = "relaxed, any"


class Follows(Enum):
    """How a stage follows the one before; the last two say which events must not come."""

    NEXT = "next"
    FOLLOWED_BY = "followed by"
    FOLLOWED_BY_ANY = "followed by any"
    NOT_NEXT = "not next"
    NOT_FOLLOWED_BY = "not followed by"

    @property
    def is_negative(self) -> bool:
        """Whether the stage says which events must not come."""
        return self in (Follows.NOT_NEXT, Follows.NOT_FOLLOWED_BY)

    @property
    def contiguity(self) -> Contiguity:
        """Which events may lie between the stage before and this one."""
        return _CONTIGUITY.get(self, Contiguity.STRICT)


_CONTIGUITY = {
    Follows.FOLLOWED_BY: Contiguity.RELAXED,
    Follows.FOLLOWED_BY_ANY: Contiguity.RELAXED_ANY,
}


@dataclass(frozen=True)
class Times:
    """How often a stage takes an event.

    Fields:
        least, most: the numbers; ``most`` None: without limit.
        within_ms: how long after an event of the stage its next one may come; None: any time.
        contiguity: which events may lie between two events of the stage.
    """

    least: int
    most: int | None
    within_ms: int | None = None
    contiguity: Contiguity = Contiguity.RELAXED


@dataclass(frozen=True)
class Stage:
    """One stage of a pattern.

    Fields:
        name: the stage's name in matches.
        follows: how it follows the stage before.
        condition: which events it takes; None: all.
        times: how often, if it loops; None: once.
        is_optional: whether matches without it count.
        is_greedy: whether it takes all events that it can before the next stage begins.
        until: the loop ends at an event for which it holds.
        within_ms: how long a match may take from its first to its last event; None: any time.
        gap_ms: how long after the event before this stage's event may come; None: any time.
        group: the stages of a group, which this stage repeats as a whole.
    """

    name: str
    follows: Follows = Follows.NEXT
    condition: Condition | None = None
    times: Times | None = None
    is_optional: bool = False
    is_greedy: bool = False
    until: Condition | None = None
    within_ms: int | None = None
    gap_ms: int | None = None
    group: tuple[Stage, ...] | None = None

    @property
    def takes(self) -> Condition:
        """The condition of its events."""
        return ALWAYS if self.condition is None else self.condition

    @property
    def is_looping(self) -> bool:
        """Whether it loops without limit."""
        return self.times is not None and self.times.most is None

    @property
    def functions(self) -> Iterator[UserFunction]:
        """The user's functions in it."""
        for condition in (self.condition, self.until):
            if condition is not None:
                yield from condition.functions
        for stage in self.group or ():
            yield from stage.functions

    def with_conditions(self, change: Callable[[Condition], Condition]) -> Stage:
        """Return a copy with changed conditions."""
        return replace(
            self,
            condition=None if self.condition is None else change(self.condition),
            until=None if self.until is None else change(self.until),
            group=None
            if self.group is None
            else tuple(stage.with_conditions(change) for stage in self.group),
        )


def describe(stages: tuple[Stage, ...], depth: int = 0) -> tuple[tuple[str, str], ...]:
    """Return each stage's name, and in words what partial matches depend on: not its conditions.

    Those of a group follow it. Checkpoints have these words: other words are another pattern.
    """
    found: list[tuple[str, str]] = []
    for stage in stages:
        words = ["in a group"] * depth + [stage.follows.value]
        times = stage.times
        if times is not None:
            most = "any number" if times.most is None else str(times.most)
            words.append(f"{times.least} to {most} of times ({times.contiguity.value})")
            words += _limit("between them", times.within_ms)
        words += ["optional"] * stage.is_optional + ["greedy"] * stage.is_greedy
        words += ["until"] * (stage.until is not None)
        words += _limit("within", stage.within_ms) + _limit("after the event before", stage.gap_ms)
        inner = () if stage.group is None else describe(stage.group, depth + 1)
        name = stage.name if stage.group is None else f"group of {inner[0][0]}"
        found += [(name, ", ".join(words)), *inner]
    return tuple(found)


def _limit(what: str, limit_ms: int | None) -> list[str]:
    return [] if limit_ms is None else [f"{what} {limit_ms} ms"]
