"""How event time advances: watermarks, and the generators that decide on them.

A watermark T says: no record with a timestamp of T or less is expected any more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import TypeMismatchError

MIN_WATERMARK = -(2**63)
"""Before anything is known. Also the timestamp of a record that has none, as in Flink."""

MAX_WATERMARK = 2**63 - 1
"""After the last record of bounded input: everything is due."""


def out_of_range(
    what: str, moment_ms: int, where: Mapping[str, str] | None = None
) -> TypeMismatchError:
    """What to raise for a moment before ``MIN_WATERMARK`` or after the last one.

    A watermark of 2**63 - 1 ends the input, so what is due later would never come.
    """
    return TypeMismatchError(
        f"{what} {moment_ms}, which is not from -2**63 to 2**63 - 1",
        where=where,
        hint="times are milliseconds since the epoch, in 64 bits",
    )


@dataclass(frozen=True, order=True)
class Watermark:
    """A point in event time, milliseconds since the epoch, that has been reached."""

    timestamp: int


class WatermarkOutput(ABC):
    """Where a generator says how far event time is; watermarks that go back are ignored."""

    @abstractmethod
    def emit_watermark(self, watermark: Watermark | int) -> None:
        """Advance to a watermark, given as such or in milliseconds; ends idleness."""

    @abstractmethod
    def mark_idle(self) -> None:
        """Stop holding back the watermark of the streams that this one is joined with."""

    @abstractmethod
    def mark_active(self) -> None:
        """Hold it back again."""


class WatermarkGenerator(ABC):
    """Decides on watermarks, seeing every record of one split in order.

    One generator serves one split. Its state is carried from micro-batch to micro-batch, so it
    must pickle. A periodic one remembers in ``on_event`` and emits in ``on_periodic_emit``; a
    punctuated one emits in ``on_event``.
    """

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """See one record, with its timestamp in milliseconds."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit what follows from the records seen; called after every chunk of records.

        Flink calls it at an interval of the clock; here a run repeated gives the same marks.
        """


class BoundedOutOfOrderness(WatermarkGenerator):
    """Records come at most ``bound_ms`` late: the watermark trails the latest by that and 1 ms.

    The watermark is ``max_timestamp - bound_ms - 1``. With the 1 ms, a record that is exactly
    ``bound_ms`` older than the latest one is not late.

    Source: Flink's ``BoundedOutOfOrdernessWatermarks``.
    """

    def __init__(self, bound_ms: int) -> None:
        self.bound_ms = bound_ms
        self.max_timestamp: int | None = None

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Remember the latest timestamp."""
        if self.max_timestamp is None or event_timestamp > self.max_timestamp:
            self.max_timestamp = event_timestamp

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit the latest timestamp less the bound less 1; nothing before the first record."""
        if self.max_timestamp is not None:
            output.emit_watermark(max(self.max_timestamp - self.bound_ms - 1, MIN_WATERMARK))


class MonotonousTimestamps(BoundedOutOfOrderness):
    """Records come in the order of their timestamps."""

    def __init__(self) -> None:
        super().__init__(0)


class NoWatermarks(WatermarkGenerator):
    """Event time does not advance until the input ends."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Nothing."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Nothing."""
