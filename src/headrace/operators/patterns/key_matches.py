"""The matches of a key where several patterns hold, which change."""

from __future__ import annotations

from headrace.operators.patterns.history import Timeline
from headrace.operators.patterns.matcher import Matches


class KeyMatches:
    """The matches of a key by pattern: by the number of the change that made the pattern hold.

    ``next_number``: the number of the key's next event.
    """

    __slots__ = ("_has_dropped", "_moment", "by_pattern", "next_number", "timeline")

    def __init__(self, timeline: Timeline, next_number: int = 0) -> None:
        self.timeline = timeline
        self.by_pattern: dict[int, Matches] = {}
        self.next_number = next_number
        self._has_dropped = False
        self._moment: tuple[int | None] | None = None
        """The moment, in a tuple, if it is known."""

    @property
    def are_changed(self) -> bool:
        """Whether they differ from what is stored."""
        return self._has_dropped or any(each.are_changed for each in self.by_pattern.values())

    def drop(self, number: int) -> int:
        """Drop the matches of a pattern; return how many."""
        dropped = self.by_pattern.pop(number)
        self._has_dropped = True
        self._moment = None
        return dropped.begun + len(dropped.complete)

    def leave_out(self) -> None:
        """Note that stored matches of a pattern are not among them."""
        self._has_dropped = True

    @property
    def moment_ms(self) -> int | None:
        """When the first partial match, or the pattern of one, is over; None: never."""
        if self._moment is None:
            moments = [self.moment_of(number) for number in self.by_pattern]
            known = [each for each in moments if each is not None]
            self._moment = (min(known, default=None),)
        return self._moment[0]

    def forget_moment(self) -> None:
        """Note that the partial matches of a pattern have changed, and with them the moment."""
        self._moment = None

    def moment_of(self, number: int) -> int | None:
        """Return when (ms) the next partial match of a pattern, or the pattern, is over.

        A pattern without a partial match has no such moment.
        """
        matches = self.by_pattern[number]
        if matches.is_empty:
            return None
        moment_ms, end_ms = matches.moment_ms, self.timeline.ends_ms.get(number)
        if end_ms is None or (moment_ms is not None and moment_ms < end_ms):
            return moment_ms
        return end_ms
