"""Counters, gauges, meters and distributions in groups, kept in this process.

A group belongs to one task and is used from one thread. ``MetricGroup.values`` returns the values
of one attempt of the task. ``MetricGroup.begin_attempt`` starts the next one, so what a failed
attempt counted is never reported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, TypeVar

from headrace.errors import PlanError, TypeMismatchError
from headrace.metrics._merging import MergeRule, MetricId, MetricValue, Number, figures

__all__ = ["Counter", "Distribution", "Gauge", "Meter", "Metric", "MetricGroup"]


class Metric(ABC):
    """Something measured."""

    merge_rules: ClassVar[Mapping[str, MergeRule]] = {"": MergeRule.SUM}
    """By suffix of a figure: how it is merged with another task's."""

    @abstractmethod
    def figures(self) -> dict[str, Number]:
        """What was measured in this attempt, by suffix; empty for a metric with one figure."""

    @abstractmethod
    def begin_attempt(self) -> None:
        """Leave out of ``figures`` what was measured so far."""

    def by_subtask(self, subtask: int) -> Iterator[tuple[int, dict[str, Number]]]:
        """The figures of this attempt, which has a number, by the subtask that they are of."""
        yield subtask, self.figures()


class Counter(Metric):
    """A number that goes up and down."""

    def __init__(self) -> None:
        self._count = self._before = 0

    def inc(self, n: int = 1) -> None:
        """Add."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Subtract."""
        self._count -= n

    def get_count(self) -> int:
        """The number now."""
        return self._count

    def figures(self) -> dict[str, Number]:
        """The change in this attempt, as one figure."""
        return {"": self._count - self._before}

    def begin_attempt(self) -> None:
        """Count from here."""
        self._before = self._count


class Gauge(Metric):
    """A number asked for when it is wanted."""

    merge_rules: ClassVar = {"": MergeRule.LAST}

    def __init__(self, obj: Callable[[], Number]) -> None:
        self._ask = obj

    def figures(self) -> dict[str, Number]:
        """What the user's function gives back.

        Raises:
            TypeMismatchError: the value is not a number.
        """
        value = self._ask()
        if not isinstance(value, int | float):
            raise TypeMismatchError(f"a gauge gave {value!r}, a {type(value).__name__}")
        return {"": int(value) if isinstance(value, bool) else value}

    def begin_attempt(self) -> None:
        """Nothing: it is asked anew each time."""


class Meter(Metric):
    """A count of events whose rate is of interest.

    It reads no clock: whoever takes snapshots works out the rate over ``time_span_in_seconds``.
    """

    merge_rules: ClassVar = {"count": MergeRule.SUM}

    def __init__(self, time_span_in_seconds: int = 60) -> None:
        if time_span_in_seconds < 1:
            raise PlanError(f"a meter's time span is {time_span_in_seconds} s: 1 is the least")
        self.time_span_in_seconds = time_span_in_seconds
        self._count = self._before = 0

    def mark_event(self, value: int = 1) -> None:
        """Count a number of events."""
        self._count += value

    def get_count(self) -> int:
        """The events so far."""
        return self._count

    def figures(self) -> dict[str, Number]:
        """The events of this attempt, as ``count``."""
        return {"count": self._count - self._before}

    def begin_attempt(self) -> None:
        """Count from here."""
        self._before = self._count


class Distribution(Metric):
    """How many values there were, their sum, the least and the greatest."""

    merge_rules: ClassVar = {
        "count": MergeRule.SUM,
        "sum": MergeRule.SUM,
        "min": MergeRule.MIN,
        "max": MergeRule.MAX,
        "mean": MergeRule.MEAN,
    }

    def __init__(self) -> None:
        self.begin_attempt()

    def begin_attempt(self) -> None:
        """Be as new."""
        self._count = 0
        self._sum: Number = 0
        self._min: Number = 0
        self._max: Number = 0

    def update(self, value: Number) -> None:
        """Take in one value."""
        if self._count == 0 or value < self._min:
            self._min = value
        if self._count == 0 or value > self._max:
            self._max = value
        self._count += 1
        self._sum += value

    def figures(self) -> dict[str, Number]:
        """``count`` and ``sum``; with values, also ``min``, ``max`` and ``mean``."""
        figures: dict[str, Number] = {"count": self._count, "sum": self._sum}
        if self._count:
            figures |= {"min": self._min, "max": self._max, "mean": self._sum / self._count}
        return figures


