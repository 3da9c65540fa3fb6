"""How windows are written to and read from bytes: longs of 8 bytes, the highest first."""

from __future__ import annotations

from io import BytesIO

from headrace.common._windows import CountWindow, GlobalWindow, TimeWindow
from headrace.common.serializer import TypeSerializer


def _written(number: int) -> bytes:
    return number.to_bytes(8, "big", signed=True)


def _read(stream: BytesIO) -> int:
    return int.from_bytes(stream.read(8), "big", signed=True)


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Writes start and end."""

    def serialize(self, element: TimeWindow, stream: BytesIO) -> None:
        """Write 16 bytes."""
        stream.write(_written(element.start) + _written(element.end))

    def deserialize(self, stream: BytesIO) -> TimeWindow:
        """Read 16 bytes."""
        return TimeWindow(_read(stream), _read(stream))


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """Writes the id."""

    def serialize(self, element: CountWindow, stream: BytesIO) -> None:
        """Write 8 bytes."""
        stream.write(_written(element.id))

    def deserialize(self, stream: BytesIO) -> CountWindow:
        """Read 8 bytes."""
        return CountWindow(_read(stream))


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """Writes one byte, as there is nothing to say."""

    def serialize(self, element: GlobalWindow, stream: BytesIO) -> None:
        """Write a zero."""
        stream.write(b"\0")

    def deserialize(self, stream: BytesIO) -> GlobalWindow:
        """Read one byte."""
        stream.read(1)
        return GlobalWindow.get()
