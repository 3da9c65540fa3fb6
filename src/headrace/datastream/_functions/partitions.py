"""Functions of all records of a partition."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from enum import Enum
from typing import Any

from headrace.datastream._functions.function import Function


class MapPartitionFunction(Function):
    """Computes results from all records of a partition; from Flink's Java API, not in PyFlink."""

    @abstractmethod
    def map_partition(self, values: Iterable[Any]) -> Iterable[Any] | None:
        """Return the results: an iterable, or None; ``tag, value`` goes to a side output."""


class Order(Enum):
    """The sort order of ``sort_partition``."""

    ASCENDING = "ascending"
    DESCENDING = "descending"
