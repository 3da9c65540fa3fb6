"""The windows of SQL as those of streams."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headrace.common._windows import TimeWindow
from headrace.common.types import Row, RowKind, row_of
from headrace.datastream.functions import AggregateFunction, WindowFunction
from headrace.operators.columns.accumulator import Aggregated
from headrace.operators.columns.window_slices import SlicedWindows
from headrace.operators.columns.window_zones import LocalTime
from headrace.sql.rel import Border, WindowAggregate

_MINUS = (RowKind.UPDATE_BEFORE, RowKind.DELETE)


def slices_of(rel: WindowAggregate, time_zone: str) -> SlicedWindows | None:
    """Return windows that are the same for all keys; None for sessions."""
    window = rel.window
    if window.kind == "SESSION":
        return None
    return SlicedWindows(
        window.size_ms,
        window.slide_ms or window.size_ms,
        window.offset_ms,
        cumulative=window.kind == "CUMULATE",
        attached=rel.attached,
        local=LocalTime(time_zone) if rel.of_moments and time_zone != "UTC" else None,
    )


@dataclass
class GroupAggregates(AggregateFunction):
    """The aggregates of a window: the number of its rows, and the state of each accumulator."""

    aggregates: tuple[Aggregated, ...]

    def create_accumulator(self) -> list[Any]:
        return [0, *(each.accumulator.zero() for each in self.aggregates)]

    def add(self, value: Row, accumulator: list[Any]) -> list[Any]:
        minus = value.get_row_kind() in _MINUS
        accumulator[0] += -1 if minus else 1
        for number, each in enumerate(self.aggregates, 1):
            if each.filter is None or value[each.filter]:
                change = each.accumulator.retract if minus else each.accumulator.add
                values = tuple([value[name] for name in each.arguments])
                accumulator[number] = change(accumulator[number], values)
        return accumulator

    def get_result(self, accumulator: list[Any]) -> list[Any] | None:
        if accumulator[0] <= 0:
            return None
        return [
            each.accumulator.result(state)
            for each, state in zip(self.aggregates, accumulator[1:], strict=True)
        ]

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        merged = [
            each.accumulator.merge(one, two)
            for each, one, two in zip(self.aggregates, a[1:], b[1:], strict=True)
        ]
        return [a[0] + b[0], *merged]


@dataclass
class WindowRows(WindowFunction[Any, Any, Any, TimeWindow]):
    """Gives the row of a window: its key, its results, and its borders."""

    names: tuple[str, ...]
    keys: int
    borders: tuple[tuple[Border, bool], ...]
    """Each with whether it is a TIMESTAMP_LTZ, a moment, and not a TIMESTAMP."""

    def apply(self, key: Any, window: TimeWindow, inputs: Iterable[Any]) -> Iterable[Row]:
        (results,) = inputs
        if results is None:
            return
        key_values = () if not self.keys else (key,) if self.keys == 1 else key
        borders = [_border(window, border, local) for border, local in self.borders]
        yield row_of(self.names, [*key_values, *results, *borders])


@dataclass
class SessionRows(WindowFunction[Any, Any, Any, TimeWindow]):
    """Gives the rows of a session with its start, end and last moment."""

    names: tuple[str, ...]
    """The columns of the result."""
    given: tuple[str, ...]
    of_moments: bool
    """Whether the last moment is a TIMESTAMP_LTZ."""

    def apply(self, key: Any, window: TimeWindow, inputs: Iterable[Row]) -> Iterable[Row]:
        borders = [
            _border(window, "start", False),
            _border(window, "end", False),
            _border(window, "time", self.of_moments),
        ]
        for row in inputs:
            yield row_of(self.names, [*(row[name] for name in self.given), *borders])


def _border(window: TimeWindow, border: Border, local: bool) -> Any:
    import datetime

    at_ms = {"start": window.start, "end": window.end, "time": window.max_timestamp()}[border]
    zone = datetime.UTC if local else None
    return datetime.datetime(1970, 1, 1, tzinfo=zone) + datetime.timedelta(milliseconds=at_ms)
