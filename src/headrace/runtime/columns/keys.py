"""The keys of columns: codes and distinct keys, and the key group of each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.errors import UnstableKeyError
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.exactness import compares_like_python
from headrace.runtime.columns.shapes import python_values
from headrace.runtime.keys.key_groups import MIX, KeyGroups

if TYPE_CHECKING:
    import numpy as np

_MOST_HASHED = (1 << 61) - 2
"""Python's hash of an integer up to here is the integer itself, except of -1, which is -2."""


class ColumnKeys:
    """The keys of the rows of ``Columns``: it reads as a list of keys.

    ``names``: the columns; if there are several, a key is a tuple.
    """

    def __init__(self, columns: Columns, names: tuple[str, ...]) -> None:
        self.columns, self.names = columns, names

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, where: slice) -> ColumnKeys:
        return ColumnKeys(self.columns[where], self.names)

    def __iter__(self) -> Iterator[Any]:
        return map(self.distinct.__getitem__, self.codes.tolist())

    def __reduce__(self) -> tuple[Any, ...]:
        return ColumnKeys, (self.columns, self.names)

    @property
    def codes(self) -> np.ndarray[Any, Any]:
        """For each row the number of its key among the distinct ones."""
        return self._encoded[0]

    @property
    def distinct(self) -> list[Any]:
        """The distinct keys, as a key selector returns them."""
        return self._encoded[1]

    @cached_property
    def _encoded(self) -> tuple[np.ndarray[Any, Any], list[Any]]:
        import pyarrow as pa

        batch = self.columns.batch
        codes, distinct = _encode_dictionary(batch.column(self.names[0]))
        if len(self.names) == 1:
            return codes, distinct
        keys: list[tuple[Any, ...]] = [(key,) for key in distinct]
        for name in self.names[1:]:
            others, values = _encode_dictionary(batch.column(name))
            pairs = pa.array(codes.astype("int64") * len(values) + others).dictionary_encode()
            codes = pairs.indices.to_numpy()
            found = (divmod(pair, len(values)) for pair in pairs.dictionary.to_pylist())
            keys = [(*keys[key], values[value]) for key, value in found]
        return codes, keys


def distinct_keys(batch: Any, names: Sequence[str]) -> list[Any] | None:
    """Return the keys of rows of which no two are equal in Arrow.

    None if some may be equal in Python.
    """
    columns = [batch.column(name) for name in names]
    if not all(compares_like_python(column.type) for column in columns):
        return None
    values = [python_values(column) for column in columns]
    return values[0] if len(values) == 1 else [*zip(*values, strict=True)]


def key_groups(keys: ColumnKeys, groups: KeyGroups) -> np.ndarray[Any, Any] | None:
    """Return the key group of each row, as small unsigned integers, equal to those of ``groups``.

    None if the records must be used, because a column is missing, its type cannot be a key, or
    it has a key that is refused.
    """
    import numpy as np
    import pyarrow as pa

    batch = keys.columns.batch
    if any(batch.schema.get_field_index(name) < 0 for name in keys.names):
        return None
    small = np.uint8 if groups.count <= 1 << 8 else np.uint16
    if len(keys.names) == 1:
        hashed = _hashed_integers(batch.column(keys.names[0]))
        if hashed is not None:
            return (hashed % np.uint32(groups.count)).astype(small)
    try:
        table = np.fromiter(map(groups.__getitem__, keys.distinct), small, len(keys.distinct))
    except (UnstableKeyError, TypeError, ValueError, pa.ArrowException):
        return None
    found: np.ndarray[Any, Any] = table[keys.codes]
    return found


def _hashed_integers(column: Any) -> np.ndarray[Any, Any] | None:
    """Return ``stable_hash`` of all integers; None for nulls, large numbers and other types."""
    import numpy as np
    import pyarrow as pa

    if not pa.types.is_integer(column.type) or column.null_count or not len(column):
        return None
    values = column.to_numpy()
    lowest = int(values.min())
    if lowest < -_MOST_HASHED or int(values.max()) > _MOST_HASHED:
        return None
    raw = values.astype(np.int64, copy=False)
    if lowest < 0:
        raw = np.where(raw == -1, -2, raw)
    hashed: np.ndarray[Any, Any] = raw.view(np.uint64) * np.uint64(MIX)
    return (hashed >> np.uint64(32)).astype(np.uint32)


def _encode_dictionary(column: Any) -> tuple[np.ndarray[Any, Any], list[Any]]:
    import numpy as np
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()  # of a slice it holds what other rows have, too
    found = column.dictionary_encode(null_encoding="encode")
    codes, distinct = found.indices.to_numpy(), python_values(found.dictionary)
    if compares_like_python(column.type):
        return codes, distinct
    # What differs in Arrow may be equal in Python: 0.0 and -0.0, times and dates once they are cut.
    numbers: dict[Any, int] = {}
    places = [numbers.setdefault(key, len(numbers)) for key in distinct]
    if len(numbers) == len(distinct):
        return codes, distinct
    return np.array(places, codes.dtype)[codes], [*numbers]
