"""All matches of a pattern in a few events, from the definition alone.

A match gives each stage events, in order: one, or as many as the stage says, or none if it is
optional. From each of its events to the next one:

- strict: the next one comes at once;
- relaxed: no event between them could have been taken in its place;
- relaxed, any: any events may lie between them.

The contiguity of a stage counts for its first event, its inner one for the others. After a stage
``not_next`` the event at once after must not be one of it, after ``not_followed_by`` none before
the next stage's event. A match takes less than ``within_ms`` from its first event to its last.

Flink's library, which Headrace follows, deviates from this (``DEVIATIONS`` in
``test_against_brute_force.py`` has what Flink 2.3 answered):

- ``not_followed_by`` after several events of a stage: what must not come discards the match between
  these events, too.
- ``not_followed_by`` after a loop, and ``not_next`` after one of no certain length: an event that
  both continues the loop and must not come discards the match.
- After ``not_followed_by``, an event that both must not come and is the next stage's discards the
  match, except at the end of the pattern.
- ``not_followed_by`` before ``times(1, 3)``: after the stage's first event, what must not come
  discards the match if it comes after another event that is ignored.

Such patterns are not drawn, and none with a negative stage before an optional one: what must not
come before a stage would here be forgotten with the stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Contiguity = Literal["strict", "relaxed", "any"]
Negative = Literal["not_next", "not_followed_by"]

Event = tuple[str, int]
"""A name, and a timestamp (ms)."""

Match = tuple[tuple[int, ...], ...]
"""The places of its events, by stage."""


@dataclass(frozen=True)
class Stage:
    """A stage that takes events of some names; ``negative``: what must not come before it."""

    names: str
    contiguity: Contiguity = "relaxed"
    least: int = 1
    most: int | None = 1
    inner: Contiguity = "relaxed"
    is_optional: bool = False
    negative: tuple[Negative, str] | None = None


def find(
    stages: Sequence[Stage], events: Sequence[Event], within_ms: int | None = None
) -> list[Match]:
    """The matches of a pattern."""
    found = []
    for match in _stages(stages, events, None):
        places = [place for taken in match for place in taken]
        if places:
            took_ms = events[places[-1]][1] - events[places[0]][1]
            if within_ms is None or took_ms < within_ms:
                found.append(match)
    return found


def _stages(stages: Sequence[Stage], events: Sequence[Event], last: int | None) -> Iterator[Match]:
    """The ways to go on after the event ``last``; None: at the beginning."""
    if not stages:
        yield ()
        return
    stage, *others = stages
    ways: list[tuple[int, ...]] = [()] if stage.is_optional else []
    for first in _next(stage.names, stage.contiguity, events, last):
        if _is_allowed(stage.negative, events, last, first):
            ways += _loops(stage, events, (first,))
    for taken in ways:
        for rest in _stages(others, events, taken[-1] if taken else last):
            yield (taken, *rest)


def _loops(
    stage: Stage, events: Sequence[Event], taken: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """The events of a stage that begin with those in ``taken``."""
    if len(taken) >= stage.least:
        yield taken
    if stage.most is None or len(taken) < stage.most:
        for place in _next(stage.names, stage.inner, events, taken[-1]):
            yield from _loops(stage, events, (*taken, place))


def _next(
    names: str, contiguity: Contiguity, events: Sequence[Event], last: int | None
) -> list[int]:
    """Which events may come next."""
    first = 0 if last is None else last + 1
    found = [place for place in range(first, len(events)) if events[place][0] in names]
    if last is None or contiguity == "any":
        return found
    if contiguity == "strict":
        return [place for place in found if place == first]
    return found[:1]


def _is_allowed(
    negative: tuple[Negative, str] | None, events: Sequence[Event], last: int | None, place: int
) -> bool:
    if negative is None or last is None:
        return True
    kind, names = negative
    between = events[last + 1 : last + 2] if kind == "not_next" else events[last + 1 : place]
    return not any(name in names for name, _ in between)
