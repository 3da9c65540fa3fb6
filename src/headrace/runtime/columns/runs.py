"""Runs of columns put together, and put in the order of their timestamps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.runtime.block import Block
from headrace.runtime.columns.batch import Columns, joined
from headrace.runtime.columns.keys import ColumnKeys

PieceOfBlock = tuple[Block, Any, int, int]
"""A block, its values, the first row of the piece and the one after its last."""


def columns_together(pieces: Iterable[PieceOfBlock]) -> tuple[Block, Columns] | None:
    """One block of the pieces' records; None where some are rows, or columns of other kinds."""
    found: list[Columns] = []
    number = 0
    names: set[tuple[str, ...] | None] = set()
    for block, values, start, stop in pieces:
        if isinstance(values, list) or (found and not found[0].is_like(values)):
            return None
        found.append(values[start:stop])
        names.add(_key_columns(block))
        number = block.input
    if len(names) != 1:
        return None  # exchanges that find the key in different columns
    columns = joined(found)
    return _block(columns, names.pop(), number), columns


def columns_by_time(block: Block, columns: Columns) -> tuple[Block, Columns]:
    """The records in the order of their timestamps, those without one first."""
    import numpy as np

    assert columns.times is not None
    times = columns.times.fill_null(MIN_WATERMARK).to_numpy()
    if (times[1:] >= times[:-1]).all():
        return block, columns  # senders that do not overlap in time
    columns = columns.take(np.argsort(times, kind="stable"))
    return _block(columns, _key_columns(block), block.input), columns


def _key_columns(block: Block) -> tuple[str, ...] | None:
    return block.keys.names if isinstance(block.keys, ColumnKeys) else None


def _block(columns: Columns, names: tuple[str, ...] | None, number: int) -> Block:
    keys = None if names is None else ColumnKeys(columns, names)
    return Block(keys, columns, columns.timestamps, False, [], None, 0, input=number)
