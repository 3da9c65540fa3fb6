"""Aggregates over arrays: the same states and results as row by row, for all rows of a block.

The state of such an aggregate is a few numbers for each key: its *parts*. What a row contributes to
a part is a number; contributions are added up, or the least or greatest is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from headrace.operators.aggregates.kernels import accumulate_by_key, runs_of_keys
from headrace.operators.columns.accumulator import Accumulator, Aggregated

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

Part = Literal["count", "sum", "min", "max"]
"""What a part is: of the rows, or of an argument's values that are not NULL."""

PARTIAL = "$part"
"""Begins the names of the columns of partial results."""

_MERGES = {"count": "add", "sum": "add", "min": "minimum", "max": "maximum"}
"""The function of numpy that puts two parts together."""

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1


class VectorAccumulator(Accumulator, Protocol):
    """An ``Accumulator`` whose states are parts."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of a state; none: such values are added row by row."""

    def load(self, states: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """Return the numbers of many states, for each part; None: what changes nothing."""

    def store(self, parts: Sequence[list[Any]]) -> Iterable[Any]:
        """Return the states of numbers, for each part."""

    def results(self, parts: Sequence[Array]) -> Any:
        """Return the results of many states as an Arrow array, from an array for each part."""


@dataclass(frozen=True)
class _PartOf:
    kind: Part
    argument: str | None
    filter: str | None
    is_float: bool


@dataclass(frozen=True)
class VectorAggregates:
    """The aggregates of an operator, if all of them have parts of numbers.

    Part 0 counts the rows of a key; then come the parts of each aggregate. Aggregates share equal
    parts: ``places`` says for each of them where its parts are.
    """

    aggregates: tuple[Aggregated, ...]
    parts: tuple[_PartOf, ...]
    places: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, aggregates: Sequence[Aggregated], schema: Any, retracts: bool) -> Self | None:
        """Return them; None if some must be computed row by row.

        What is taken back must be a sum of integers: a sum of floats would keep a rest.
        """
        import pyarrow as pa

        parts = {_PartOf("count", None, None, False): 0}
        places = []
        for each in aggregates:
            kinds = getattr(each.accumulator, "parts", ())
            types = [schema.field(name).type for name in each.arguments]
            if not kinds or len(types) > 1:
                return None
            is_float = bool(types) and pa.types.is_float64(types[0])
            numbers = not types or is_float or pa.types.is_integer(types[0])
            if not numbers and kinds != ("count",):
                return None
            if retracts and (is_float or not {*kinds} <= {"count", "sum"}):
                return None
            argument = each.arguments[0] if types else None
            own = [
                _PartOf(kind, argument, each.filter, is_float and kind in ("sum", "min", "max"))
                for kind in kinds
            ]
            places.append(tuple([parts.setdefault(part, len(parts)) for part in own]))
        return cls(tuple(aggregates), tuple(parts), tuple(places))

    def contributions(self, batch: Any, minus: Array | None) -> list[Array]:
        """Return what each row contributes to each part; ``minus``: rows that are taken back."""
        import numpy as np

        count = batch.num_rows
        sign = np.ones(count, np.int64)
        if minus is not None:
            sign[minus] = -1
        found: list[Array] = []
        masks: dict[tuple[str | None, str | None], Array | None] = {}
        for part in self.parts:
            where = (part.argument, part.filter)
            if where not in masks:
                masks[where] = _mask(batch, *where)
            mask = masks[where]
            found.append(_contribution(part, batch, sign, mask))
        return found

    def partial_schema(self, schema: Any, keys: Sequence[str]) -> Any:
        """Return the fields of partial results: the keys, and a number for each part."""
        import pyarrow as pa

        kinds = [pa.float64() if part.is_float else pa.int64() for part in self.parts]
        numbers = [pa.field(f"{PARTIAL}{place}", kind) for place, kind in enumerate(kinds)]
        return pa.schema([*(schema.field(key) for key in keys), *numbers])

    def of_partials(self, batch: Any) -> list[Array]:
        """Return what partial results contribute to each part."""
        return [batch.column(f"{PARTIAL}{place}").to_numpy() for place in range(len(self.parts))]

    def combined(self, batch: Any, keys: Sequence[str], minus: Array | None) -> Any:
        """Return the partial results of the rows of a batch, ungrouped: one for each row."""
        import pyarrow as pa

        arrays = [batch.column(key) for key in keys]
        arrays += [pa.array(each) for each in self.contributions(batch, minus)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.partial_schema(batch.schema, keys))

    def grouped(self, partials: Any, keys: Sequence[str]) -> Any:
        """Return partial results (an Arrow table) put together by key, in the order of the keys'
        first rows."""
        import pyarrow as pa

        if not partials.num_rows:
            return pa.RecordBatch.from_pylist([], schema=partials.schema)
        if len(keys) == 1:
            return self._grouped_by_one(partials, keys[0])
        functions = {"min": "min", "max": "max"}
        asked = [
            (f"{PARTIAL}{place}", functions.get(part.kind, "sum"))
            for place, part in enumerate(self.parts)
        ]
        found = partials.group_by([*keys], use_threads=False).aggregate(asked)
        names = [*keys, *(f"{name}_{function}" for name, function in asked)]
        table = found.select(names).rename_columns(partials.schema.names).combine_chunks()
        (batch,) = table.to_batches()
        return batch

    def _grouped_by_one(self, partials: Any, key: str) -> Any:
        """Return partial results put together by one column: half the time of ``group_by``."""
        import pyarrow as pa

        (batch,) = partials.combine_chunks().to_batches()
        found = batch.column(key).dictionary_encode(null_encoding="encode")
        codes, distinct = found.indices.to_numpy(), found.dictionary
        totals = self.totals(codes, self.of_partials(batch), self.zeros(len(distinct)))
        arrays = [distinct, *map(pa.array, totals)]
        return pa.RecordBatch.from_arrays(arrays, schema=partials.schema)

    def zeros(self, keys: int) -> list[Array]:
        """Return the parts of keys without rows."""
        import numpy as np

        made = []
        for part in self.parts:
            kind: Any = np.float64 if part.is_float else np.int64
            made.append(np.full(keys, _neutral(part), kind))
        return made

    def load(self, states: Sequence[list[Any] | None]) -> list[Array]:
        """Return the parts of stored states, which the row by row way has, too."""
        import numpy as np

        parts = self.zeros(len(states))
        known = [state for state in states if state is not None]
        if not known:
            return parts
        places = (
            slice(None)
            if len(known) == len(states)
            else np.array([place for place, state in enumerate(states) if state is not None])
        )
        rows, *columns = zip(*known, strict=True)
        parts[0][places] = rows
        for each, where, kept in zip(self.aggregates, self.places, columns, strict=True):
            numbers = each.accumulator.load(kept)  # type: ignore[attr-defined]
            for place, values in zip(where, numbers, strict=True):
                neutral = _neutral(self.parts[place])
                if None in values:
                    values = [neutral if value is None else value for value in values]
                parts[place][places] = values
        return parts

    def store(self, parts: Sequence[Array]) -> list[list[Any] | None]:
        """Return states, as ``load`` takes them; None for keys without rows."""
        columns: list[Iterable[Any]] = [parts[0].tolist()]
        for each, where in zip(self.aggregates, self.places, strict=True):
            numbers = [parts[place].tolist() for place in where]
            columns.append(each.accumulator.store(numbers))  # type: ignore[attr-defined]
        states = zip(*columns, strict=True)
        return [list(state) if state[0] > 0 else None for state in states]

    def packed(self, parts: Sequence[Array]) -> list[bytes]:
        """Return the parts of each key as bytes: eight for each part."""
        import numpy as np

        block = np.empty((len(parts[0]), len(parts)), "<i8")
        for place, array in enumerate(parts):
            block[:, place] = array.view(np.int64)
        found: list[bytes] = block.view(f"V{8 * len(parts)}").ravel().tolist()
        return found

    def unpacked(self, packed: Sequence[bytes]) -> list[Array]:
        """Return the parts of keys from what ``packed`` made of them."""
        import numpy as np

        block = np.frombuffer(b"".join(packed), "<i8").reshape(len(packed), len(self.parts))
        return [
            np.ascontiguousarray(block[:, place]).view(np.float64 if part.is_float else np.int64)
            for place, part in enumerate(self.parts)
        ]

    def results(self, parts: Sequence[Array]) -> list[Any]:
        """Return the results as Arrow arrays, one for each aggregate."""
        return [
            each.accumulator.results([parts[place] for place in where])  # type: ignore[attr-defined]
            for each, where in zip(self.aggregates, self.places, strict=True)
        ]

    def merged(self, one: Sequence[Array], other: Sequence[Array]) -> list[Array]:
        """Return the parts of keys from those of two sets of their rows."""
        import numpy as np

        with np.errstate(all="ignore"):
            return [
                getattr(np, _MERGES[part.kind])(left, right)
                for part, left, right in zip(self.parts, one, other, strict=True)
            ]

    def totals(
        self, codes: Array, contributions: Sequence[Array], initial: Sequence[Array]
    ) -> list[Array]:
        """Return the parts of each key after all rows."""
        import numpy as np

        totals = []
        for part, values, before in zip(self.parts, contributions, initial, strict=True):
            after = before.copy()
            with np.errstate(all="ignore"):
                if part.kind == "min":
                    np.minimum.at(after, codes, values)
                elif part.kind == "max":
                    np.maximum.at(after, codes, values)
                elif part.is_float:
                    np.add.at(after, codes, values)
                else:
                    after += _integer_sums(codes, values, len(after))
            totals.append(after)
        return totals

    def running(
        self, codes: Array, contributions: Sequence[Array], initial: Sequence[Array]
    ) -> tuple[list[Array], Array]:
        """Return the parts after each row, and for each row where the state before it is.

        The places count the keys' first states (``initial``), then the states after each row.
        """
        import numpy as np

        count = len(codes)
        order, _, starts, counts = runs_of_keys(codes)
        by_key = codes[order]
        after = []
        for part, values, before in zip(self.parts, contributions, initial, strict=True):
            of_key = values[order]
            if part.is_float or part.kind in ("min", "max"):
                found = _accumulated(part, of_key, starts, counts, before[by_key[starts]])
            else:
                total = np.cumsum(of_key)  # may wrap around; differences are correct all the same
                found = total - np.repeat(total[starts] - of_key[starts], counts)
                found += before[by_key]
            placed = np.empty_like(found)
            placed[order] = found
            after.append(placed)
        previous = np.empty(count, np.int64)
        shifted = np.empty(count, np.int64)
        shifted[1:] = order[:-1] + len(initial[0])
        shifted[starts] = by_key[starts]
        previous[order] = shifted
        return after, previous


