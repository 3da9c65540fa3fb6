"""Serializers of windows: longs of 8 bytes, big-endian."""

from __future__ import annotations

from io import BytesIO

from headrace.common._windows import CountWindow, GlobalWindow, TimeWindow
from headrace.common.serializer import TypeSerializer


def _to_bytes(number: int) -> bytes:
    return number.to_bytes(8, "big", signed=True)


def _read(stream: BytesIO) -> int:
    return int.from_bytes(stream.read(8), "big", signed=True)


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Writes a window's start and end."""

    def serialize(self, element: TimeWindow, stream: BytesIO) -> None:
        """Write start and end, 8 bytes each."""
        stream.write(_to_bytes(element.start) + _to_bytes(element.end))

    def deserialize(self, stream: BytesIO) -> TimeWindow:
        """Read start and end, 8 bytes each."""
        return TimeWindow(_read(stream), _read(stream))


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """Writes a window's id."""

    def serialize(self, element: CountWindow, stream: BytesIO) -> None:
        """Write the id in 8 bytes."""
        stream.write(_to_bytes(element.id))

    def deserialize(self, stream: BytesIO) -> CountWindow:
        """Read the id from 8 bytes."""
        return CountWindow(_read(stream))


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """Writes a single zero byte, because all global windows are equal."""

    def serialize(self, element: GlobalWindow, stream: BytesIO) -> None:
        """Write a zero byte."""
        stream.write(b"\0")

    def deserialize(self, stream: BytesIO) -> GlobalWindow:
        """Read one byte, and return the global window."""
        stream.read(1)
        return GlobalWindow.get()
