"""Which clock a timer follows."""

from enum import Enum


class TimeDomain(Enum):
    """Event time follows the watermark, processing time the clock of the reader."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1
