"""Counters, gauges, meters and distributions in groups, kept in this process.

A group belongs to one task and is used by one thread. ``MetricGroup.values`` returns the values of
one attempt of the task, and ``MetricGroup.begin_attempt`` starts the next attempt without the
values before it: values of a failed attempt are never reported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, TypeVar

from headrace.errors import PlanError, TypeMismatchError
from headrace.metrics._merging import (
    MergeRule,
    MetricId,
    MetricOrigin,
    MetricValue,
    Number,
    figures,
)

__all__ = ["Counter", "Distribution", "Gauge", "Meter", "Metric", "MetricGroup"]


class Metric(ABC):
    """The base of all metrics."""

    merge_rules: ClassVar[Mapping[str, MergeRule]] = {"": MergeRule.SUM}
    """How each value is merged with that of another task, by suffix."""

    kind: ClassVar[str] = ""
    """The name of the class for functions; empty for the engine's own metrics."""

    time_span_in_seconds = 0

    @abstractmethod
    def figures(self) -> dict[str, Number]:
        """Return the values of this attempt by suffix; a single value has the empty suffix."""

    @abstractmethod
    def begin_attempt(self) -> None:
        """Start a new attempt of the task: ``figures`` leaves out values of earlier attempts."""

    def by_subtask(self, subtask: int) -> Iterator[tuple[int, dict[str, Number]]]:
        """Yield ``(subtask, values)`` pairs with the values since ``begin_attempt``.

        By default one pair: ``subtask`` and ``figures()``.
        """
        yield subtask, self.figures()


class Counter(Metric):
    """A number that can be increased and decreased."""

    kind = "counter"

    def __init__(self) -> None:
        self._count = self._before = 0

    def inc(self, n: int = 1) -> None:
        """Increase the counter by ``n``."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Decrease the counter by ``n``."""
        self._count -= n

    def get_count(self) -> int:
        """Return the current number."""
        return self._count

    def figures(self) -> dict[str, Number]:
        """Return the change in this attempt, under the empty suffix."""
        return {"": self._count - self._before}

    def begin_attempt(self) -> None:
        """Start a new attempt: ``figures`` reports only later changes."""
        self._before = self._count


class Gauge(Metric):
    """The number that a user's function returns when a snapshot is taken."""

    merge_rules: ClassVar = {"": MergeRule.LAST}
    kind = "gauge"

    def __init__(self, obj: Callable[[], Number]) -> None:
        self._ask = obj

    def figures(self) -> dict[str, Number]:
        """Return the result of the user's function, under the empty suffix.

        Raises:
            TypeMismatchError: the result is not a number.
        """
        value = self._ask()
        if not isinstance(value, int | float):
            raise TypeMismatchError(
                f"a gauge's function returned {value!r} ({type(value).__name__}), not a number"
            )
        return {"": int(value) if isinstance(value, bool) else value}

    def begin_attempt(self) -> None:
        """Do nothing: a gauge keeps no value."""


class Meter(Metric):
    """Counts events; the driver computes their rate over ``time_span_in_seconds``.

    The meter itself reads no clock.

    Raises:
        PlanError: the time span is less than 1 s.
    """

    merge_rules: ClassVar = {"count": MergeRule.SUM}
    kind = "meter"

    def __init__(self, time_span_in_seconds: int = 60) -> None:
        if time_span_in_seconds < 1:
            raise PlanError(
                f"a meter's time span is {time_span_in_seconds} s; it must be at least 1 s"
            )
        self.time_span_in_seconds = time_span_in_seconds
        self._count = self._before = 0

    def mark_event(self, value: int = 1) -> None:
        """Add ``value`` events."""
        self._count += value

    def get_count(self) -> int:
        """Return the number of events so far."""
        return self._count

    def figures(self) -> dict[str, Number]:
        """Return the number of events in this attempt, as ``count``."""
        return {"count": self._count - self._before}

    def begin_attempt(self) -> None:
        """Start a new attempt: ``figures`` reports only later events."""
        self._before = self._count


class Distribution(Metric):
    """The count, sum, minimum and maximum of values."""

    merge_rules: ClassVar = {
        "count": MergeRule.SUM,
        "sum": MergeRule.SUM,
        "min": MergeRule.MIN,
        "max": MergeRule.MAX,
        "mean": MergeRule.MEAN,
    }
    kind = "distribution"

    def __init__(self) -> None:
        self.begin_attempt()

    def begin_attempt(self) -> None:
        """Drop the values of earlier attempts."""
        self._count = 0
        self._sum: Number = 0
        self._min: Number = 0
        self._max: Number = 0

    def update(self, value: Number) -> None:
        """Add one value."""
        if self._count == 0 or value < self._min:
            self._min = value
        if self._count == 0 or value > self._max:
            self._max = value
        self._count += 1
        self._sum += value

    def figures(self) -> dict[str, Number]:
        """Return ``count`` and ``sum``; if there are values, also ``min``, ``max`` and ``mean``."""
        figures: dict[str, Number] = {"count": self._count, "sum": self._sum}
        if self._count:
            figures |= {"min": self._min, "max": self._max, "mean": self._sum / self._count}
        return figures


M = TypeVar("M", bound=Metric)


