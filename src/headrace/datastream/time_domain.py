"""Which clock a timer follows."""

from headrace.common._time_domain import TimeDomain

__all__ = ["TimeDomain"]
