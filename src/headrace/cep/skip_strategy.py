"""What becomes of other partial matches after a match."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.common._unsupported import unsupported_method
from headrace.operators.patterns.skips import (
    NO_SKIP,
    Skip,
    SkipPastLastEvent,
    SkipToNext,
    SkipToStage,
)

__all__ = ["AfterMatchSkipStrategy", "SkipToElementStrategy"]


@dataclass(frozen=True)
class AfterMatchSkipStrategy:
    """Says which partial matches are dropped after a match; given to ``Pattern.begin``."""

    _skip: Skip

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Drop none: every possible match is found. The default."""
        return AfterMatchSkipStrategy(NO_SKIP)

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Drop the partial matches that begin with the same event as the match."""
        return AfterMatchSkipStrategy(SkipToNext())

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Drop the partial matches that begin before the end of the match."""
        return AfterMatchSkipStrategy(SkipPastLastEvent())

    @staticmethod
    def skip_to_first(pattern_name: str) -> SkipToElementStrategy:
        """Drop the partial matches that begin before the first event of a stage of the match."""
        return SkipToElementStrategy(SkipToStage(pattern_name, False))

    @staticmethod
    def skip_to_last(pattern_name: str) -> SkipToElementStrategy:
        """Drop the partial matches that begin before the last event of a stage of the match."""
        return SkipToElementStrategy(SkipToStage(pattern_name, True))

    def is_skip_strategy(self) -> bool:
        """Return whether it drops partial matches."""
        return self._skip.is_skip

    def get_pattern_name(self) -> str | None:
        """Return the name of the stage that it skips to; None: it skips to no stage."""
        return self._skip.stage if isinstance(self._skip, SkipToStage) else None

    def __str__(self) -> str:
        match self._skip:
            case SkipToStage(stage, is_last, fails_on_miss):
                call = f"skip_to_{'last' if is_last else 'first'}({stage!r})"
                return f"{call}.throw_exception_on_miss()" if fails_on_miss else call
            case SkipToNext():
                return "skip_to_next()"
            case SkipPastLastEvent():
                return "skip_past_last_event()"
        return "no_skip()"

    prune = unsupported_method("it is called by Flink's own matcher; Headrace has another")


@dataclass(frozen=True)
class SkipToElementStrategy(AfterMatchSkipStrategy):
    """A strategy that skips to an event of a stage."""

    def throw_exception_on_miss(self) -> SkipToElementStrategy:
        """Return a strategy that fails the job if a match has no event of the stage."""
        assert isinstance(self._skip, SkipToStage)
        return SkipToElementStrategy(replace(self._skip, fails_on_miss=True))
