"""``TimeDomain``: the clock of a timer."""

from headrace.common._time_domain import TimeDomain

__all__ = ["TimeDomain"]
