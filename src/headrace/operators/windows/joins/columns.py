"""Window joins over columns: buffered rows by pane, and pairs of rows with equal keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.runtime.columns.batch import Columns, concatenate_columns

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, Any]


class BufferedSide(NamedTuple):
    """Rows of one input whose windows have not ended, sorted by pane.

    ``keys``: the key columns. ``rows``: indices of rows in ``columns``. ``panes``: the start of
    each row's window (ms).
    """

    columns: Columns
    keys: tuple[str, ...]
    rows: Numbers
    panes: Numbers

    @classmethod
    def of(cls, columns: Columns, keys: tuple[str, ...], panes: Numbers) -> BufferedSide:
        """Return all rows of some columns."""
        order = panes.argsort(kind="stable")
        return cls(columns, keys, order, panes[order])

    def slice(self, start: int, stop: int) -> BufferedSide:
        """Return the rows from index ``start`` up to ``stop``."""
        return self._replace(rows=self.rows[start:stop], panes=self.panes[start:stop])

    def take(self, indices: Numbers) -> BufferedSide:
        """Return the rows at some indices."""
        return self._replace(rows=self.rows[indices], panes=self.panes[indices])

    def count_before(self, pane: int) -> int:
        """Return the number of rows whose window starts before ``pane``."""
        return int(self.panes.searchsorted(pane, "left"))

    def is_like(self, other: BufferedSide) -> bool:
        """Return whether the columns of both can be concatenated."""
        return self.keys == other.keys and self.columns.is_like(other.columns)


def concat_sides(sides: Sequence[BufferedSide]) -> BufferedSide | None:
    """Concatenate buffered rows; None if there are none."""
    if not sides:
        return None
    first, *others = sides
    if not others:
        return first
    import numpy as np

    starts = np.cumsum([0, *(len(each.columns) for each in sides[:-1])])
    rows = np.concatenate([each.rows + at for each, at in zip(sides, starts, strict=True)])
    panes = np.concatenate([each.panes for each in sides])
    order = panes.argsort(kind="stable")
    columns = concatenate_columns([each.columns for each in sides])
    return BufferedSide(columns, first.keys, rows[order], panes[order])


def group_numbers(first: BufferedSide, second: BufferedSide) -> tuple[Numbers, Numbers] | None:
    """Number the rows of both sides by key and window: rows with equal numbers are joined.

    Numbers rise with the window. None if Arrow does not compare the key types as Python does.
    """
    import numpy as np

    _, windows = np.unique(np.concatenate([first.panes, second.panes]), return_inverse=True)
    codes, cut = windows, len(first.rows)
    if len(first.keys) != len(second.keys):
        return None
    for names in zip(first.keys, second.keys, strict=True):
        columns = [
            side.columns.batch.column(name).take(_to_indices(side.rows))
            for side, name in zip((first, second), names, strict=True)
        ]
        encoded_columns = _encode_keys(*columns)
        if encoded_columns is None:
            return None
        numbers, count = encoded_columns
        # Renumbered, so that products stay within 64 bits.
        _, codes = np.unique(codes * count + numbers, return_inverse=True)
    return codes[:cut], codes[cut:]


def matching_pairs(
    left: Numbers, right: Numbers, batch_size: int
) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield the indices of the rows with equal numbers, about ``batch_size`` pairs at a time.

    Pairs are ordered by number, and for each number as nested loops over both sides would give
    them.
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


def _encode_keys(first: Any, second: Any) -> tuple[Numbers, int] | None:
    """Return integer codes of both columns, equal for equal values, and the number of codes."""
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
    """Return a type in which values of both types compare as in Python; None if there is none."""
    import pyarrow as pa
    from pyarrow import types

    both = (one, other)
    if all(types.is_integer(kind) and not types.is_uint64(kind) for kind in both):
        return pa.int64()
    if all(types.is_string(kind) or types.is_large_string(kind) for kind in both):
        return pa.large_string()
    return None


def _to_indices(rows: Numbers) -> Any:
    import pyarrow as pa

    return pa.array(rows)
