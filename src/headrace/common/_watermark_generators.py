"""Watermarks and watermark generators.

A watermark T says: no record with a timestamp of T or less is expected any more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import TypeMismatchError

MIN_WATERMARK = -(2**63)
"""The watermark before the first one. Also, as in Flink, the timestamp of a record without one."""

MAX_WATERMARK = 2**63 - 1
"""The watermark at the end of bounded input: all timers fire."""


def out_of_range(
    what: str, moment_ms: int, where: Mapping[str, str] | None = None
) -> TypeMismatchError:
    """Return the error for a timestamp outside 64 bits, which no watermark could ever reach."""
    return TypeMismatchError(
        f"{what} {moment_ms}, which is not from -2**63 to 2**63 - 1",
        where=where,
        hint="times are milliseconds since the epoch, in 64 bits",
    )


@dataclass(frozen=True, order=True)
class Watermark:
    """A watermark; ``timestamp`` is in milliseconds since the epoch."""

    timestamp: int


class WatermarkOutput(ABC):
    """Receives a generator's watermarks; a watermark below the last one is ignored."""

    @abstractmethod
    def emit_watermark(self, watermark: Watermark | int) -> None:
        """Advance the watermark (an int is milliseconds); the split is active again."""

    @abstractmethod
    def mark_idle(self) -> None:
        """Mark the split idle: the watermark of an operator no longer waits for it."""

    @abstractmethod
    def mark_active(self) -> None:
        """Mark the split active again."""


class WatermarkGenerator(ABC):
    """Generates the watermarks of one split from its records.

    A periodic generator stores values in ``on_event`` and emits in ``on_periodic_emit``; a
    punctuated one emits in ``on_event``. Checkpoints contain the generator, so it must pickle.
    """

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Called for each record, with its timestamp in milliseconds."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called after every chunk of records (``headrace.watermark.chunk-records``).

        Flink calls it at an interval of time. Here the calls depend on records only, so that a
        repeated micro-batch has the same watermarks.
        """


class BoundedOutOfOrderness(WatermarkGenerator):
    """Watermarks for records that are out of order by at most ``bound_ms``.

    The watermark is ``max_timestamp - bound_ms - 1``: a record that is exactly ``bound_ms`` older
    than the latest one is not late. As Flink's ``BoundedOutOfOrdernessWatermarks``.

    ``before_late``: of records in columns, also before each one that is older: so it is late
    wherever columns are cut. As watermarks of Flink's SQL, which follow every record.
    """

    def __init__(self, bound_ms: int, before_late: bool = False) -> None:
        self.bound_ms = bound_ms
        self.before_late = before_late
        self.max_timestamp: int | None = None

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Keep the greatest timestamp."""
        if self.max_timestamp is None or event_timestamp > self.max_timestamp:
            self.max_timestamp = event_timestamp

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit ``max_timestamp - bound_ms - 1``; nothing before the first record."""
        if self.max_timestamp is not None:
            output.emit_watermark(max(self.max_timestamp - self.bound_ms - 1, MIN_WATERMARK))


class MonotonousTimestamps(BoundedOutOfOrderness):
    """Watermarks for records whose timestamps never decrease."""

    def __init__(self) -> None:
        super().__init__(0)


class NoWatermarks(WatermarkGenerator):
    """Generates no watermarks: event time advances only when the input ends."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Do nothing: no watermarks are generated."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Do nothing: no watermarks are generated."""
