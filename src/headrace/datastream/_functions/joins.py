"""Functions of pairs of records, and of groups of records, of two streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from headrace.datastream._functions.function import Function


class JoinFunction(Function):
    """Two records in, one out."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Any:
        """The result for a pair. In an as-of join ``second`` is None if no record matches."""


class FlatJoinFunction(Function):
    """Two records in, any number out."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Iterable[Any] | None:
        """The results for a pair: an iterable, or None. ``second`` is as in ``JoinFunction``."""


class CoGroupFunction(Function):
    """The records of one key and window of two streams in, any number out."""

    @abstractmethod
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any] | None:
        """The results for the two groups: an iterable, or None. One group may be empty."""


class ProcessJoinFunction(Function):
    """Two records in, any number out, with timestamps and side outputs."""

    class Context(ABC):
        """The context while a pair is processed."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """The timestamp (ms) of the left record."""

        @abstractmethod
        def get_right_timestamp(self) -> int | None:
            """The timestamp (ms) of the right record; None if an as-of join found no record."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """The timestamp (ms) of the results: of an interval join the later of the two."""

    @abstractmethod
    def process_element(
        self, left: Any, right: Any, ctx: ProcessJoinFunction.Context
    ) -> Iterable[Any] | None:
        """The results for a pair: an iterable, or None; ``tag, value`` goes to a side output."""
