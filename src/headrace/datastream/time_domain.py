"""Which clock a timer follows."""

from headrace.common.time_domain import TimeDomain

__all__ = ["TimeDomain"]
