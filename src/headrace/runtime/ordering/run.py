"""A run: records that a task reads one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.runtime.block import Block, Mark, records_of

if TYPE_CHECKING:
    from headrace.runtime.columns.batch import Columns
    from headrace.runtime.columns.keys import ColumnKeys


class Run(NamedTuple):
    """Consecutive records of one input.

    ``keys``: None (no keys) or as long as ``values``. ``timestamps``: None or as long. ``start``:
    if the run is a part of a block, the index of its first record in the input's block.
    """

    keys: ColumnKeys | list[Any] | None
    values: Columns | list[Any]
    timestamps: Sequence[int | None] | None
    input: int
    start: int = 0

    @classmethod
    def of(cls, block: Block) -> Run:
        """Return all records of a block as one run; copied records become new objects."""
        values = records_of(block) if isinstance(block.values, list) else block.values
        return cls(block.keys, values, block.timestamps, block.input)

    def slice(self, start: int, stop: int) -> Run:
        """Return the records from index ``start`` up to ``stop``."""
        if not start and stop == len(self.values):
            return self
        keys, values, timestamps, number, before = self
        return Run(
            None if keys is None else keys[start:stop],
            values[start:stop],
            None if timestamps is None else timestamps[start:stop],
            number,
            before + start,
        )


Read = Run | Mark
"""What a task reads next."""
