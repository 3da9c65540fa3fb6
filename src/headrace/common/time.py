"""``Duration``, ``Instant`` and ``Time``, and conversions to milliseconds."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import SupportsIndex

from headrace.errors import PlanError, TypeMismatchError

__all__ = [
    "Duration",
    "Instant",
    "Time",
    "TimeAmount",
    "TimeWithUnit",
    "epoch_ms_of",
    "milliseconds_of",
    "milliseconds_with_unit",
]

_NANOS_PER_MS = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ONE_MS = timedelta(milliseconds=1)


def _require_int(amount: SupportsIndex, unit: str) -> int:
    """Return an amount as an int; raise TypeMismatchError if it is not a whole number."""
    try:
        return operator.index(amount)
    except TypeError:
        raise TypeMismatchError(
            f"{amount!r} is not a whole number of {unit}",
            hint="use a smaller unit, or datetime.timedelta",
        ) from None


@dataclass(frozen=True, order=True)
class Duration:
    """An amount of time, exact to the nanosecond; may be negative."""

    nanos: int = 0

    @staticmethod
    def of_days(days: int) -> Duration:
        """Return a duration of ``days`` days of 24 hours."""
        return Duration(_require_int(days, "days") * 86_400_000 * _NANOS_PER_MS)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """Return a duration of ``hours`` hours."""
        return Duration(_require_int(hours, "hours") * 3_600_000 * _NANOS_PER_MS)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """Return a duration of ``minutes`` minutes."""
        return Duration(_require_int(minutes, "minutes") * 60_000 * _NANOS_PER_MS)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """Return a duration of ``seconds`` seconds."""
        return Duration(_require_int(seconds, "seconds") * 1000 * _NANOS_PER_MS)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """Return a duration of ``millis`` milliseconds."""
        return Duration(_require_int(millis, "milliseconds") * _NANOS_PER_MS)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """Return a duration of ``nanos`` nanoseconds."""
        return Duration(_require_int(nanos, "nanoseconds"))

    def to_millis(self) -> int:
        """Return the duration in milliseconds, rounded down."""
        return self.nanos // _NANOS_PER_MS

    def __repr__(self) -> str:
        if self.nanos % _NANOS_PER_MS:
            return f"Duration.of_nanos({self.nanos})"
        return f"Duration.of_millis({self.to_millis()})"


@dataclass(frozen=True, order=True)
class Instant:
    """A point in time: seconds since the epoch (UTC), and nanoseconds within the second."""

    seconds: int
    nanos: int

    def to_epoch_milli(self) -> int:
        """Return the milliseconds since the epoch, rounded down."""
        return self.seconds * 1000 + self.nanos // _NANOS_PER_MS

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """Return the instant ``epoch_milli`` milliseconds after the epoch (negative: before it)."""
        seconds, millis = divmod(epoch_milli, 1000)
        return Instant(seconds, millis * _NANOS_PER_MS)

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


@dataclass(frozen=True, order=True, init=False, repr=False)
class Time:
    """An amount of time in milliseconds, such as the size of a window."""

    _milliseconds: int

    def __init__(self, milliseconds: int) -> None:
        object.__setattr__(self, "_milliseconds", _require_int(milliseconds, "milliseconds"))

    def to_milliseconds(self) -> int:
        """Return the amount in milliseconds."""
        return self._milliseconds

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """Return an amount of ``milliseconds`` milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """Return an amount of ``seconds`` seconds."""
        return Time(_require_int(seconds, "seconds") * 1000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """Return an amount of ``minutes`` minutes."""
        return Time(_require_int(minutes, "minutes") * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        """Return an amount of ``hours`` hours."""
        return Time(_require_int(hours, "hours") * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        """Return an amount of ``days`` days of 24 hours."""
        return Time(_require_int(days, "days") * 86_400_000)

    def __str__(self) -> str:
        return f"{self._milliseconds} ms"

    def __repr__(self) -> str:
        return f"Time({self._milliseconds})"


TimeWithUnit = Time | Duration | timedelta
"""An amount of time with a unit; PyFlink takes only ``Duration``."""

TimeAmount = TimeWithUnit | int
"""An amount of time; an int is milliseconds."""


def milliseconds_of(
    amount: TimeAmount, name: str = "an amount of time", *, at_least: int | None = None
) -> int:
    """Convert an amount of time to milliseconds, rounded down.

    ``name`` names the argument in error messages.

    Raises:
        TypeMismatchError: the argument is not an amount of time.
        PlanError: the amount is less than ``at_least`` milliseconds.
    """
    given: object = amount  # not checked by a type checker in users' programs
    if isinstance(given, Time):
        result = given.to_milliseconds()
    elif isinstance(given, Duration):
        result = given.to_millis()
    elif isinstance(given, timedelta):
        result = given // _ONE_MS
    elif isinstance(given, int) and not isinstance(given, bool):
        result = given
    else:
        raise TypeMismatchError(
            f"{name} is {amount!r}, a {type(amount).__name__}",
            hint="give a Time, a Duration, a datetime.timedelta, or an int of milliseconds",
        )
    if at_least is not None and result < at_least:
        raise PlanError(f"{name} is {amount!r}: it must be at least {at_least} ms")
    return result


def milliseconds_with_unit(amount: TimeWithUnit, name: str, *, at_least: int | None = None) -> int:
    """Convert as ``milliseconds_of``, but refuse an int: PyFlink takes a ``Duration`` there.

    Raises:
        TypeMismatchError: the argument is an int, or not an amount of time.
        PlanError: the amount is less than ``at_least`` milliseconds.
    """
    given: object = amount
    if isinstance(given, int) and not isinstance(given, bool):
        raise TypeMismatchError(
            f"{name} is {given!r}, an int without a unit",
            hint=f"give Duration.of_millis({given!r}) or Duration.of_seconds({given!r})",
        )
    return milliseconds_of(amount, name, at_least=at_least)


def epoch_ms_of(moment: datetime) -> int:
    """Convert a datetime to ms since the epoch, rounded down; without a time zone it is UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _ONE_MS
