"""Figures of several processes put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple

Number = int | float


class How(Enum):
    """What two processes' figures of one name come to."""

    SUM = "sum"
    LEAST = "least"
    MOST = "most"
    LAST = "last"
    """The one that was told last: a gauge's."""
    MEAN = "mean"
    """Worked out from the figures ``sum`` and ``count`` beside it."""


class Part(NamedTuple):
    """A figure and how it is put together with others; of a sum, what came to it since."""

    how: How
    value: Number


_MERGE: dict[How, Callable[[Number, Number], Number]] = {
    How.SUM: lambda known, told: known + told,
    How.LEAST: min,
    How.MOST: max,
    How.LAST: lambda known, told: told,
    How.MEAN: lambda known, told: told,
}


def merge(into: dict[str, Part], told: Mapping[str, Part]) -> None:
    """Put what a process tells into what is known."""
    for name, part in told.items():
        known = into.get(name)
        if known is not None:
            part = Part(part.how, _MERGE[part.how](known.value, part.value))
        into[name] = part


def changes(now: Mapping[str, Part], before: Mapping[str, Part]) -> dict[str, Part]:
    """What a process has to tell that told ``before`` last."""
    found: dict[str, Part] = {}
    for name, part in now.items():
        known = before.get(name)
        if part.how is How.SUM:
            more = part.value - (0 if known is None else known.value)
            if more:
                found[name] = Part(How.SUM, more)
        elif part != known:
            found[name] = part
    return found


def figures(parts: Mapping[str, Part]) -> dict[str, Number]:
    """The figures by their names."""
    found = {name: part.value for name, part in parts.items()}
    for name, part in parts.items():
        if part.how is How.MEAN:
            of = name.removesuffix("mean")
            found[name] = found.get(f"{of}sum", 0) / found[f"{of}count"]  # a sum of 0 is not told
    return found
