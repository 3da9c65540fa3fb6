"""Functions of Arrow record batches or pandas DataFrames."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from headrace.datastream._functions.function import Function


class MapBatchesFunction(Function):
    """Batches of records in, any number of records out; load a model in ``open``."""

    @abstractmethod
    def map_batches(self, batch: Any) -> Any:
        """The results for a batch: see ``DataStream.map_batches``."""


class KeyedMapBatchesFunction(Function):
    """For each key, batches of its records in, any number of records out; it may keep state."""

    @abstractmethod
    def map_batches(self, key: Any, batch: Any) -> Any:
        """The results for a batch of one key: see ``KeyedStream.map_batches``."""
