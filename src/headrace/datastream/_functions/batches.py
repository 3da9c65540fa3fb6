"""Functions of Arrow record batches or pandas DataFrames."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from headrace.datastream._functions.function import Function


class MapBatchesFunction(Function):
    """Emits any number of records for each batch of records; load a model in ``open``."""

    @abstractmethod
    def map_batches(self, batch: Any) -> Any:
        """Return the results for a batch: see ``DataStream.map_batches``."""


class KeyedMapBatchesFunction(Function):
    """Emits any number of records for each batch of records of one key; it may use keyed state."""

    @abstractmethod
    def map_batches(self, key: Any, batch: Any) -> Any:
        """Return the results for a batch of one key: see ``KeyedStream.map_batches``."""
