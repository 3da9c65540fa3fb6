"""The records of one key in the order of their timestamps."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any


class TimeBuffer:
    """Records sorted by timestamp (ms), and by arrival if timestamps are equal.

    It is the value of a slot that was declared as ``TIMES``. Report its entry as changed after a
    change, and after reading mutable records. An empty buffer has no first or last timestamp:
    remove the slot when a buffer gets empty.
    """

    __slots__ = ("times", "values")

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, times: list[int], values: list[Any]) -> None:
        self.times = times
        self.values = values

    def add(self, timestamp: int, value: Any) -> None:
        """Insert a record after all records with the same or an earlier timestamp."""
        times = self.times
        if not times or times[-1] <= timestamp:
            times.append(timestamp)
            self.values.append(value)
        else:
            place = bisect_right(times, timestamp)
            times.insert(place, timestamp)
            self.values.insert(place, value)

    def between(self, first_ms: int, last_ms: int) -> tuple[list[int], list[Any]]:
        """Return the timestamps and the records between two times, both inclusive."""
        times = self.times
        if not times or times[-1] < first_ms or times[0] > last_ms:
            return [], []
        start = bisect_left(times, first_ms)
        end = bisect_right(times, last_ms, start)
        return times[start:end], self.values[start:end]

    def last_at_or_before(self, moment_ms: int) -> tuple[int, Any] | None:
        """Return the last record at or before a time, with its timestamp."""
        place = bisect_right(self.times, moment_ms) - 1
        return None if place < 0 else (self.times[place], self.values[place])

    def first_at_or_after(self, moment_ms: int) -> tuple[int, Any] | None:
        """Return the first record at or after a time, with its timestamp."""
        place = bisect_left(self.times, moment_ms)
        return None if place == len(self.times) else (self.times[place], self.values[place])

    def remove_through(self, moment_ms: int) -> int | None:
        """Remove the records up to a time (inclusive).

        Return the new ``least_ms``, or None if the buffer is empty.
        """
        times = self.times
        if not times or times[-1] <= moment_ms:
            times.clear()
            self.values.clear()
            return None
        if times[0] <= moment_ms:
            end = bisect_right(times, moment_ms)
            del times[:end], self.values[:end]
        return times[0]

    def take_through(self, moment_ms: int) -> tuple[list[int], list[Any]]:
        """Remove the records up to a time (inclusive); return their timestamps and the records."""
        times, values = self.times, self.values
        end = bisect_right(times, moment_ms)
        taken = times[:end], values[:end]
        del times[:end], values[:end]
        return taken

    def keep_from(self, moment_ms: int) -> None:
        """Remove the records before the last record that is at or before a time.

        A large buffer may keep some of them, because it removes only whole chunks without reading
        them; it keeps none if that record is the last one of the buffer.
        """
        times = self.times
        if len(times) > 1 and times[1] <= moment_ms:
            place = bisect_right(times, moment_ms) - 1
            del times[:place], self.values[:place]

    @property
    def is_single(self) -> bool:
        """Whether the buffer has exactly one record; False for a large one that was not written."""
        return len(self.times) == 1

    @property
    def first_ms(self) -> int:
        """The timestamp of the first record."""
        return self.times[0]

    @property
    def least_ms(self) -> int:
        """A lower bound of the timestamps, known without reading the first record."""
        return self.times[0]

    @property
    def last_ms(self) -> int:
        """The timestamp of the last record."""
        return self.times[-1]

    def __bool__(self) -> bool:
        return bool(self.times)

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Yield pairs of timestamp and record, read-only; loaded chunks are not kept."""
        return zip(self.times, self.values, strict=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} records>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (TimeBuffer, (self.times, self.values))
