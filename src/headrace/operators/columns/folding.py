"""The change of each key in a micro-batch, of aggregates over arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.operators.columns.gathering import first_rows
from headrace.operators.columns.vectors import VectorAggregates

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


class FoldedKeys:
    """The keys that a micro-batch has reached: their parts before it, and by now."""

    def __init__(self, vectors: VectorAggregates, keys: Sequence[str]) -> None:
        self._vectors = vectors
        self._columns = [*keys]
        self._numbers: dict[Any, int] = {}
        self._rows: list[Any] = []
        self.before = vectors.zeros(0)
        self.now = vectors.zeros(0)

    @property
    def keys(self) -> list[Any]:
        """The keys, in the order of their first rows."""
        return [*self._numbers]

    def missing(self, distinct: Sequence[Any]) -> list[int]:
        """Return the places of keys that have not been reached before."""
        numbers = self._numbers
        return [place for place, key in enumerate(distinct) if key not in numbers]

    def reach(
        self, batch: Any, codes: Array, distinct: Sequence[Any], places: list[int], states: Any
    ) -> None:
        """Add keys (``places`` among the ``distinct`` ones) with their stored ``states``."""
        import numpy as np
        import pyarrow as pa

        loaded = self._vectors.load(states)
        for place in places:
            self._numbers[distinct[place]] = len(self._numbers)
        self.before = [np.concatenate(pair) for pair in zip(self.before, loaded, strict=True)]
        self.now = [np.concatenate(pair) for pair in zip(self.now, loaded, strict=True)]
        first = first_rows(codes, len(distinct))
        self._rows.append(batch.select(self._columns).take(pa.array(first[places])))

    def add(self, codes: Array, distinct: Sequence[Any], contributions: Sequence[Array]) -> None:
        """Add what rows contribute."""
        import numpy as np

        numbers = self._numbers
        own = np.fromiter((numbers[key] for key in distinct), np.int64, len(distinct))
        self.now = self._vectors.totals(own[codes], contributions, self.now)

    def key_columns(self) -> Any:
        """Return the keys as a record batch."""
        import pyarrow as pa

        (batch,) = pa.Table.from_batches(self._rows).combine_chunks().to_batches()
        return batch

    def __bool__(self) -> bool:
        return bool(self._numbers)
