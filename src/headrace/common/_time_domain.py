"""Event time or processing time."""

from enum import Enum


class TimeDomain(Enum):
    """The clock of a timer: the watermark (event time) or the wall clock (processing time)."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1