M = TypeVar("M", bound=Metric)


class MetricGroup:
    """Metrics under a common name, and further groups. The same name gives the same metric.

    ``operator`` and ``name``: the id and the name of the operator that it belongs to, if any.
    """

    def __init__(self, scope: tuple[str, ...] = (), operator: str = "", name: str = "") -> None:
        self._scope = scope
        self._operator, self._name = operator, name
        self._metrics: dict[str, Metric] = {}
        self._groups: dict[tuple[str, ...], MetricGroup] = {}

    def of_operator(self, operator: str, name: str) -> MetricGroup:
        """The group of the operator with that id and that name."""
        return self._inner((operator, name), self._scope, operator, name)

    @property
    def measured(self) -> MetricGroup:
        """What the engine itself measures of the operator. It has these names before the user."""
        return self._inner((), self._scope, self._operator, self._name)

    def _inner(
        self, key: tuple[str, ...], scope: tuple[str, ...], operator: str, name: str
    ) -> MetricGroup:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = MetricGroup(scope, operator, name)
        return group

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """The group of that name inside this one; with ``extra``, the group ``name.extra``."""
        group = self._inner((name,), (*self._scope, name), self._operator, self._name)
        return group if extra is None else group.add_group(extra)

    def counter(self, name: str) -> Counter:
        """The counter of that name."""
        return self._metric(name, Counter, Counter)

    def gauge(self, name: str, obj: Callable[[], Number]) -> None:
        """Ask the function for a number whenever a snapshot is taken."""
        self._metric(name, Gauge, lambda: Gauge(obj))

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """The meter of that name."""
        return self._metric(name, Meter, lambda: Meter(time_span_in_seconds))

    def distribution(self, name: str) -> Distribution:
        """The distribution of that name."""
        return self._metric(name, Distribution, Distribution)

    def of_kind(self, name: str, kind: type[M]) -> M:
        """The metric of that name, of any kind that is made without arguments."""
        return self._metric(name, kind, kind)

    def _metric(self, name: str, kind: type[M], make: Callable[[], M]) -> M:
        metric = self._metrics.get(name)
        if metric is None:
            metric = self._metrics[name] = make()
        if not isinstance(metric, kind):
            raise PlanError(
                f"{self._shown(name)} is a {type(metric).__name__.lower()} already, "
                f"it cannot be a {kind.__name__.lower()} too"
            )
        return metric

    def _shown(self, metric: str) -> str:
        return ".".join(filter(None, (self._name, *self._scope, metric)))

    def begin_attempt(self) -> None:
        """An attempt of a task begins: what was measured before is not its own."""
        for metric in self._metrics.values():
            metric.begin_attempt()
        for group in self._groups.values():
            group.begin_attempt()

    def snapshot(self) -> dict[str, Number]:
        """This attempt's figures in this group and those inside: ``operator.metric[.figure]``.

        Raises whatever a gauge's function raises, with the gauge's name as a note.
        """
        return figures(self.values())

    def values(self, subtask: int = 0) -> dict[MetricId, MetricValue]:
        """The same, for merging with the values of other tasks."""
        result: dict[MetricId, MetricValue] = {}
        for name, metric in self._metrics.items():
            scope = ".".join((*self._scope, name))
            try:
                found = [*metric.by_subtask(subtask)]
            except Exception as error:
                error.add_note(f"while reading the metric {self._shown(name)}")
                raise
            for number, figures_found in found:
                for suffix, value in figures_found.items():
                    whole = f"{scope}.{suffix}" if suffix else scope
                    key = MetricId(self._operator, self._name, whole, number)
                    result[key] = MetricValue(metric.merge_rules[suffix], value)
        for group in self._groups.values():
            result |= group.values(subtask)
        return result

    def nonzero_values(self, subtask: int = 0) -> dict[MetricId, MetricValue]:
        """The same without sums of 0."""
        values = self.values(subtask)
        return {
            k: entry
            for k, entry in values.items()
            if entry.value or entry.rule is not MergeRule.SUM
        }
