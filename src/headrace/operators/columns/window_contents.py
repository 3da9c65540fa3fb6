"""What windows are computed from: what is kept of the rows of each slice, by key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from headrace.common._types.data import type_data
from headrace.operators.columns.accumulator import Aggregated
from headrace.operators.columns.window_slices import SlicedWindows
from headrace.operators.windows.aligned.tables import PANE
from headrace.runtime.keys.serialized_key import user_key
from headrace.runtime.state.backend import MISSING, KeyedTable, StateBackend
from headrace.runtime.state.kinds import RESERVED_NAMES, VALUE, StateKind

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

    Array = np.ndarray[Any, Any]

SLOT = RESERVED_NAMES + "window-aggregates"
"""The state of a key in a slice: the number of its rows, and the state of each accumulator."""

_KIND = StateKind(VALUE, type_data("PICKLED_BYTE_ARRAY"))


Border = Literal["start", "end", "time"]
"""Which value of the window a column has; the time is its last millisecond."""


@dataclass(frozen=True)
class WindowShape:
    """``result``: the Arrow schema of keys, results of the aggregates, and borders."""

    keys: tuple[str, ...]
    windows: SlicedWindows
    aggregates: tuple[Aggregated, ...]
    result: Any


class WindowResults(NamedTuple):
    """Results of windows, by their ends. ``keys``, ``results``: Arrow arrays, one for each."""

    keys: Sequence[Any]
    results: Sequence[Any]
    ends: Array


class SliceValues:
    """The states of a slice by key."""

    __slots__ = ("_changed", "_values")

    def __init__(self, table: KeyedTable) -> None:
        values = table.single_slot_view(SLOT)
        assert values is not None, "a table has one slot"
        self._values, self._changed = values, table.changed

    def get(self, key: Any) -> list[Any] | None:
        """Return the state of a key, which may be changed; None: it has none."""
        found = self._values[key]
        return None if found is MISSING else found

    def get_all(self, keys: Iterable[Any]) -> list[Any]:
        """Return the states of keys; None for a key without state."""
        values, missing = self._values, MISSING
        found = [values[key] for key in keys]
        return [None if each is missing else each for each in found]

    def put(self, key: Any, state: list[Any] | None) -> None:
        """Store a state; None: the key has no rows any more."""
        self.put_all((key,), (state,))

    def put_all(self, keys: Iterable[Any], states: Iterable[Any]) -> None:
        """Store the states of keys."""
        values, changed = self._values, self._changed
        for key, state in zip(keys, states, strict=True):
            if state is not None:
                values[key] = state
            elif values[key] is not MISSING:
                values.drop(key)
            else:
                continue
            changed(key)


class SliceTables:
    """The tables of a state backend: one for each slice."""

    def __init__(self) -> None:
        self._backend: StateBackend | None = None

    def attach(self, backend: StateBackend) -> None:
        """Use the tables of a state backend."""
        if backend is not self._backend:
            self._backend, self._tables = backend, backend.tables
            self._tables.declare(SLOT, _KIND)

    def starts(self) -> list[int]:
        """Return the starts of the slices that have a table, in no order."""
        return [start for _, start in self._tables.namespaces()]

    def values(self, start: int) -> SliceValues:
        """Return the states of a slice."""
        return SliceValues(self._tables.table((PANE, start)))

    def items(self, start: int) -> Iterable[tuple[Any, Any]]:
        """Return each key of a slice with its state."""
        return self._tables.table((PANE, start)).single_slot_items(SLOT)

    def drop(self, starts: Collection[int]) -> None:
        """Remove slices, those that have a table."""
        for start in {*self.starts()}.intersection(starts):
            self._tables.drop((PANE, start))


class WindowContents(ABC):
    """What is kept of the rows of each slice, by key."""

    def __init__(self, shape: WindowShape) -> None:
        self.shape = shape
        self.tables = SliceTables()

    @property
    def holds(self) -> bool:
        """Whether something is not in the tables."""
        return False

    @abstractmethod
    def add(
        self, columns: Columns, slices: Array, minus: Array | None, keys: tuple[Any, Any] | None
    ) -> None:
        """Add rows to their slices; ``minus``: retracted rows; ``keys``: their codes and the
        distinct ones."""

    @abstractmethod
    def windows(self, ends: Sequence[int]) -> Iterator[WindowResults]:
        """Yield the results of windows that are due, in order of their ends."""

    @abstractmethod
    def write(self) -> None:
        """Write what is buffered to the tables."""

    def drop(self, starts: Collection[int]) -> None:
        """Remove slices that no later window has."""
        self.tables.drop(starts)

    @abstractmethod
    def forget(self) -> None:
        """Clear what a failed task run has left."""

    def slices_by_window(
        self, ends: Sequence[int], starts: Collection[int]
    ) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield the end of each window, with those of its slices that are among ``starts``."""
        there = sorted(starts)
        for end in ends:
            first = bisect_left(there, self.shape.windows.first_slice(end))
            yield end, there[first : bisect_left(there, end)]


def key_arrays(keys: Sequence[Any], count: int, schema: Any) -> list[Any]:
    """Return keys as Arrow arrays, with the types of the first ``count`` fields."""
    import pyarrow as pa

    found = [*map(user_key, keys)]
    columns = [found] if count == 1 else [*zip(*found, strict=True)] or [()] * count
    fields = [*schema][:count]
    return [pa.array(each, field.type) for each, field in zip(columns, fields, strict=True)]


def border_arrays(
    borders: Sequence[Border], starts: Array, ends: Array, times: Array, fields: Sequence[Any]
) -> list[Any]:
    """Return the columns of borders, from starts, ends and last moments (ms)."""
    import pyarrow as pa

    found = {"start": starts, "end": ends, "time": times}
    return [
        pa.array(found[border]).cast(pa.timestamp("ms", field.type.tz)).cast(field.type)
        for border, field in zip(borders, fields, strict=True)
    ]
