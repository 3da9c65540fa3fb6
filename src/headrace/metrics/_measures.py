"""The metrics that the engine itself keeps: counts of records, and figures of key groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Protocol

from headrace.metrics._merging import MergeRule, Number
from headrace.metrics.metricbase import Metric


class Measure(Protocol):
    """Counts what passes a point of a chain: records, or nanoseconds. ``count`` never falls."""

    @property
    def count(self) -> int:
        """The number so far."""


class Tally:
    """A number that whoever passes a point raises: an attribute, as it is raised for records."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class MeasuredSum(Metric):
    """What several measures have counted together; they are read when figures are asked for.

    ``unit``: by how much a measure's number is divided.
    """

    unit: ClassVar[int] = 1

    def __init__(self) -> None:
        self._measures: list[Measure] = []
        self._before = 0

    def add(self, measures: Iterable[Measure]) -> None:
        """Count by these, too, from here on."""
        added = [*measures]
        self._measures += added
        self._before += sum(measure.count for measure in added)

    def figures(self) -> dict[str, Number]:
        """Return the records of this attempt, as one figure."""
        passed = self._now() - self._before
        return {"": passed if self.unit == 1 else passed / self.unit}

    def begin_attempt(self) -> None:
        """Count from here."""
        self._before = self._now()

    def _now(self) -> int:
        return sum(measure.count for measure in self._measures)


class Milliseconds(MeasuredSum):
    """Measures of nanoseconds, as milliseconds."""

    unit = 1_000_000


class KeyGroupValues(Metric):
    """A figure of each key group that was at work; what other groups have is unchanged.

    All groups together have the sum of their figures.
    """

    merge_rules: ClassVar = {"": MergeRule.TOTAL}

    def __init__(self) -> None:
        self._found: dict[int, Number] = {}

    def set(self, group: int, value: Number) -> None:
        """Set the value of a key group."""
        self._found[group] = value

    def figures(self) -> dict[str, Number]:
        """Return nothing: each key group has a value of its own, see ``by_subtask``."""
        return {}

    def by_subtask(self, subtask: int) -> Iterator[tuple[int, dict[str, Number]]]:
        """Return the figure of each group that was at work in this attempt, by the group."""
        return ((group, {"": value}) for group, value in self._found.items())

    def begin_attempt(self) -> None:
        """Forget the groups."""
        self._found.clear()


class KeyGroupMinimum(KeyGroupValues):
    """A figure of each key group; all together have the lowest of them."""

    merge_rules: ClassVar = {"": MergeRule.LOWEST}
