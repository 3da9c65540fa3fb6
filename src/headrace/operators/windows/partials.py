"""Partial results of windows as columns: made of records, put together, and turned into results.

A batch of partial results has the key columns under their names, then ``PANE``, a column for each
slot, and ``COUNT``, the number of records. Read as rows it is what the combiner of rows sends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.operators.field_fold import has_negative_zero, is_ordered
from headrace.operators.slots import COUNT, SUM, Slot
from headrace.operators.windows.combined import Combined
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.keys import equal_alike
from headrace.runtime.columns.shapes import NAMED_ROWS, Dicts, NamedRows, Shape, python_values

if TYPE_CHECKING:
    import numpy as np

PANE = "__headrace_pane"
COUNT_COLUMN = "__headrace_count"
_SLOT = "__headrace_slot_"
MOST = (1 << 63) - 1
_FAR = 1 << 62
"""Timestamps beyond this could not be divided into panes within 64 bits."""


class CombinedRows(ABC):
    """Makes a ``Combined`` of one key for each partial result."""

    def __call__(self, batch: Any) -> list[Any]:
        """The records of a batch."""
        rows = self.held(batch)
        return [Combined(key, pane, count, (held,)) for key, pane, held, count in rows]

    @abstractmethod
    def held(self, batch: Any) -> Iterator[tuple[Any, int, Any, int]]:
        """Key, pane, what is held, and the number of records, for each partial result."""


@dataclass(frozen=True)
class PartialRows(CombinedRows):
    """Those that hold accumulators. ``keys``: the number of key columns."""

    keys: int

    def held(self, batch: Any) -> Iterator[tuple[Any, int, Any, int]]:
        columns = [*map(python_values, batch.columns)]
        keys: Any = columns[0] if self.keys == 1 else zip(*columns[: self.keys], strict=True)
        panes, *slots, counts = columns[self.keys :]
        return zip(keys, panes, zip(*slots, strict=True), counts, strict=True)


@dataclass(frozen=True)
class Partials:
    """Makes and merges partial results of one window operator.

    ``slots``: what an accumulator holds. ``keys``: the key columns.
    """

    slots: tuple[Slot, ...]
    keys: tuple[str, ...]
    pane_ms: int
    offset_ms: int

    @property
    def shape(self) -> Any:
        """How partial results read as rows."""
        return PartialRows(len(self.keys))

    def taken(self, columns: Columns) -> Taken | None:
        """What is needed of records; None where the records themselves must be looked at.

        Such are records without a timestamp, and columns of types that Arrow and Python could treat
        differently: keys that are not ``equal_alike``, decimals, and integers whose sum would not
        fit 64 bits.
        """
        panes = self.panes(columns)
        keys = [key_of(columns.batch, name) for name in self.keys]
        if panes is None or any(key is None for key in keys):
            return None
        arrays, reach = [], 0
        for slot in self.slots:
            found = (panes, 0) if slot.field is None else input_of(columns, slot)
            if found is None:
                return None
            arrays.append(found[0])
            reach = max(reach, found[1])
        return Taken([*keys, panes, *arrays], columns, reach)

    def panes(self, columns: Columns) -> Any | None:
        """Where the pane of each record starts; None where the records must be looked at."""
        import pyarrow as pa
        import pyarrow.compute as pc

        times = columns.times
        if times is None or times.null_count or not len(columns):
            return None
        if columns.kinds is not None or type(columns.shape) not in (Dicts, NamedRows):
            return None
        ends = pc.min_max(times)
        if ends["min"].as_py() < -_FAR or ends["max"].as_py() > _FAR:
            return None
        found = times.to_numpy()
        return pa.array(found - (found - self.offset_ms) % self.pane_ms)

    @property
    def pane_at(self) -> int:
        """Which array or column has the panes."""
        return len(self.keys)

    def made(self, taken: Sequence[Taken]) -> Any:
        """The partial results of records: one for each key and pane, as a record batch."""
        import pyarrow as pa

        names = self._names[:-1]
        batches = [pa.RecordBatch.from_arrays(each.arrays, names=names) for each in taken]
        wanted = [
            ([], "count_all") if slot.field is None else (name, slot.how)
            for name, slot in zip(self._slot_names, self.slots, strict=True)
        ]
        return self._grouped(pa.Table.from_batches(batches), [*wanted, ([], "count_all")])

    def merged(self, batches: Sequence[Any]) -> Any | None:
        """One partial result for each key and pane; None where a sum might not fit 64 bits."""
        import pyarrow as pa

        table = pa.Table.from_batches(batches)
        for name, slot in zip(self._slot_names, self.slots, strict=True):
            if slot.how == SUM and reach_of(table.column(name)) * table.num_rows > MOST:
                return None
        wanted = [
            (name, SUM if slot.how == COUNT else slot.how)
            for name, slot in zip(self._slot_names, self.slots, strict=True)
        ]
        return self._grouped(table, [*wanted, (COUNT_COLUMN, "sum")])

    def _grouped(self, table: Any, wanted: list[Any]) -> Any:
        import pyarrow as pa

        names = [PANE, *self.keys]
        found = table.group_by(names, use_threads=False).aggregate(wanted)
        found = found.combine_chunks()
        columns = [column.chunk(0) if column.num_chunks else None for column in found.columns]
        # The keys stand last or first, as the version of Arrow has it; the others in their order.
        at = {name: found.schema.get_field_index(name) for name in names}
        others = [place for place in range(found.num_columns) if place not in at.values()]
        order = [*(at[name] for name in self.keys), at[PANE], *others]
        return pa.RecordBatch.from_arrays([columns[i] for i in order], names=self._names)

    @property
    def _slot_names(self) -> list[str]:
        return [f"{_SLOT}{number}" for number in range(len(self.slots))]

    @property
    def _names(self) -> list[str]:
        return [*self.keys, PANE, *self._slot_names, COUNT_COLUMN]

    def columns(self, batch: Any) -> Columns:
        """Partial results as they are sent: each has the timestamp of the last moment."""
        import pyarrow.compute as pc

        times = pc.add(batch.column(PANE), self.pane_ms - 1)
        return Columns(batch, self.shape, times)

    def held(self, batch: Any) -> list[Any]:
        """Triples of key, pane and accumulator, for each partial result."""
        return [(key, pane, held) for key, pane, held, _ in self.shape.held(batch)]

    def results(self, batch: Any, function: Any) -> tuple[Any, Shape]:
        """What comes of partial results, as a record batch and how it reads as rows."""
        found = [batch.column(name) for name in self._slot_names]
        return function.result_columns(found), NAMED_ROWS


class Taken:
    """Keys, panes and fields of records, and the records themselves.

    ``reach``: no sum of their integers is further from 0 than that.
    """

    __slots__ = ("arrays", "columns", "kinds", "reach")

    def __init__(self, arrays: list[Any], columns: Columns, reach: int) -> None:
        self.arrays, self.columns, self.reach = arrays, columns, reach
        self.kinds = [array.type for array in arrays]

    def panes(self, partials: Partials) -> np.ndarray[Any, Any]:
        """Where the pane of each record starts."""
        found: np.ndarray[Any, Any] = self.arrays[partials.pane_at].to_numpy()
        return found

    def __len__(self) -> int:
        return len(self.columns)

    def is_like(self, other: Taken) -> bool:
        """Whether records of both can be put together."""
        return self.kinds == other.kinds

    def where(self, wanted: np.ndarray[Any, Any]) -> Taken:
        """The records at some places (an array of bool)."""
        import numpy as np
        import pyarrow as pa

        places = np.flatnonzero(wanted)
        indices = pa.array(places)
        arrays = [array.take(indices) for array in self.arrays]
        return Taken(arrays, self.columns.take(places), self.reach)


def key_of(batch: Any, name: str) -> Any | None:
    """A key column whose values Arrow and Python hold for equal alike; None for any other."""
    from pyarrow import types

    at = batch.schema.get_field_index(name)
    if at < 0:
        return None
    column = batch.column(at)
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column if equal_alike(column.type) else None


def input_of(columns: Columns, slot: Slot) -> tuple[Any, int] | None:
    """The column that a slot is made of, and how far from 0 a sum of it may be."""
    import pyarrow as pa
    from pyarrow import types

    name = name_of(columns, slot.field)
    if name is None:
        return None
    column = columns.batch.column(name)
    kind = column.type
    if types.is_integer(kind) and not types.is_uint64(kind):
        column = column.cast(pa.int64())
        reach = reach_of(column) * len(column) if slot.how == SUM else 0
        return (column, reach) if reach <= MOST else None
    if types.is_float64(kind) or types.is_float32(kind):
        return _floats(column.cast(pa.float64()), slot)
    if slot.how == COUNT:
        return column, 0
    ordered = types.is_string(kind) or types.is_date32(kind) or types.is_timestamp(kind)
    return (column, 0) if slot.how != SUM and ordered else None


def name_of(columns: Columns, field: str | int | None) -> str | None:
    """The column that has a field of the records; None where none has."""
    names = columns.batch.schema.names
    if isinstance(field, int):
        return (
            names[field] if type(columns.shape) is NamedRows and 0 <= field < len(names) else None
        )
    return field if field in names else None


def _floats(column: Any, slot: Slot) -> tuple[Any, int] | None:
    if slot.how == COUNT:
        return column, 0
    values = column.drop_null().to_numpy()
    # Arrow leaves NaN out of extremes, takes either zero for the least, and adds up from 0.0.
    fits = not has_negative_zero(values) if slot.how == SUM else is_ordered(values)
    return (column, 0) if fits else None


def reach_of(column: Any) -> int:
    """The largest distance of an integer from 0; 0 for other types."""
    import pyarrow.compute as pc
    from pyarrow import types

    if not types.is_integer(column.type):
        return 0
    ends = pc.min_max(column)
    least, greatest = (int(ends[name].as_py() or 0) for name in ("min", "max"))
    return max(abs(least), abs(greatest))