def _mask(batch: Any, argument: str | None, filter: str | None) -> Array | None:
    """Return which rows count; None: all."""
    import numpy as np
    import pyarrow.compute as pc

    mask = None
    if argument is not None:
        column = batch.column(argument)
        if column.null_count:
            mask = np.asarray(column.is_valid())
    if filter is not None:
        kept = np.asarray(pc.fill_null(batch.column(filter), fill_value=False))
        mask = kept if mask is None else mask & kept
    return mask


def _contribution(part: _PartOf, batch: Any, sign: Array, mask: Array | None) -> Array:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if part.kind == "count":
        return sign if mask is None else np.where(mask, sign, 0)
    column = batch.column(part.argument)
    if column.null_count:
        column = pc.fill_null(column, 0)
    wide: Any = np.float64 if part.is_float else np.int64
    values = column.cast(pa.from_numpy_dtype(np.dtype(wide))).to_numpy(zero_copy_only=False)
    if part.kind == "sum":
        values = values if part.is_float else values * sign
    found: Array = values if mask is None else np.where(mask, values, _neutral(part))
    return found


def _neutral(part: _PartOf) -> Any:
    """Return the contribution that changes nothing."""
    if part.kind == "min":
        return float("inf") if part.is_float else _GREATEST
    if part.kind == "max":
        return float("-inf") if part.is_float else _LEAST
    return 0


def _integer_sums(codes: Array, values: Array, keys: int) -> Array:
    """Return the sums by key, wrapped to 64 bits."""
    import numpy as np

    sums = np.zeros(keys, np.int64)
    np.add.at(sums, codes, values)
    return sums


def _accumulated(
    part: _PartOf, of_key: Array, starts: Array, counts: Array, initial: Array
) -> Array:
    """Return the values of each key put together one after another, from its first state on."""
    import numpy as np

    found = of_key.copy()
    with np.errstate(all="ignore"):
        match part.kind:
            case "min":
                found[starts] = np.minimum(initial, found[starts])
                accumulate_by_key("min", found, starts, counts)
            case "max":
                found[starts] = np.maximum(initial, found[starts])
                accumulate_by_key("max", found, starts, counts)
            case _:
                found[starts] = initial + found[starts]
                accumulate_by_key("sum", found, starts, counts)
    return found
