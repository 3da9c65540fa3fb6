"""Aggregates over arrays: the same states and results as row by row, for all rows of a block.

The state of such an aggregate is a few numbers for each key: its *parts*. What a row contributes to
a part is a number; contributions are added up, or the least or greatest is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from headrace.operators.aggregates.kernels import accumulate_by_key, runs_of_keys
from headrace.operators.columns.accumulator import Accumulator, Aggregated
from headrace.operators.columns.parts import COUNT, AccumulatorPart, ArgumentPart

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_MERGES = {"min": "minimum", "max": "maximum"}
"""The numpy function that merges two parts; all other kinds are added."""


class VectorAccumulator(Accumulator, Protocol):
    """An ``Accumulator`` whose states are parts."""

    @property
    def parts(self) -> tuple[AccumulatorPart, ...]:
        """The parts of a state; none: such values are added row by row."""

    def load(self, states: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """Return the numbers of many states, for each part; None: what changes nothing."""

    def store(self, parts: Sequence[list[Any]]) -> Iterable[Any]:
        """Return the states of numbers, for each part."""

    def results(self, parts: Sequence[Array]) -> Any:
        """Return the results of many states as an Arrow array, from an array for each part."""


@dataclass(frozen=True)
class FloatExtreme:
    """The indices of a minimum or maximum of floats and of its count, and what represents NaN."""

    value: int
    count: int
    of_nan: int

    def are_nan(self, parts: Sequence[Array]) -> Array:
        """Return which keys, or rows, have NaN."""
        found: Array = (parts[self.count] > 0) & (parts[self.value] == self.of_nan)
        return found


@dataclass(frozen=True)
class VectorAggregates:
    """The aggregates of an operator, if all of them have parts of numbers.

    Part 0 counts the rows of a key; then come the parts of each aggregate. Aggregates share equal
    parts: ``places`` says for each of them where its parts are.
    """

    aggregates: tuple[Aggregated, ...]
    parts: tuple[ArgumentPart, ...]
    places: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, aggregates: Sequence[Aggregated], schema: Any, retracts: bool) -> Self | None:
        """Return them; None if some must be computed row by row.

        Retractions need sums of integers: a sum of floats would keep a rounding error.
        """
        import pyarrow as pa

        parts = {ArgumentPart(COUNT, None, None, is_float=False): 0}
        places = []
        for each in aggregates:
            kinds: tuple[AccumulatorPart, ...] = getattr(each.accumulator, "parts", ())
            types = [schema.field(name).type for name in each.arguments]
            if not kinds or len(types) > 1:
                return None
            is_float = bool(types) and pa.types.is_floating(types[0])
            argument = each.arguments[0] if types else None
            own = [ArgumentPart(kind, argument, each.filter, is_float) for kind in kinds]
            if retracts and any(part.sums_floats or part.kind in _MERGES for part in own):
                return None
            places.append(tuple([parts.setdefault(part, len(parts)) for part in own]))
        return cls(tuple(aggregates), tuple(parts), tuple(places))

    @property
    def _accumulators(self) -> Iterable[VectorAccumulator]:
        return (cast(VectorAccumulator, each.accumulator) for each in self.aggregates)

    def contributions(self, batch: Any, minus: Array | None) -> list[Array]:
        """Return what each row contributes to each part; ``minus``: retracted rows."""
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
            found.append(part.contribution(batch, sign, mask))
        return found

    def zeros(self, keys: int) -> list[Array]:
        """Return the parts of keys without rows."""
        import numpy as np

        made = []
        for part in self.parts:
            kind: Any = np.float64 if part.sums_floats else np.int64
            made.append(np.full(keys, part.neutral, kind))
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
        for each, where, kept in zip(self._accumulators, self.places, columns, strict=True):
            numbers = each.load(kept)
            for place, values in zip(where, numbers, strict=True):
                neutral = self.parts[place].neutral
                if None in values:
                    values = [neutral if value is None else value for value in values]
                parts[place][places] = values
        return parts

    def store(self, parts: Sequence[Array]) -> list[list[Any] | None]:
        """Return states, as ``load`` takes them; None for keys without rows."""
        columns: list[Iterable[Any]] = [parts[0].tolist()]
        for each, where in zip(self._accumulators, self.places, strict=True):
            numbers = [parts[place].tolist() for place in where]
            columns.append(each.store(numbers))
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
            np.ascontiguousarray(block[:, place]).view(np.float64 if part.sums_floats else np.int64)
            for place, part in enumerate(self.parts)
        ]

    def results(self, parts: Sequence[Array]) -> list[Any]:
        """Return the results as Arrow arrays, one for each aggregate."""
        return [
            each.results([parts[place] for place in where])
            for each, where in zip(self._accumulators, self.places, strict=True)
        ]

    def merged(self, one: Sequence[Array], other: Sequence[Array]) -> list[Array]:
        """Return the parts of keys from those of two sets of their rows."""
        import numpy as np

        with np.errstate(all="ignore"):
            merged = [
                getattr(np, _MERGES.get(part.kind, "add"))(left, right)
                for part, left, right in zip(self.parts, one, other, strict=True)
            ]
        for each in self.float_extremes:
            merged[each.value][each.are_nan(one)] = each.of_nan
        return merged

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
                elif part.sums_floats:
                    np.add.at(after, codes, values)
                else:
                    after += _integer_sums(codes, values, len(after))
            totals.append(after)
        for extreme, is_nan in self._nan_keys(codes, contributions, initial):
            totals[extreme.value][is_nan] = extreme.of_nan
        return totals

    @cached_property
    def float_extremes(self) -> list[FloatExtreme]:
        """Where each minimum or maximum of floats is."""
        return [
            FloatExtreme(place, self.parts.index(replace(part, part=COUNT)), part.neutral)
            for place, part in enumerate(self.parts)
            if part.is_float and part.kind in _MERGES
        ]

    def _nan_keys(
        self, codes: Array, contributions: Sequence[Array], initial: Sequence[Array]
    ) -> Iterable[tuple[FloatExtreme, Array]]:
        """Yield, for each minimum or maximum of floats, which keys have NaN.

        As in Flink, no value is less or greater than NaN. So NaN is ignored, but stays if it is the
        first value of its key.
        """
        import numpy as np

        for each in self.float_extremes:
            is_nan, was_nan = each.are_nan(contributions), each.are_nan(initial)
            if not is_nan.any():
                if was_nan.any():
                    yield each, was_nan
                continue
            rows = np.flatnonzero(contributions[each.count] > 0)[::-1]
            first_is_nan = np.zeros(len(was_nan), bool)
            first_is_nan[codes[rows]] = is_nan[rows]  # the last assignment to an index wins
            yield each, was_nan | (first_is_nan & (initial[each.count] <= 0))

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
            if part.sums_floats or part.kind in _MERGES:
                found = _accumulated(part, of_key, starts, counts, before[by_key[starts]])
            else:
                total = np.cumsum(of_key)  # may wrap around; differences are correct all the same
                found = total - np.repeat(total[starts] - of_key[starts], counts)
                found += before[by_key]
            placed = np.empty_like(found)
            placed[order] = found
            after.append(placed)
        for extreme, is_nan in self._nan_keys(codes, contributions, initial):
            after[extreme.value][is_nan[codes]] = extreme.of_nan
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


def _integer_sums(codes: Array, values: Array, keys: int) -> Array:
    """Return the sums by key, wrapped to 64 bits."""
    import numpy as np

    sums = np.zeros(keys, np.int64)
    np.add.at(sums, codes, values)
    return sums


def _accumulated(
    part: ArgumentPart, of_key: Array, starts: Array, counts: Array, initial: Array
) -> Array:
    """Return the values of each key merged one by one, starting from its first state."""
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
