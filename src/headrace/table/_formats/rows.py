"""Decoding shared by formats: rows that are built one by one, and blocks that are tried first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.table._formats.format import BadValue, Decoded

SMALL = 64
"""So many values are decoded one by one, and not tried in parts."""
PARTS = 8


class RowsBuilder:
    """Gathers rows of Python values, and makes a batch of them.

    ``first``: the index of the first value. ``ignores``: whether bad values are only counted.
    """

    def __init__(self, schema: Any, first: int = 0, ignores: bool = False) -> None:
        self._schema, self._first, self._ignores = schema, first, ignores
        self._skipped = 0
        self._rows: list[Sequence[Any]] = []
        self._origins: list[int] = []
        self._bad: list[BadValue] = []
        self._kinds: list[int] | None = None

    def add(self, index: int, row: Sequence[Any], kind: int | None = None) -> None:
        """Add a row of a value."""
        self._rows.append(row)
        self._origins.append(self._first + index)
        if kind is not None:
            self._kinds = [] if self._kinds is None else self._kinds
            self._kinds.append(kind)

    def bad(self, index: int, reason: str) -> None:
        """Count a value that cannot be decoded, if errors are ignored; else remove its rows."""
        if self._ignores:
            self._skipped += 1
            return
        at = self._first + index
        while self._origins and self._origins[-1] == at:
            self._origins.pop()
            self._rows.pop()
            if self._kinds is not None:
                self._kinds.pop()
        self._bad.append(BadValue(at, reason))

    def build(self, count: int) -> Decoded:
        """Return the rows; ``count``: how many values they were decoded from."""
        import numpy as np
        import pyarrow as pa

        schema, first = self._schema, self._first
        columns: Any = zip(*self._rows, strict=True) if self._rows else [()] * len(schema)
        arrays = [
            pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)
        ]
        batch = _batch_of(arrays, schema, len(self._rows))
        plain = not self._bad and self._origins == [*range(first, first + count)]
        origins = None if plain and not first else np.array(self._origins, np.int64)
        kinds = None if self._kinds is None else np.array(self._kinds, np.int8)
        return Decoded(batch, origins, kinds, self._bad, self._skipped)


def _batch_of(arrays: list[Any], schema: Any, count: int) -> Any:
    import pyarrow as pa

    if arrays:
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    return pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))


def decode_in_parts(
    values: Sequence[bytes],
    decode_block: Callable[[bytes, int], Any | None],
    decode_one_by_one: Callable[[Sequence[bytes], int], Decoded],
    first: int = 0,
) -> Decoded:
    """Decode values as a block of lines; if that is not possible, in smaller and smaller parts.

    So a few unusual values cost little. ``decode_block`` is given the values as lines and their
    number; it returns None if they cannot be decoded together, or if a value has several lines.
    ``first``: the index of the first value.
    """
    import numpy as np

    count = len(values)
    if count > SMALL:
        batch = decode_block(b"\n".join(values), count)
        if batch is not None:
            origins = np.arange(first, first + count, dtype=np.int64) if first else None
            return Decoded(batch, origins)
        step = -(-count // PARTS)
        return concatenate(
            [
                decode_in_parts(values[at : at + step], decode_block, decode_one_by_one, first + at)
                for at in range(0, count, step)
            ],
            first,
        )
    return decode_one_by_one(values, first)


def concatenate(parts: Sequence[Decoded], first: int = 0) -> Decoded:
    """Return the rows of consecutive parts; the first begins with the value ``first``."""
    import numpy as np
    import pyarrow as pa

    if len(parts) == 1:
        return parts[0]
    batches = pa.Table.from_batches([part.batch for part in parts]).combine_chunks().to_batches()
    origins = [
        np.arange(part.batch.num_rows, dtype=np.int64) if part.origins is None else part.origins
        for part in parts
    ]
    kinds = None
    if any(part.kinds is not None for part in parts):
        kinds = np.concatenate(
            [
                np.zeros(part.batch.num_rows, np.int8) if part.kinds is None else part.kinds
                for part in parts
            ]
        )
    batch = batches[0] if batches else parts[0].batch
    bad = [each for part in parts for each in part.bad]
    return Decoded(batch, np.concatenate(origins), kinds, bad, sum(each.skipped for each in parts))
