"""Figures of several tasks put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple

Number = int | float


class How(Enum):
    """What two tasks' figures of one name come to."""

    SUM = "sum"
    LEAST = "least"
    MOST = "most"
    LAST = "last"
    """The figure that was reported last: a gauge's."""
    TOTAL = "total"
    """Of each subtask the figure that was reported last; of several subtasks their sum."""
    LOWEST = "lowest"
    """Of each subtask the figure that was reported last; of several subtasks the least."""
    MEAN = "mean"
    """Computed from the figures ``sum`` and ``count`` of the same metric."""


class MetricId(NamedTuple):
    """Whose figure it is. ``operator``: its id, empty for the job's own metrics.

    ``name`` is the operator's name, which other operators may have too; ``metric`` is dotted;
    ``subtask`` is the number of the Spark task that reported it. A figure of a key group (the size
    of its state, its watermark) has the number of the group there: any task may report it next.
    """

    operator: str
    name: str
    metric: str
    subtask: int = 0


class Part(NamedTuple):
    """A figure of one attempt of a task, and how it is put together with others."""

    how: How
    value: Number


_Rule = Callable[[Number, Number], Number]

_LATER: dict[How, _Rule] = {
    How.SUM: lambda known, told: known + told,
    How.LEAST: min,
    How.MOST: max,
    How.LAST: lambda known, told: told,
    How.TOTAL: lambda known, told: told,
    How.LOWEST: lambda known, told: told,
    How.MEAN: lambda known, told: told,
}
"""What a subtask's figure comes to with the one of a later attempt."""

_BESIDE: dict[How, _Rule] = {**_LATER, How.TOTAL: _LATER[How.SUM], How.LOWEST: min}
"""What the figures of two subtasks come to."""


def merge(into: dict[MetricId, Part], told: Mapping[MetricId, Part]) -> None:
    """Add the figures of an attempt to those known; what was reported last comes last."""
    for name, part in told.items():
        known = into.pop(name, None)
        into[name] = part if known is None else _both(_LATER, known, part)


def merged(known: Mapping[MetricId, Part], told: Mapping[MetricId, Part]) -> dict[MetricId, Part]:
    """The same as a new dictionary: another thread may be reading the one that is known."""
    result = dict(known)
    merge(result, told)
    return result


def beside(known: Part | None, other: Part) -> Part:
    """What the figures of two subtasks come to."""
    return other if known is None else _both(_BESIDE, known, other)


def _both(rules: Mapping[How, _Rule], known: Part, told: Part) -> Part:
    return Part(told.how, rules[told.how](known.value, told.value))


def figures(parts: Mapping[MetricId, Part]) -> dict[str, Number]:
    """The figures as users see them: by ``operator name.metric``, over all subtasks.

    Operators that share a name are one figure under it; then each has one under its id as well.
    """
    operators: dict[str, set[str]] = {}
    for key in parts:
        operators.setdefault(key.name, set()).add(key.operator)
    named: dict[str, Part] = {}
    by_id: dict[str, Part] = {}
    for key, part in parts.items():
        _add(named, _dotted(key.name, key.metric), part)
        if len(operators[key.name]) > 1:
            _add(by_id, _dotted(key.operator, key.metric), part)
    return {**_numbers(by_id), **_numbers(named)}


def _dotted(scope: str, metric: str) -> str:
    return f"{scope}.{metric}" if scope else metric


def _add(into: dict[str, Part], name: str, part: Part) -> None:
    into[name] = beside(into.get(name), part)


def _numbers(parts: Mapping[str, Part]) -> dict[str, Number]:
    found = {name: part.value for name, part in parts.items()}
    for name, part in parts.items():
        if part.how is How.MEAN:
            of = name.removesuffix("mean")
            found[name] = found.get(f"{of}sum", 0) / found[f"{of}count"]  # sums of 0 are left out
    return found
