"""Functions that get the matches of a pattern."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from headrace.datastream.functions import Function
from headrace.operators.patterns.operator import MatchContext

__all__ = [
    "EventComparator",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternTimeoutFunction",
    "RichPatternFlatSelectFunction",
    "RichPatternSelectFunction",
    "TimedOutPartialMatchHandler",
]

_Match = dict[str, list[Any]]
"""The events of a match: by the name of a stage, those that it took, in order."""


class PatternProcessFunction(Function):
    """Is called for each match."""

    Context = MatchContext

    @abstractmethod
    def process_match(self, match: _Match, ctx: MatchContext) -> Iterable[Any] | None:
        """Yield the results of a match; ``tag, value`` goes to a side output.

        ``ctx.timestamp()`` is the time (ms) of the match: that of its last event, or the end of the
        time in which an event had to be absent. If a skip strategy made the match wait, it is the
        time at which the wait ended.
        """


class TimedOutPartialMatchHandler(ABC):
    """A mix-in for a ``PatternProcessFunction`` that also gets partial matches that time out."""

    @abstractmethod
    def process_timed_out_match(self, match: _Match, ctx: MatchContext) -> Iterable[Any] | None:
        """Yield ``tag, value`` for side outputs; there is no main output here.

        ``match`` has only the stages that have taken an event.
        ``ctx.timestamp()`` is the moment (ms) at which the time of the partial match was over.
        """


class PatternSelectFunction(Function):
    """Returns one result for a match."""

    @abstractmethod
    def select(self, pattern: _Match) -> Any:
        """Return the result."""


class PatternFlatSelectFunction(Function):
    """Yields results for a match."""

    @abstractmethod
    def flat_select(self, pattern: _Match) -> Iterable[Any] | None:
        """Yield the results."""


class RichPatternSelectFunction(PatternSelectFunction):
    """The same as ``PatternSelectFunction``: each function may have ``open`` and ``close``."""


class RichPatternFlatSelectFunction(PatternFlatSelectFunction):
    """The same as ``PatternFlatSelectFunction``: each function may have ``open`` and ``close``."""


class PatternTimeoutFunction(Function):
    """Returns one result for a partial match that timed out."""

    @abstractmethod
    def timeout(self, pattern: _Match, timeout_timestamp: int) -> Any:
        """Return the result; ``timeout_timestamp``: when (ms) its time was over."""


class PatternFlatTimeoutFunction(Function):
    """Yields results for a partial match that timed out."""

    @abstractmethod
    def timeout(self, pattern: _Match, timeout_timestamp: int) -> Iterable[Any] | None:
        """Yield the results; ``timeout_timestamp``: when (ms) its time was over."""


class EventComparator(Function):
    """Orders events that have the same time."""

    @abstractmethod
    def compare(self, first: Any, second: Any) -> int:
        """Return a negative number if ``first`` comes first, a positive one if ``second`` does.

        Return 0 if they stay in the order of their arrival.
        """
