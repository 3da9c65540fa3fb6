"""The windows of SQL as those of streams."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from headrace.common._windows import TimeWindow
from headrace.common.types import Row, RowKind, row_of
from headrace.datastream._windows.assigner import WindowAssigner
from headrace.datastream._windows.assigners import (
    EventTimeWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    with_timestamp,
)
from headrace.datastream._windows.session_assigners import EventTimeSessionWindows
from headrace.datastream.functions import AggregateFunction, WindowFunction
from headrace.operators.columns.accumulator import Aggregated
from headrace.sql.rel import Border, WindowSpec

_MINUS = (RowKind.UPDATE_BEFORE, RowKind.DELETE)


def assigner_of(window: WindowSpec) -> WindowAssigner[Any, Any]:
    """Return the assigner of a window function."""
    size_ms, slide_ms, offset_ms = window.size_ms, window.slide_ms, window.offset_ms
    match window.kind:
        case "TUMBLE":
            return TumblingEventTimeWindows(size_ms, offset_ms % size_ms)
        case "HOP":
            return SlidingEventTimeWindows(size_ms, slide_ms, offset_ms % slide_ms)
        case "CUMULATE":
            return CumulatingWindows(size_ms, slide_ms, offset_ms)
        case "SESSION":
            return EventTimeSessionWindows(size_ms)


class CumulatingWindows(EventTimeWindows):
    """Windows that begin together and end one step after the other, up to their greatest size."""

    state_layout = "cumulating"

    def __init__(self, size_ms: int, step_ms: int, offset_ms: int) -> None:
        self.size_ms, self.step_ms, self.offset_ms = size_ms, step_ms, offset_ms

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return the windows that contain the timestamp."""
        at = with_timestamp(timestamp)
        start = at - (at - self.offset_ms) % self.size_ms
        first = start + ((at - start) // self.step_ms + 1) * self.step_ms
        return [
            TimeWindow(start, end) for end in range(first, start + self.size_ms + 1, self.step_ms)
        ]

    def __repr__(self) -> str:
        return f"CumulatingWindows({self.size_ms}, {self.step_ms}, {self.offset_ms})"


@dataclass
class GroupAggregates(AggregateFunction):
    """The aggregates of a window: the number of its rows, and the state of each accumulator."""

    aggregates: tuple[Aggregated, ...]

    def open(self, runtime_context: Any) -> None:
        for each in self.aggregates:
            if hasattr(each.accumulator, "open"):
                each.accumulator.open(runtime_context)

    def close(self) -> None:
        for each in self.aggregates:
            if hasattr(each.accumulator, "close"):
                each.accumulator.close()

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


def _border(window: TimeWindow, border: Border, local: bool) -> Any:
    import datetime

    at_ms = {"start": window.start, "end": window.end, "time": window.max_timestamp()}[border]
    zone = datetime.UTC if local else None
    return datetime.datetime(1970, 1, 1, tzinfo=zone) + datetime.timedelta(milliseconds=at_ms)