class MetricGroup:
    """A named group of metrics and of inner groups. The same name returns the same metric.

    ``operator`` and ``name``: the id and the name of the operator that the group belongs to, if
    any. ``path``: the names of ``scope`` as ``add_group`` got them, some with a value.
    """

    def __init__(
        self,
        scope: tuple[str, ...] = (),
        operator: str = "",
        name: str = "",
        path: tuple[tuple[str, str | None], ...] = (),
    ) -> None:
        self._scope, self._path = scope, path
        self._operator, self._name = operator, name
        self._metrics: dict[str, Metric] = {}
        self._groups: dict[tuple[str, ...], MetricGroup] = {}

    def of_operator(self, operator: str, name: str) -> MetricGroup:
        """Return the group of the operator with this id and name."""
        key = (operator, name)
        return self._get_inner_group(key, self._scope, operator, name, self._path)

    @property
    def measured(self) -> MetricGroup:
        """The engine's metrics of this operator; they replace a user's metrics of the same name."""
        return self._get_inner_group((), self._scope, self._operator, self._name, self._path)

    def _get_inner_group(
        self,
        key: tuple[str, ...],
        scope: tuple[str, ...],
        operator: str,
        name: str,
        path: tuple[tuple[str, str | None], ...],
    ) -> MetricGroup:
        """Return the inner group under a key, created at the first call."""
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = MetricGroup(scope, operator, name, path)
        return group

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return the inner group of this name; with ``extra``, the group ``name.extra``.

        Reporters then have ``extra`` as the value of a label ``name``, unless the group
        ``name.extra`` was made by two calls before.
        """
        group = self._add_group(name, (*self._path, (name, None)))
        return group if extra is None else group._add_group(extra, (*self._path, (name, extra)))

    def _add_group(self, name: str, path: tuple[tuple[str, str | None], ...]) -> MetricGroup:
        scope = (*self._scope, name)
        return self._get_inner_group((name,), scope, self._operator, self._name, path)

    def counter(self, name: str) -> Counter:
        """Return the counter of this name; it is created at the first call."""
        return self._get_metric(name, Counter, Counter)

    def gauge(self, name: str, obj: Callable[[], Number]) -> None:
        """Register a function, which returns the gauge's number when a snapshot is taken."""
        self._get_metric(name, Gauge, lambda: Gauge(obj))

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Return the meter of this name; it is created at the first call."""
        return self._get_metric(name, Meter, lambda: Meter(time_span_in_seconds))

    def distribution(self, name: str) -> Distribution:
        """Return the distribution of this name; it is created at the first call."""
        return self._get_metric(name, Distribution, Distribution)

    def of_kind(self, name: str, kind: type[M]) -> M:
        """Return the metric of this name and class; the class needs no arguments."""
        return self._get_metric(name, kind, kind)

    def _get_metric(self, name: str, kind: type[M], make: Callable[[], M]) -> M:
        metric = self._metrics.get(name)
        if metric is None:
            metric = self._metrics[name] = make()
        if not isinstance(metric, kind):
            raise PlanError(
                f"{self._format_name(name)} is a {type(metric).__name__.lower()} already: "
                f"give the {kind.__name__.lower()} another name"
            )
        return metric

    def _format_name(self, metric: str) -> str:
        return ".".join(filter(None, (self._name, *self._scope, metric)))

    def begin_attempt(self) -> None:
        """Start a new attempt of the task: snapshots leave out the values of earlier attempts."""
        for metric in self._metrics.values():
            metric.begin_attempt()
        for group in self._groups.values():
            group.begin_attempt()

    def snapshot(self) -> dict[str, Number]:
        """Return this attempt's values of all metrics in this group: ``operator.metric[.suffix]``.

        Raises whatever a gauge's function raises, with the gauge's name as a note.
        """
        return figures(self.values())

    def values(self, subtask: int = 0) -> dict[MetricId, MetricValue]:
        """Return the values of ``snapshot``, for merging with those of other tasks."""
        result: dict[MetricId, MetricValue] = {}
        for name, metric in self._metrics.items():
            scope = ".".join((*self._scope, name))
            try:
                found = [*metric.by_subtask(subtask)]
            except Exception as error:
                error.add_note(f"while reading the metric {self._format_name(name)}")
                raise
            for number, figures_found in found:
                for suffix, value in figures_found.items():
                    full_name = f"{scope}.{suffix}" if suffix else scope
                    key = MetricId(self._operator, self._name, full_name, number)
                    origin = self._find_origin(name, metric, suffix)
                    result[key] = MetricValue(metric.merge_rules[suffix], value, origin)
        for group in self._groups.values():
            result |= group.values(subtask)
        return result

    def _find_origin(self, name: str, metric: Metric, suffix: str) -> MetricOrigin | None:
        if not metric.kind:
            return None
        span_s = metric.time_span_in_seconds
        return MetricOrigin(metric.kind, self._path, name, suffix, span_s)

    def nonzero_values(self, subtask: int = 0) -> dict[MetricId, MetricValue]:
        """Return the values of ``values``, without sums of 0."""
        values = self.values(subtask)
        return {
            k: entry
            for k, entry in values.items()
            if entry.value or entry.rule is not MergeRule.SUM
        }
