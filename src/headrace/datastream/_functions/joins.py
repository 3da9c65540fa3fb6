"""Functions of two records that belong together, or of two groups of records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from headrace.datastream._functions.function import Function


class JoinFunction(Function):
    """Two records in, one out."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Any:
        """What becomes of a pair. An as-of join gives None as ``second`` where there is none."""


class FlatJoinFunction(Function):
    """Two records in, any number out."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Iterable[Any] | None:
        """What becomes of a pair: an iterable, or None. ``second`` is as in ``JoinFunction``."""


class CoGroupFunction(Function):
    """The records of one key and window of two streams in, any number out."""

    @abstractmethod
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any] | None:
        """What becomes of the two groups, one of which may be empty: an iterable, or None."""


class ProcessJoinFunction(Function):
    """Two records in, any number out, with a look at their timestamps and with side outputs."""

    class Context(ABC):
        """What is known while a pair is processed."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """The timestamp (ms) of the left record."""

        @abstractmethod
        def get_right_timestamp(self) -> int | None:
            """The timestamp (ms) of the right record; None where an as-of join has none."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """The timestamp (ms) of the results: of an interval join the later of the two."""

    @abstractmethod
    def process_element(
        self, left: Any, right: Any, ctx: ProcessJoinFunction.Context
    ) -> Iterable[Any] | None:
        """What becomes of a pair: an iterable, or None; ``tag, value`` goes to a side output."""
