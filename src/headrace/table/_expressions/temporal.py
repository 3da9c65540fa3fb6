"""Functions of times, and intervals."""

from __future__ import annotations

from typing import Self

from sqlglot import exp

from headrace.sql.dialect.nodes import WindowBorder
from headrace.sql.types import DATE, SqlType, TimestampType, TimeType
from headrace.table._expressions.base import ExpressionTree
from headrace.table._expressions.symbols import TimeIntervalUnit
from headrace.table._expressions.trees import interval, tree_of, type_name


class TemporalFunctions(ExpressionTree):
    """Functions of times, and intervals."""

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Self:
        """Return a part of a time as a number."""
        return self._units("EXTRACT", time_interval_unit.name)

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Self:
        """Return the number, or the time, rounded down."""
        if time_interval_unit is None:
            return self._call("FLOOR")
        return self._units("FLOOR", time_interval_unit.name)

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Self:
        """Return the number, or the time, rounded up."""
        if time_interval_unit is None:
            return self._call("CEIL")
        return self._units("CEIL", time_interval_unit.name)

    @property
    def to_date(self) -> Self:
        """Return a text as a DATE."""
        return self._cast_to(DATE)

    @property
    def to_time(self) -> Self:
        """Return a text as a TIME."""
        return self._cast_to(TimeType(0))

    @property
    def to_timestamp(self) -> Self:
        """Return a text as a TIMESTAMP(3)."""
        return self._cast_to(TimestampType(3))

    def _cast_to(self, kind: SqlType) -> Self:
        return self._make(exp.Cast(this=tree_of(self), to=type_name(kind)))

    # Windows

    def _border(self, border: str) -> Self:
        return self._make(WindowBorder(this=tree_of(self), border=border))

    @property
    def start(self) -> Self:
        """Return the start of a window."""
        return self._border("START")

    @property
    def end(self) -> Self:
        """Return the end of a window."""
        return self._border("END")

    @property
    def rowtime(self) -> Self:
        """Return the event time of a window's result; in a Schema, declare the event time."""
        return self._border("ROWTIME")

    @property
    def proctime(self) -> Self:
        """Return the processing time of a window's result."""
        return self._border("PROCTIME")

    # Intervals

    def _interval(self, unit: str) -> Self:
        return self._make(interval(tree_of(self), unit))

    @property
    def year(self) -> Self:
        """Return an interval of a number of years."""
        return self._interval("YEAR")

    @property
    def years(self) -> Self:
        """Return an interval of a number of years."""
        return self._interval("YEAR")

    @property
    def quarter(self) -> Self:
        """Return an interval of a number of quarters."""
        return self._interval("QUARTER")

    @property
    def quarters(self) -> Self:
        """Return an interval of a number of quarters."""
        return self._interval("QUARTER")

    @property
    def month(self) -> Self:
        """Return an interval of a number of months."""
        return self._interval("MONTH")

    @property
    def months(self) -> Self:
        """Return an interval of a number of months."""
        return self._interval("MONTH")

    @property
    def week(self) -> Self:
        """Return an interval of a number of weeks."""
        return self._interval("WEEK")

    @property
    def weeks(self) -> Self:
        """Return an interval of a number of weeks."""
        return self._interval("WEEK")

    @property
    def day(self) -> Self:
        """Return an interval of a number of days."""
        return self._interval("DAY")

    @property
    def days(self) -> Self:
        """Return an interval of a number of days."""
        return self._interval("DAY")

    @property
    def hour(self) -> Self:
        """Return an interval of a number of hours."""
        return self._interval("HOUR")

    @property
    def hours(self) -> Self:
        """Return an interval of a number of hours."""
        return self._interval("HOUR")

    @property
    def minute(self) -> Self:
        """Return an interval of a number of minutes."""
        return self._interval("MINUTE")

    @property
    def minutes(self) -> Self:
        """Return an interval of a number of minutes."""
        return self._interval("MINUTE")

    @property
    def second(self) -> Self:
        """Return an interval of a number of seconds."""
        return self._interval("SECOND")

    @property
    def seconds(self) -> Self:
        """Return an interval of a number of seconds."""
        return self._interval("SECOND")

    @property
    def milli(self) -> Self:
        """Return an interval of a number of milliseconds."""
        return self._interval("MILLISECOND")

    @property
    def millis(self) -> Self:
        """Return an interval of a number of milliseconds."""
        return self._interval("MILLISECOND")
