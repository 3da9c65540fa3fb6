"""How often two inputs have a row, for INTERSECT and EXCEPT with a time-to-live.

What expires when is as in Flink. ALL is one aggregation there: both counts have one time. Without
ALL, Flink joins the inputs and groups the result: the left row, the right row and the result have
a time each. Results that stay are given again, so that operators downstream keep their state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any


class ExpiringCounts(ABC):
    """The counts of one row. ``changed``: whether there is something to store."""

    changed = False

    @abstractmethod
    def take(self, left: bool, sign: int) -> Sequence[int]:
        """Add the row to an input (``sign`` 1), or take it back (-1).

        Return the changes of the result: 1 for a row that is added, -1 for one that is deleted.
        """

    @abstractmethod
    def value(self) -> Any:
        """Return what is stored, first the two counts; None: nothing."""


class CountsOfAll(ExpiringCounts):
    """The counts of ALL. ``copies``: how many rows the result has, by the counts."""

    def __init__(self, stored: Sequence[int] | None, copies: Callable[[int, int], int]) -> None:
        self._counts = [0, 0] if stored is None else [*stored[:2]]
        self._there = stored is not None
        self._copies = copies

    def take(self, left: bool, sign: int) -> Sequence[int]:
        if not self._there and sign < 0:
            return ()  # it never came, or has expired
        self.changed = True
        before = self._copies(*self._counts) if self._there else 0
        self._counts[0 if left else 1] += sign
        self._there = sum(self._counts) > 0
        if not self._there:
            self._counts = [0, 0]
        after = self._copies(*self._counts)
        if before == after:
            return (-1, 1) if after else ()
        return [1 if after > before else -1] * abs(after - before)

    def value(self) -> Any:
        return tuple(self._counts) if self._there else None


class CountsOfDistinct(ExpiringCounts):
    """The counts without ALL: of the left row with its matches, of the right one, of the result.

    ``stored``: the value, and the time of its last change; of a program without a time-to-live it
    has the two counts only.
    """

    def __init__(
        self, stored: tuple[Sequence[int], int] | None, intersects: bool, now_ms: int, ttl_ms: int
    ) -> None:
        self._intersects, self._now_ms = intersects, now_ms
        self._left = self._matches = self._right = self._result = 0
        self._left_ms = self._right_ms = self._result_ms = now_ms
        if stored is None:
            return
        (left, right, *rest), stamp = stored
        if not rest:
            rest = [right, left if bool(right) == intersects else 0, stamp, stamp, stamp]
        matches, result, self._left_ms, self._right_ms, self._result_ms = rest
        since = now_ms - ttl_ms
        if self._left_ms > since:
            self._left, self._matches = left, matches
        if self._right_ms > since:
            self._right = right
        if self._result_ms > since:
            self._result = result

    def take(self, left: bool, sign: int) -> Sequence[int]:
        return self._take_left(sign) if left else self._take_right(sign)

    def _take_left(self, sign: int) -> Sequence[int]:
        changes: list[int] = []
        if bool(self._right) == self._intersects:
            self._give(sign, changes)
        if sign > 0:
            self._matches = self._right
        if sign > 0 or self._left:
            self._left += sign
            self._left_ms, self.changed = self._now_ms, True
        return changes

    def _take_right(self, sign: int) -> Sequence[int]:
        changes: list[int] = []
        if sign > 0 or self._right:
            self._right += sign
            self._right_ms, self.changed = self._now_ms, True
        if self._left:
            if self._matches == (0 if sign > 0 else 1):  # the first match, or the last one
                for _ in range(self._left):
                    self._give(sign if self._intersects else -sign, changes)
            self._matches += sign
            self._left_ms, self.changed = self._now_ms, True
        return changes

    def _give(self, sign: int, changes: list[int]) -> None:
        """Change how often the result has the row, before it is made distinct."""
        if not self._result and sign < 0:
            return
        if self._result:
            changes.append(-1)
        self._result += sign
        if self._result:
            changes.append(1)
        self._result_ms, self.changed = self._now_ms, True

    def value(self) -> Any:
        if not (self._left or self._right or self._result):
            return None
        times = self._left_ms, self._right_ms, self._result_ms
        return self._left, self._right, self._matches, self._result, *times
