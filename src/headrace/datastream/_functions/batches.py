"""Functions that are given many records at once, as Arrow record batches or pandas DataFrames."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from headrace.datastream._functions.function import Function


class MapBatchesFunction(Function):
    """Batches of records in, any number of records out; ``open`` is the place to load a model."""

    @abstractmethod
    def map_batches(self, batch: Any) -> Any:
        """What becomes of a batch: see ``DataStream.map_batches``."""


class KeyedMapBatchesFunction(Function):
    """For each key, batches of its records in, any number of records out; it may keep state."""

    @abstractmethod
    def map_batches(self, key: Any, batch: Any) -> Any:
        """What becomes of a batch of a key's records: see ``KeyedStream.map_batches``."""
