"""The windows of SQL as those of streams."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headrace.common._options import catalogue as options
from headrace.common._options.table import (
    ALLOW_LATENESS,
    EARLY_FIRE,
    EARLY_FIRE_DELAY,
    LATE_FIRE,
    LATE_FIRE_DELAY,
    STATE_TTL,
)
from headrace.common._windows import TimeWindow
from headrace.common.configuration import Configuration
from headrace.common.types import Row, RowKind, row_of
from headrace.datastream.functions import WindowFunction
from headrace.operators.columns.window_slices import SlicedWindows
from headrace.operators.columns.window_zones import LocalTime
from headrace.sql.refusals import refuse
from headrace.sql.rel import Border, WindowAggregate
from headrace.sql.rules.emit import EmitOptions

_MINUS = (RowKind.UPDATE_BEFORE, RowKind.DELETE)


def slices_of(rel: WindowAggregate, local: LocalTime | None) -> SlicedWindows:
    """Return windows that are the same for all keys."""
    window = rel.window
    return SlicedWindows(
        window.size_ms,
        window.slide_ms or window.size_ms,
        window.offset_ms,
        cumulative=window.kind == "CUMULATE",
        attached=rel.attached,
        local=local,
    )


def emit_options(configuration: Configuration) -> EmitOptions:
    """Return when windows give results besides at their end."""
    return EmitOptions(
        options.read(configuration, EARLY_FIRE),
        options.read(configuration, EARLY_FIRE_DELAY),
        options.read(configuration, LATE_FIRE),
        options.read(configuration, LATE_FIRE_DELAY),
        options.read(configuration, ALLOW_LATENESS),
        options.read(configuration, STATE_TTL),
    )


def check_aggregates(rel: WindowAggregate) -> None:
    """Refuse what depends on the order of all rows in windows that are put together of parts."""
    if rel.window.kind in ("HOP", "CUMULATE") and not rel.attached and rel.emit is None:
        for call in rel.calls:
            if call.function in ("FIRST_VALUE", "LAST_VALUE"):
                refuse(f"{call.function} in windows of {rel.window.kind}")


@dataclass
class SessionRows(WindowFunction[Any, Any, Any, TimeWindow]):
    """Gives the rows of a session with its start, end and last moment."""

    names: tuple[str, ...]
    """The columns of the result."""
    given: int
    """How many values of each row are given: by place, as stored rows may have other names."""
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


def _border(window: TimeWindow, border: Border, local: bool) -> Any:
    import datetime

    at_ms = {"start": window.start, "end": window.end, "time": window.max_timestamp()}[border]
    zone = datetime.UTC if local else None
    return datetime.datetime(1970, 1, 1, tzinfo=zone) + datetime.timedelta(milliseconds=at_ms)
