"""``Sample``: the value of one metric at one time, as reporters receive it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from headrace.metrics._merging import Number


class Scope(Enum):
    """The scope of a metric; the value is Flink's logical scope."""

    JOB_MANAGER = ("jobmanager",)
    JOB = ("jobmanager", "job")
    TASK = ("taskmanager", "job", "task")
    OPERATOR = ("taskmanager", "job", "task", "operator")


class Kind(Enum):
    """The type of a metric, as filters name it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    METER = "meter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class Summary:
    """A summary of a distribution; ``lowest`` and ``highest`` are None if it has no values."""

    count: Number
    total: Number
    lowest: Number | None = None
    highest: Number | None = None

    @property
    def mean(self) -> float | None:
        """The mean of the values, or None."""
        return as_float(self.total) / self.count if self.count else None


Groups = tuple[tuple[str, str | None], ...]
"""The groups of a metric; a group with a value is a label."""


@dataclass(frozen=True)
class Sample:
    """The value of a metric.

    ``value``: of a meter, the events per second; of a histogram, a ``Summary``. ``count``: of a
    meter, the number of events. ``variables``: Flink's variables of the scope, without brackets.
    ``is_user``: whether a function registered the metric.
    """

    scope: Scope
    name: str
    kind: Kind
    value: Number | Summary
    variables: Mapping[str, str] = field(repr=False)
    groups: Groups = ()
    count: Number | None = None
    is_user: bool = False

    @property
    def logical_scope(self) -> tuple[str, ...]:
        """The scope and the names of the groups, without the values."""
        return (*self.scope.value, *(name for name, _ in self.groups))

    @property
    def labels(self) -> dict[str, str]:
        """The variables of the scope and of the groups."""
        named = {name: value for name, value in self.groups if value is not None}
        return {**self.variables, **named}


def as_float(number: Number) -> float:
    """Return a number as a float; an integer that is too large is infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
