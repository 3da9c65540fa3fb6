"""The window table function SESSION as a window of streams."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headrace.common._windows import TimeWindow
from headrace.common.types import Row, row_of
from headrace.datastream._build.call_site import call_site
from headrace.datastream._windows.session_assigners import (
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
)
from headrace.datastream.data_stream import DataStream
from headrace.datastream.functions import WindowFunction
from headrace.operators.columns.calc import CalcSpec
from headrace.runtime.columns.selectors import ByColumns
from headrace.sql.expressions import Call
from headrace.sql.projection import Projection
from headrace.sql.refusals import refuse
from headrace.sql.rel import Border, Columns, Window, arrow_schema, reference
from headrace.sql.types import TimestampLtzType
from headrace.table._planning.lowering.aggregates import keyed_input
from headrace.table._planning.lowering.calc import with_time
from headrace.table._planning.lowering.context import LoweringContext


def lower_session_rows(context: LoweringContext, rel: Window) -> DataStream:
    """Return the rows of sessions; a session gives its rows when it ends."""
    _check_time_zone(rel.input.columns, rel.window.time, context.options.time_zone)
    if context.changes(rel.input):
        refuse("SESSION over rows that change")
    before, keys = keyed_input(rel.input, rel.window.keys)
    function = SessionRows(
        tuple(column.name for column in rel.columns),
        len(rel.input.columns),
        isinstance(rel.columns[-1].type, TimestampLtzType),
    )
    if rel.window.processing_time:
        timed = context.lower(before)
        assigner: Any = ProcessingTimeSessionWindows(rel.window.size_ms)
    else:
        timed = with_time(context, before, rel.window.time)
        assigner = EventTimeSessionWindows(rel.window.size_ms)
    windowed = timed.key_by(ByColumns(*keys)).window(assigner)
    stream = windowed.apply(function).uid(context.ids.of(rel)).name("WindowTableFunction")
    stream = stream.set_description(f"WindowTableFunction({rel.window})")
    if not rel.window.processing_time:
        return context.select(stream, rel.columns)
    *kept, time = rel.columns  # which is the present one
    values = (*map(reference, kept), Call(time.type, "PROCTIME", ()))
    projection = Projection(rel.columns, tuple(each.name for each in rel.columns), values)
    return stream._add(CalcSpec(projection, arrow_schema(rel.columns)), call_site(), "sql")


def _check_time_zone(columns: Columns, time: str, time_zone: str) -> None:
    """Refuse sessions of local time: when clocks change, a gap is shorter or longer."""
    (kind,) = [column.type for column in columns if column.name == time]
    if isinstance(kind, TimestampLtzType) and time_zone != "UTC":
        refuse(f"a window over {kind.summary} in the time zone {time_zone}")


@dataclass
class SessionRows(WindowFunction[Any, Any, Any, TimeWindow]):
    """Gives the rows of a session with its start, end and last moment."""

    names: tuple[str, ...]
    """The columns of the result."""
    given: int
    """How many values of each row are emitted: by position, because stored rows may have other
    names."""
    of_moments: bool
    """Whether the last moment is a TIMESTAMP_LTZ."""

    def apply(self, key: Any, window: TimeWindow, inputs: Iterable[Row]) -> Iterable[Row]:
        borders = [
            _border(window, "start", False),
            _border(window, "end", False),
            _border(window, "time", self.of_moments),
        ]
        for row in inputs:
            yield row_of(self.names, [*row._values[: self.given], *borders])


def _border(window: TimeWindow, border: Border, of_moments: bool) -> datetime.datetime:
    at_ms = {"start": window.start, "end": window.end, "time": window.max_timestamp()}[border]
    zone = datetime.UTC if of_moments else None
    return datetime.datetime(1970, 1, 1, tzinfo=zone) + datetime.timedelta(milliseconds=at_ms)
