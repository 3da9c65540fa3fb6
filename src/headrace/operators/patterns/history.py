"""Which patterns hold at which time, where patterns change while the job runs.

The broadcast state has the history of each pattern: from which time (ms) which data hold, in order
of time. Old parts of it are removed when no event can ask for them any more.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from headrace.operators.patterns.matcher import Matcher

Change = tuple[int, int, str]
"""A number, from when (ms) it holds, and the pattern as JSON; "": it is taken away.

Changes one after another with the same data have the same number; otherwise no number comes twice,
also of different patterns.
"""

REMOVED = ""

History = list[Change]


def with_change(history: Sequence[Change], change: Change) -> History | None:
    """Return the history of a pattern with a change; None if the change is in it.

    The result is the same in whichever order changes come, but for those of one time, of which the
    last one counts. Data that hold already get no new number: partial matches go on. The number of
    the change and the next one must be free.
    """
    changes = {_from_ms(each): each for each in history}
    before = changes.get(_from_ms(change))
    if before is not None and _data(before) == _data(change):
        return None
    changes[_from_ms(change)] = change
    given: History = []
    used: set[int] = set()
    for data, equal in groupby(sorted(changes.values(), key=_from_ms), key=_data):
        same = [*equal]
        free = {each[0] for each in same} - used
        # Without a free one, the change is between two parts of what was the same pattern.
        used.add(own := min(free, default=change[0] + 1))
        given += [(own, _from_ms(each), data) for each in same]
    return given


def _from_ms(change: Change) -> int:
    return change[1]


def _data(change: Change) -> str:
    return change[2]


def without_past(history: Sequence[Change], watermark: int) -> History:
    """Return a history without the parts that no event after a watermark (ms) asks for."""
    first = max(0, bisect_right(history, watermark, key=_from_ms) - 1)
    left = [*history[first:]]
    if left and _data(left[0]) == REMOVED and _from_ms(left[0]) <= watermark:
        left.pop(0)
    return left


@dataclass(frozen=True)
class ActivePattern:
    """A pattern in a task.

    Fields:
        number: that of the change that made it hold.
        id: the pattern's id.
        data: the pattern as it was given.
        matcher: runs its automaton.
    """

    number: int
    id: str
    data: dict[str, Any]
    matcher: Matcher


class Timeline:
    """The patterns that hold at each time, and when each one ends.

    ``activate(number, id, data)`` returns a pattern for its JSON.
    """

    def __init__(
        self,
        histories: Iterable[tuple[str, Sequence[Change]]],
        activate: Callable[[int, str, str], ActivePattern],
    ) -> None:
        self.patterns: dict[int, ActivePattern] = {}
        self.ends_ms: dict[int, int] = {}
        """By the number of a pattern: when it is taken away or replaced, if that is known."""
        self._histories: list[Sequence[Change]] = []
        for pattern_id, history in histories:
            self._histories.append(history)
            number = None
            for change in history:
                if number is not None and change[0] != number:
                    self.ends_ms[number] = _from_ms(change)
                number = change[0]
                if number not in self.patterns and _data(change) != REMOVED:
                    self.patterns[number] = activate(number, pattern_id, _data(change))
        starts = {_from_ms(change) for history in self._histories for change in history}
        self._starts_ms = sorted(starts)
        self._sets: dict[int, tuple[ActivePattern, ...]] = {}

    def at(self, time_ms: int) -> tuple[ActivePattern, ...]:
        """Return the patterns that hold at a time, in the order of their numbers."""
        place = bisect_right(self._starts_ms, time_ms)
        found = self._sets.get(place)
        if found is None:
            found = self._sets[place] = self._at(time_ms)
        return found

    def _at(self, time_ms: int) -> tuple[ActivePattern, ...]:
        numbers = []
        for history in self._histories:
            place = bisect_right(history, time_ms, key=_from_ms) - 1
            if place >= 0 and _data(history[place]) != REMOVED:
                numbers.append(history[place][0])
        return tuple(self.patterns[number] for number in sorted(numbers))
