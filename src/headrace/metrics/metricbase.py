"""Counters, gauges, meters and distributions in groups, kept in this process.

A group belongs to one task and is used from one thread. ``MetricGroup.snapshot`` is how the
figures leave it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, TypeVar

from headrace.errors import PlanError, TypeMismatchError
from headrace.metrics.merging import How, Number, Part

__all__ = ["Counter", "Distribution", "Gauge", "Meter", "Metric", "MetricGroup"]


class Metric(ABC):
    """Something measured."""

    hows: ClassVar[Mapping[str, How]] = {"": How.SUM}
    """How each figure is put together with another process's."""

    @abstractmethod
    def figures(self) -> dict[str, Number]:
        """What it shows now, by suffix; the suffix of a metric with one figure is empty."""


class Counter(Metric):
    """A number that goes up and down."""

    def __init__(self) -> None:
        self._count = 0

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
        """The number."""
        return {"": self._count}


class Gauge(Metric):
    """A number asked for when it is wanted."""

    hows: ClassVar = {"": How.LAST}

    def __init__(self, obj: Callable[[], Number]) -> None:
        self._ask = obj

    def figures(self) -> dict[str, Number]:
        """What the user's function gives back.

        Raises:
            TypeMismatchError: it is no number.
        """
        value = self._ask()
        if not isinstance(value, int | float):
            raise TypeMismatchError(f"a gauge gave {value!r}, a {type(value).__name__}")
        return {"": int(value) if isinstance(value, bool) else value}


class Meter(Metric):
    """A count of events whose rate is of interest.

    It reads no clock: whoever takes snapshots works out the rate over ``time_span_in_seconds``.
    """

    hows: ClassVar = {"count": How.SUM}

    def __init__(self, time_span_in_seconds: int = 60) -> None:
        if time_span_in_seconds < 1:
            raise PlanError(f"a meter's time span is {time_span_in_seconds} s: 1 is the least")
        self.time_span_in_seconds = time_span_in_seconds
        self._count = 0

    def mark_event(self, value: int = 1) -> None:
        """Count so many events."""
        self._count += value

    def get_count(self) -> int:
        """The events so far."""
        return self._count

    def figures(self) -> dict[str, Number]:
        """The events so far, as ``count``."""
        return {"count": self._count}


class Distribution(Metric):
    """How many values there were, their sum, the least and the greatest."""

    hows: ClassVar = {
        "count": How.SUM,
        "sum": How.SUM,
        "min": How.LEAST,
        "max": How.MOST,
        "mean": How.MEAN,
    }

    def __init__(self) -> None:
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
    """Metrics under a common name, and further groups. The same name gives the same metric."""

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        self._scope = scope
        self._metrics: dict[str, Metric] = {}
        self._groups: dict[str, MetricGroup] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """The group of that name inside this one; with ``extra``, the group ``name.extra``."""
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = MetricGroup((*self._scope, name))
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

    def _metric(self, name: str, kind: type[M], make: Callable[[], M]) -> M:
        metric = self._metrics.get(name)
        if metric is None:
            metric = self._metrics[name] = make()
        if not isinstance(metric, kind):
            raise PlanError(
                f"{'.'.join((*self._scope, name))} is a {type(metric).__name__.lower()} already, "
                f"it cannot be a {kind.__name__.lower()} too"
            )
        return metric

    def snapshot(self) -> dict[str, Number]:
        """Every figure of this group and those inside, by dotted scope: ``group.name[.figure]``.

        Raises whatever a gauge's function raises, with the gauge's name as a note.
        """
        return {name: part.value for name, part in self.parts().items()}

    def parts(self) -> dict[str, Part]:
        """The same, to be put together with those of other processes."""
        result: dict[str, Part] = {}
        for name, metric in self._metrics.items():
            scope = ".".join((*self._scope, name))
            try:
                figures = metric.figures()
            except Exception as error:
                error.add_note(f"while reading the metric {scope}")
                raise
            for suffix, value in figures.items():
                whole = f"{scope}.{suffix}" if suffix else scope
                result[whole] = Part(metric.hows[suffix], value)
        for group in self._groups.values():
            result |= group.parts()
        return result
