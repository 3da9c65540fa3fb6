"""What of the other partial matches goes on after a match: skip strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headrace.errors import JobError


@dataclass(frozen=True)
class Skip:
    """A skip strategy; as such ``NO_SKIP``: all partial matches go on."""

    @property
    def is_skip(self) -> bool:
        """Whether it drops anything."""
        return False

    def last_dropped(self, match: Mapping[str, Sequence[int]]) -> int:
        """Return the number of the last event with which a dropped match may begin; -1: none.

        ``match``: the numbers of the events by stage.

        Raises:
            JobError: the match has no event to skip to, or that is its first.
        """
        return -1


@dataclass(frozen=True)
class SkipToNext(Skip):
    """Drop the matches that begin with the same event."""

    @property
    def is_skip(self) -> bool:
        return True

    def last_dropped(self, match: Mapping[str, Sequence[int]]) -> int:
        return min(numbers[0] for numbers in match.values())


@dataclass(frozen=True)
class SkipPastLastEvent(Skip):
    """Drop the matches that begin before the end of the match."""

    @property
    def is_skip(self) -> bool:
        return True

    def last_dropped(self, match: Mapping[str, Sequence[int]]) -> int:
        return max(numbers[-1] for numbers in match.values())


@dataclass(frozen=True)
class SkipToStage(Skip):
    """Drop the matches that begin before the first, or the last, event of a stage.

    ``fails_on_miss``: fail if the match has no event of the stage.
    """

    stage: str
    is_last: bool
    fails_on_miss: bool = False

    @property
    def is_skip(self) -> bool:
        return True

    def last_dropped(self, match: Mapping[str, Sequence[int]]) -> int:
        numbers = match.get(self.stage)
        if not numbers:
            if self.fails_on_miss:
                raise JobError(
                    f"cannot skip to {self.stage!r}: the match has no event of that stage",
                    hint="skip to a stage that is not optional",
                )
            return -1
        found = numbers[-1 if self.is_last else 0]
        if self.fails_on_miss and found == min(each[0] for each in match.values()):
            raise JobError(
                f"cannot skip to {self.stage!r}: that is the first event of the match,"
                " which would be found again",
                hint="skip to a later stage, or use skip_to_next()",
            )
        return found - 1


NO_SKIP = Skip()
