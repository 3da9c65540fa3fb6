"""Decoded rows as the chunks of a reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace.connector import BadRecord, Chunk, ColumnChunk
from headrace.runtime.columns.shapes import NAMED_ROWS
from headrace.table._formats.format import Decoded

ROW_KIND = "$row_kind"
"""The column with the row kinds of a changelog."""


def column_chunk(batch: Any, kinds: Any | None) -> ColumnChunk:
    """Return rows, with their kinds if they are not all inserts, as a chunk."""
    if kinds is None:
        return ColumnChunk(batch, NAMED_ROWS)
    import pyarrow as pa

    batch = batch.append_column(ROW_KIND, pa.array(kinds, pa.int8()))
    return ColumnChunk(batch, NAMED_ROWS, ROW_KIND)


def chunks_of(
    decoded: Decoded,
    bad_record: Callable[[int, str], BadRecord],
    batch: Any | None = None,
) -> Iterator[Chunk | ColumnChunk]:
    """Yield decoded rows as columns, and between them what could not be decoded.

    What the format has left out is counted in the last chunk.

    ``bad_record(index, reason)``: the bad record of a value. ``batch``: the rows with further
    columns.
    """
    import numpy as np

    batch = decoded.batch if batch is None else batch
    kinds, origins, start = decoded.kinds, decoded.origins, 0
    for bad in decoded.bad:
        end = bad.index if origins is None else int(np.searchsorted(origins, bad.index))
        if end > start:
            yield _part(batch, kinds, start, end)
        yield Chunk([], None, [(0, bad_record(bad.index, bad.reason))])
        start = end
    if batch.num_rows > start:
        yield _part(batch, kinds, start, batch.num_rows)
    if decoded.skipped:
        yield Chunk([], skipped=decoded.skipped)


def _part(batch: Any, kinds: Any | None, start: int, end: int) -> ColumnChunk:
    chosen = None if kinds is None else kinds[start:end]
    return column_chunk(batch.slice(start, end - start), chosen)


def as_rows(chunks: Iterator[Chunk | ColumnChunk]) -> Iterator[Chunk]:
    """Yield the same records as rows."""
    from headrace.runtime.columns.building import from_chunk

    for chunk in chunks:
        if isinstance(chunk, Chunk):
            yield chunk
            continue
        yield Chunk(from_chunk(chunk).rows())


def python_columns(values: Sequence[Any], width: int) -> list[Sequence[Any]]:
    """Return the columns of rows."""
    return [*zip(*values, strict=True)] if values else [()] * width
