"""The change of each key in a micro-batch, of aggregates over arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from headrace.operators.columns.gathering import first_rows
from headrace.operators.columns.vectors import VectorAggregates

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


class FoldedKeys:
    """The keys that a micro-batch has reached: their parts before it, and by now.

    For each block: ``reach``, then ``load`` if there are new keys, then ``add``.
    """

    def __init__(self, vectors: VectorAggregates, keys: Sequence[str]) -> None:
        self._vectors = vectors
        self._columns = [*keys]
        self._numbers: dict[Any, int] = {}
        self._rows: list[Any] = []
        self._codes: Array
        self.before = vectors.zeros(0)
        self.now = vectors.zeros(0)

    @property
    def keys(self) -> list[Any]:
        """The keys, in the order of their first rows."""
        return [*self._numbers]

    def reach(self, batch: Any, codes: Array, distinct: Sequence[Any]) -> Sequence[Any]:
        """Take the keys of a block; return those that have not been reached before."""
        import numpy as np
        import pyarrow as pa

        numbers, first, added = self._numbers, first_rows(codes, len(distinct)), distinct
        known = len(numbers)
        self._codes = codes
        if known:
            own = np.fromiter(map(numbers.get, distinct, repeat(-1)), np.int64, len(distinct))
            new = np.flatnonzero(own < 0)
            added, first = [distinct[place] for place in new.tolist()], first[new]
            own[new] = np.arange(known, known + len(added))
            self._codes = own[codes]
        numbers.update(zip(added, range(known, known + len(added)), strict=True))
        if len(added):
            self._rows.append(batch.select(self._columns).take(pa.array(first)))
        return added

    def load(self, parts: Sequence[Array]) -> None:
        """Take the stored parts of new keys."""
        import numpy as np

        self.before = [np.concatenate(pair) for pair in zip(self.before, parts, strict=True)]
        self.now = [np.concatenate(pair) for pair in zip(self.now, parts, strict=True)]

    def add(self, contributions: Sequence[Array]) -> None:
        """Add what the rows of the block contribute."""
        self.now = self._vectors.totals(self._codes, contributions, self.now)

    def key_columns(self) -> Any:
        """Return the keys as a record batch."""
        import pyarrow as pa

        (batch,) = pa.Table.from_batches(self._rows).combine_chunks().to_batches()
        return batch

    def __bool__(self) -> bool:
        return bool(self._numbers)
