"""Where generated programs come from: a seed, or Hypothesis, by the same calls."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Draws(Protocol):
    """A source of choices. The first option and the least number are the simplest ones."""

    def integer(self, low: int, high: int) -> int:
        """A number between two, both included."""

    def choice(self, options: Sequence[T]) -> T:
        """One of several."""

    def several(self, make: Callable[[Draws], T], low: int, high: int) -> list[T]:
        """Between ``low`` and ``high`` values that a function draws."""


class Seeded:
    """Choices by a seed: the same in every version of Python and of Hypothesis.

    They are made of ``random.Random.random`` alone, whose sequence Python promises to keep.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def integer(self, low: int, high: int) -> int:
        return low + int(self._random() * (high - low + 1))

    def choice(self, options: Sequence[T]) -> T:
        return options[self.integer(0, len(options) - 1)]

    def several(self, make: Callable[[Draws], T], low: int, high: int) -> list[T]:
        return [make(self) for _ in range(self.integer(low, high))]


class _Drawn:
    """Choices by Hypothesis, which makes a failing example smaller."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        found: int = self._draw(st.integers(low, high))
        return found

    def choice(self, options: Sequence[T]) -> T:
        found: T = self._draw(st.sampled_from(options))
        return found

    def several(self, make: Callable[[Draws], T], low: int, high: int) -> list[T]:
        found: list[T] = self._draw(st.lists(strategy(make), min_size=low, max_size=high))
        return found


def strategy(make: Callable[[Draws], T]) -> st.SearchStrategy[T]:
    """What a function draws, as a strategy of Hypothesis."""
    made: st.SearchStrategy[T] = st.composite(lambda draw: make(_Drawn(draw)))()
    return made
