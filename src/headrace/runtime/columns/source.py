"""Columns on their way from a source into its chain."""

from __future__ import annotations

from headrace.connector import ColumnChunk
from headrace.runtime.chain.chain import Chain
from headrace.runtime.columns.batch import Columns


def push_chunk(chain: Chain, chunk: ColumnChunk) -> None:
    """Push a chunk of columns in at the root of a chain that takes them."""
    assert chain.push_columns is not None, "this chain is given rows"
    if chunk.count:
        chain.push_columns(Columns(chunk.batch, chunk.shape, chunk.row_kind, chunk.timestamps))
