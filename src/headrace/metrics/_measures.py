"""The engine's own metrics: counts of records, and values of key groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Protocol

from headrace.metrics._merging import MergeRule, Number
from headrace.metrics.metricbase import Metric


class Measure(Protocol):
    """Counts records or nanoseconds at a point of a chain. ``count`` never decreases."""

    @property
    def count(self) -> int:
        """The number so far."""


class Tally:
    """A counter for hot loops: its attribute ``count`` is increased directly."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class MeasuredSum(Metric):
    """The sum of several measures, which are read when metrics are reported.

    ``unit``: what the sum is divided by.
    """

    unit: ClassVar[int] = 1

    def __init__(self) -> None:
        self._measures: list[Measure] = []
        self._before = 0

    def add(self, measures: Iterable[Measure]) -> None:
        """Add measures; their counts before this call are not included."""
        added = [*measures]
        self._measures += added
        self._before += sum(measure.count for measure in added)

    def figures(self) -> dict[str, Number]:
        """Return the sum in this attempt."""
        passed = self._sum_counts() - self._before
        return {"": passed if self.unit == 1 else passed / self.unit}

    def begin_attempt(self) -> None:
        """Start a new attempt: ``figures`` reports only later counts."""
        self._before = self._sum_counts()

    def _sum_counts(self) -> int:
        return sum(measure.count for measure in self._measures)


class Milliseconds(MeasuredSum):
    """Measures of nanoseconds, as milliseconds."""

    unit = 1_000_000


class KeyGroupValues(Metric):
    """A value for each key group that was processed; values of other key groups stay unchanged.

    For all key groups together, values are added.
    """

    merge_rules: ClassVar = {"": MergeRule.TOTAL}

    def __init__(self) -> None:
        self._found: dict[int, Number] = {}

    def set(self, group: int, value: Number) -> None:
        """Set the value of a key group."""
        self._found[group] = value

    def figures(self) -> dict[str, Number]:
        """Return an empty dictionary: ``by_subtask`` has a value for each key group."""
        return {}

    def by_subtask(self, subtask: int) -> Iterator[tuple[int, dict[str, Number]]]:
        """Yield ``(key group, values)`` for each key group with a value since ``begin_attempt``."""
        return ((group, {"": value}) for group, value in self._found.items())

    def begin_attempt(self) -> None:
        """Remove the values of earlier attempts."""
        self._found.clear()


class KeyGroupMinimum(KeyGroupValues):
    """A value for each key group; for all together, the minimum."""

    merge_rules: ClassVar = {"": MergeRule.LOWEST}
