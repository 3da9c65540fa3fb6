"""Partial results of many blocks, merged by key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.operators.columns.partials import grouped
from headrace.operators.columns.vectors import VectorAggregates

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

MAX_BYTES = 128 << 20
"""So many bytes are buffered before they are merged by key."""


class BufferedPartials:
    """The partial results of a micro-batch, or of a part of it; equal keys are merged.

    The keys are in the order of their first rows.
    """

    def __init__(self, vectors: VectorAggregates, keys: Sequence[str]) -> None:
        self._vectors, self._keys = vectors, keys
        self._buffered: list[Any] = []
        self._bytes = 0
        self.received = 0
        """How many partial results were added."""

    def add(self, partials: Any) -> None:
        """Add the partial results of a block: a record batch."""
        if not partials.num_rows:
            return
        self._buffered.append(partials)
        self._bytes += partials.nbytes
        self.received += partials.num_rows
        if self._bytes >= MAX_BYTES:
            merged = self._grouped()
            # Where keys hardly repeat, grouping them often would cost more than it saves.
            self._buffered, self._bytes = [merged], merged.nbytes // 4

    def _grouped(self) -> Any:
        import pyarrow as pa

        return grouped(self._vectors, pa.Table.from_batches(self._buffered), self._keys)

    def pop(self) -> Any | None:
        """Return the partial results, one for each key, and forget them; None if there are none."""
        found = self._grouped() if self._buffered else None
        self.clear()
        return found

    def clear(self) -> None:
        """Forget what is buffered."""
        self._buffered, self._bytes, self.received = [], 0, 0
