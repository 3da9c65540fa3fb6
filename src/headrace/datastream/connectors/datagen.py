"""A source of made-up records: a function of the record's index, at a rate."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.datastream.connectors.base import Source, SplitEnumerator, SplitReader
from headrace.datastream.connectors.indexed import IndexedEnumerator, IndexedReader
from headrace.errors import PlanError


@dataclass(frozen=True)
class DataGeneratorSource(Source):
    """Records 0, 1, … made by ``generator_function(index)``, or ``(index, random)``.

    A function that needs two arguments also gets a ``random.Random`` that depends on (seed, index)
    only, so that a record made again is the same; it must draw its randomness from there. No seed
    means seed 0. ``count`` None never ends. With a rate, as many records exist as were due since
    the job first started; a restarted job makes up for the time it was down.
    """

    generator_function: Callable[..., Any]
    count: int | None = None
    rate_per_second: float | None = None
    seed: int | None = None
    type_info: Any = None

    def __post_init__(self) -> None:
        if self.count is not None and self.count < 0:
            raise PlanError(f"the count of a data generator is negative: {self.count}")
        if self.rate_per_second is not None and not self.rate_per_second > 0:
            raise PlanError(f"the rate of a data generator is not above 0: {self.rate_per_second}")
        if not callable(self.generator_function):
            raise PlanError(
                f"the generator is a {type(self.generator_function).__name__}, not a function",
                hint="pass a function of the record's index, e.g. lambda index: (index, 'a')",
            )

    @property
    def bounded(self) -> bool:
        """True when a count is set."""
        return self.count is not None

    def enumerator(self, directory: str) -> SplitEnumerator:
        """A new enumerator; it writes nothing."""
        return IndexedEnumerator(
            "generator", self.count, lambda start, end: None, self.rate_per_second
        )

    def reader(self) -> SplitReader:
        """A new reader."""
        make = self.generator_function
        if not _takes_two(make):
            return IndexedReader(lambda _, at, to: [make(index) for index in range(at, to)])
        seed = (self.seed or 0) << 64
        seeded = random.Random
        return IndexedReader(
            lambda _, at, to: [make(index, seeded(seed + index)) for index in range(at, to)]
        )


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some builtins have no signature: they get the index alone
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in positional and p.default is p.empty]
    return len(needed) == 2
