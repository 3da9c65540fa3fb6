"""The types of intervals, and the resolutions that they are made of."""

from __future__ import annotations

import datetime
from enum import Enum
from typing import Any

from headrace.table._types.data_types import AtomicType


class Resolution:
    """A unit of an interval, with its number of digits."""

    class IntervalUnit(Enum):
        """The units."""

        SECOND = 0
        MINUTE = 1
        HOUR = 2
        DAY = 3
        MONTH = 4
        YEAR = 5

    def __init__(self, unit: IntervalUnit, precision: int = -1) -> None:
        self._unit = unit
        self._precision = precision

    @property
    def unit(self) -> IntervalUnit:
        """The unit."""
        return self._unit

    @property
    def precision(self) -> int:
        """The number of digits; -1: the unit has none."""
        return self._precision

    def __str__(self) -> str:
        return f"{self._unit}({self._precision})"


class YearMonthIntervalType(AtomicType):
    """A number of months."""

    class YearMonthResolution:
        """The units of such an interval."""

        YEAR = 1
        MONTH = 2
        YEAR_TO_MONTH = 3

    DEFAULT_PRECISION = 2

    def __init__(
        self, resolution: int, precision: int = DEFAULT_PRECISION, nullable: bool = True
    ) -> None:
        super().__init__(nullable)
        if resolution not in (1, 2, 3):
            raise ValueError(f"{resolution!r} is not a YearMonthResolution")
        if not 1 <= precision <= 4:
            raise ValueError(f"the precision of years is 1 to 4, not {precision}")
        self._resolution = resolution
        self._precision = precision

    @property
    def resolution(self) -> int:
        """The units."""
        return self._resolution

    @property
    def precision(self) -> int:
        """The number of digits of years."""
        return self._precision


class DayTimeIntervalType(AtomicType):
    """A length of time in days or less."""

    class DayTimeResolution(Enum):
        """The units of such an interval."""

        DAY = 1
        DAY_TO_HOUR = 2
        DAY_TO_MINUTE = 3
        DAY_TO_SECOND = 4
        HOUR = 5
        HOUR_TO_MINUTE = 6
        HOUR_TO_SECOND = 7
        MINUTE = 8
        MINUTE_TO_SECOND = 9
        SECOND = 10

    DEFAULT_DAY_PRECISION = 2
    DEFAULT_FRACTIONAL_PRECISION = 6

    def __init__(
        self,
        resolution: DayTimeResolution,
        day_precision: int = DEFAULT_DAY_PRECISION,
        fractional_precision: int = DEFAULT_FRACTIONAL_PRECISION,
        nullable: bool = True,
    ) -> None:
        super().__init__(nullable)
        if not isinstance(resolution, DayTimeIntervalType.DayTimeResolution):
            raise TypeError(f"{resolution!r} is not a DayTimeResolution")
        if not 1 <= day_precision <= 6 or not 0 <= fractional_precision <= 9:
            raise ValueError("the precision of days is 1 to 6, that of fractions 0 to 9")
        self._resolution = resolution
        self._day_precision = day_precision
        self._fractional_precision = fractional_precision

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, timedelta: Any) -> Any:
        return None if timedelta is None else timedelta // datetime.timedelta(microseconds=1)

    def from_sql_type(self, ts: Any) -> Any:
        return None if ts is None else datetime.timedelta(microseconds=ts)

    @property
    def resolution(self) -> DayTimeResolution:
        """The units."""
        return self._resolution

    @property
    def day_precision(self) -> int:
        """The number of digits of days."""
        return self._day_precision

    @property
    def fractional_precision(self) -> int:
        """The number of digits of fractions of a second."""
        return self._fractional_precision


IntervalType = YearMonthIntervalType | DayTimeIntervalType


def interval_of(upper: Resolution, lower: Resolution | None) -> IntervalType:
    """Return the type of an interval from one unit to another.

    Raises:
        ValueError: there is no such interval.
    """
    first = upper.unit.name
    name = first if lower is None else f"{first}_TO_{lower.unit.name}"
    months = YearMonthIntervalType.YearMonthResolution
    if name in ("YEAR", "MONTH", "YEAR_TO_MONTH"):
        digits = YearMonthIntervalType.DEFAULT_PRECISION
        precision = digits if name == "MONTH" else upper.precision
        return YearMonthIntervalType(getattr(months, name), precision)
    found = getattr(DayTimeIntervalType.DayTimeResolution, name, None)
    if found is None:
        raise ValueError(f"there is no interval {name.replace('_', ' ')}")
    days, fractions = (
        DayTimeIntervalType.DEFAULT_DAY_PRECISION,
        DayTimeIntervalType.DEFAULT_FRACTIONAL_PRECISION,
    )
    if first == "DAY" and upper.precision > 0:
        days = upper.precision
    last = upper if lower is None else lower
    if last.unit is Resolution.IntervalUnit.SECOND and last.precision >= 0:
        fractions = last.precision
    return DayTimeIntervalType(found, days, fractions)
