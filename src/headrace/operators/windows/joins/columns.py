"""The arrays of a windowed join: columns that wait, by pane, and the pairs of equal keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.runtime.columns.batch import Columns, joined

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, Any]


class BufferedSide(NamedTuple):
    """Rows of one input whose windows have not ended.

    ``keys``: the columns of the key. ``rows``: which rows of the columns these are, in the order of
    their windows and in each as they came; ``panes``: where the window of each starts (ms).
    """

    columns: Columns
    keys: tuple[str, ...]
    rows: Numbers
    panes: Numbers

    @classmethod
    def of(cls, columns: Columns, keys: tuple[str, ...], panes: Numbers) -> BufferedSide:
        """All rows of columns, by their panes."""
        order = panes.argsort(kind="stable")
        return cls(columns, keys, order, panes[order])

    def slice(self, start: int, stop: int) -> BufferedSide:
        """The rows from one place, before another."""
        return self._replace(rows=self.rows[start:stop], panes=self.panes[start:stop])

    def take(self, places: Numbers) -> BufferedSide:
        """The rows at some places."""
        return self._replace(rows=self.rows[places], panes=self.panes[places])

    def count_before(self, pane: int) -> int:
        """How many rows are in windows that start before a moment."""
        return int(self.panes.searchsorted(pane, "left"))

    def is_like(self, other: BufferedSide) -> bool:
        """Whether rows of both can wait together."""
        return self.keys == other.keys and self.columns.is_like(other.columns)


def concat_sides(waiting: Sequence[BufferedSide]) -> BufferedSide | None:
    """All rows that wait as one; None where none do."""
    if not waiting:
        return None
    first, *others = waiting
    if not others:
        return first
    import numpy as np

    starts = np.cumsum([0, *(len(each.columns) for each in waiting[:-1])])
    rows = np.concatenate([each.rows + at for each, at in zip(waiting, starts, strict=True)])
    panes = np.concatenate([each.panes for each in waiting])
    order = panes.argsort(kind="stable")
    columns = joined([each.columns for each in waiting])
    return BufferedSide(columns, first.keys, rows[order], panes[order])


def group_numbers(first: BufferedSide, second: BufferedSide) -> tuple[Numbers, Numbers] | None:
    """For each row of both sides a number of its key and window; equal ones are joined.

    Numbers rise with the window. None where the keys of the two are of types that Arrow does not
    compare as Python does.
    """
    import numpy as np

    _, windows = np.unique(np.concatenate([first.panes, second.panes]), return_inverse=True)
    codes, cut = windows, len(first.rows)
    if len(first.keys) != len(second.keys):
        return None
    for names in zip(first.keys, second.keys, strict=True):
        columns = [
            side.columns.batch.column(name).take(_indices(side.rows))
            for side, name in zip((first, second), names, strict=True)
        ]
        found = _codes(*columns)
        if found is None:
            return None
        numbers, count = found
        # Numbered anew, so that products stay within 64 bits.
        _, codes = np.unique(codes * count + numbers, return_inverse=True)
    return codes[:cut], codes[cut:]


def matching_pairs(
    left: Numbers, right: Numbers, batch_size: int
) -> Iterator[tuple[Numbers, Numbers]]:
    """The places of the rows that have equal numbers, about ``batch_size`` pairs at a time.

    They come by rising number; of one number as nested loops would give them.
    """
    import numpy as np

    by_left, by_right = left.argsort(kind="stable"), right.argsort(kind="stable")
    ordered = right[by_right]
    begins = ordered.searchsorted(left[by_left], "left")
    counts = ordered.searchsorted(left[by_left], "right") - begins
    ends = counts.cumsum()
    start = 0
    while start < len(counts):
        before = int(ends[start - 1]) if start else 0
        stop = max(int(ends.searchsorted(before + batch_size, "right")), start + 1)
        of, total = counts[start:stop], int(ends[stop - 1]) - before
        if total:
            firsts = np.repeat(ends[start:stop] - of - before, of)
            within = np.arange(total) - firsts
            yield (
                np.repeat(by_left[start:stop], of),
                by_right[np.repeat(begins[start:stop], of) + within],
            )
        start = stop


def _codes(first: Any, second: Any) -> tuple[Numbers, int] | None:
    """Numbers of the values of two columns, one after the other, equal for equal values."""
    import pyarrow as pa
    from pyarrow import types

    plain = [
        column.dictionary_decode() if types.is_dictionary(column.type) else column
        for column in (first, second)
    ]
    kinds = [column.type for column in plain]
    if kinds[0] != kinds[1]:
        common = _common_type(*kinds)
        if common is None:
            return None
        plain = [column.cast(common) for column in plain]
    encoded = pa.concat_arrays(plain).dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(), max(len(encoded.dictionary), 1)


def _common_type(one: Any, other: Any) -> Any | None:
    """A type whose values are equal where those of two types are equal in Python."""
    import pyarrow as pa
    from pyarrow import types

    both = (one, other)
    if all(types.is_integer(kind) and not types.is_uint64(kind) for kind in both):
        return pa.int64()
    if all(types.is_string(kind) or types.is_large_string(kind) for kind in both):
        return pa.large_string()
    return None


def _indices(rows: Numbers) -> Any:
    import pyarrow as pa

    return pa.array(rows)
