"""What an aggregate function is to the operators that run it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from headrace.runtime.user_function import UserFunction, copy_function_object


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


@dataclass(frozen=True)
class Aggregated:
    """An accumulator with its columns: the values that it is given, and a BOOLEAN filter."""

    accumulator: Accumulator
    arguments: tuple[str, ...]
    filter: str | None = None


def functions_of(aggregates: tuple[Aggregated, ...]) -> tuple[UserFunction, ...]:
    """Return the functions of users among aggregates, which are opened and closed."""
    accumulators = (each.accumulator for each in aggregates)
    return tuple(UserFunction(each, "add") for each in accumulators if hasattr(each, "open"))


def with_own_functions(aggregates: tuple[Aggregated, ...]) -> tuple[Aggregated, ...]:
    """Return aggregates whose functions of users are a task's own."""
    return tuple(
        replace(each, accumulator=copy_function_object(each.accumulator))
        if hasattr(each.accumulator, "open")
        else each
        for each in aggregates
    )
