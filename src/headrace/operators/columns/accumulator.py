"""What an aggregate function is to the operators that run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


class Accumulator(Protocol):
    """One result over the rows of a group. States are plain values, and may be changed in place.

    Of a user's function it also has ``open`` and ``close``; then each task has its own copy.
    """

    def zero(self) -> Any:
        """Return the state of no rows."""

    def add(self, state: Any, values: tuple[Any, ...]) -> Any:
        """Return the state with a row's values."""

    def retract(self, state: Any, values: tuple[Any, ...]) -> Any:
        """Return the state without the values of a row that was added before."""

    def merge(self, state: Any, other: Any) -> Any:
        """Return the state of both states' rows, those of ``state`` first."""

    def result(self, state: Any) -> Any:
        """Return the result, as a value of its Arrow type."""

    def watched(self, state: Any) -> Any:
        """Return values beside the result: if they differ, GROUP BY gives an update, too."""
        return None


@dataclass(frozen=True)
class Aggregated:
    """An accumulator with its columns: the values that it is given, and a BOOLEAN filter."""

    accumulator: Accumulator
    arguments: tuple[str, ...]
    filter: str | None = None
