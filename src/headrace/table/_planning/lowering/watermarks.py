"""Watermarks of a column, as SQL declares them."""

from __future__ import annotations

import datetime
from functools import partial
from typing import Any

from headrace.common.types import Row
from headrace.common.watermark_strategy import (
    BoundedOutOfOrderness,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from headrace.sql.expressions import Call, ColumnRef, Literal
from headrace.sql.rel import OverInput, Rel, Scan, Watermark
from headrace.sql.types import SecondIntervalType
from headrace.table._planning.watermark_options import (
    IDLE,
    watermark_options,
    with_watermark_options,
)

WATERMARK = "$watermark"
"""The column with the watermark of each row, if the delay is not constant."""


def constant_delay_ms(rel: Watermark) -> int | None:
    """Return the delay of the watermark; None: the delay differs between rows."""
    match rel.expression:
        case ColumnRef(name=rel.column):
            return 0
        case Call(function="-", arguments=(ColumnRef(name=rel.column), Literal() as delay)) if (
            isinstance(delay.type, SecondIntervalType) and delay.value is not None
        ):
            return int(delay.value)
    return None


def strategy_of(delay_ms: int | None) -> WatermarkStrategy:
    """Return the strategy; the rows have their timestamps.

    A watermark of SQL is the value of its expression: a row with exactly this time is late. Streams
    count one millisecond less.
    """
    if delay_ms is None:
        return WatermarkStrategy.for_generator(RowWatermarks)
    return WatermarkStrategy(partial(BoundedOutOfOrderness, delay_ms - 1, before_late=True))


def with_options_of_table(
    strategy: WatermarkStrategy, rel: Rel, idle_ms: int = 0
) -> WatermarkStrategy:
    """Return the strategy with the options ``scan.watermark.*`` of the table that is read.

    ``idle_ms``: the idle timeout of a table without its own; 0: none.
    """
    while isinstance(rel, OverInput):
        rel = rel.input
    given = watermark_options(rel) if isinstance(rel, Scan) else {}
    return with_watermark_options(strategy, {IDLE.key: idle_ms, **given})


class RowWatermarks(WatermarkGenerator):
    """The greatest value of the watermark column; NULLs do not count.

    It is emitted before each row that it makes late, so that a row is late wherever rows are cut.
    """

    def __init__(self) -> None:
        self._greatest_ms: int | None = None

    def on_event(self, event: Row, event_timestamp: int, output: WatermarkOutput) -> None:
        found = _milliseconds(event[WATERMARK])
        if found is not None and (self._greatest_ms is None or found > self._greatest_ms):
            self._greatest_ms = found

    def makes_late(self, timestamp: int) -> bool:
        """Return whether a row is late; the timestamp operator calls it."""
        return self._greatest_ms is not None and timestamp <= self._greatest_ms

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        if self._greatest_ms is not None:
            output.emit_watermark(self._greatest_ms)


def _milliseconds(value: Any) -> int | None:
    if value is None:
        return None
    zone = value.tzinfo or datetime.UTC
    since = value.replace(tzinfo=zone) - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    milliseconds: int = since // datetime.timedelta(milliseconds=1)
    return milliseconds
