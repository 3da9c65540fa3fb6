"""Counts, sums, minima, maxima and means of fields, for ``aggregate``.

If records come as columns (Parquet files, ``DataGeneratorSource.of_columns``), they are computed on
the columns, otherwise record by record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.common.types import row_of
from headrace.datastream._build.aggregations import (
    checked_field,
    field_of,
    greatest,
    has_fields,
    least,
)
from headrace.datastream.functions import AggregateFunction
from headrace.errors import PlanError
from headrace.operators.slots import COUNT, GREATEST, LEAST, SUM, Slot

Accumulator = tuple[Any, ...]

_EXACT = 1 << 53
"""Floats hold all integers up to here."""


class Aggregate(ABC):
    """One value of all records of a group; records whose field is None are left out."""

    @property
    @abstractmethod
    def slots(self) -> tuple[Slot, ...]:
        """What must be known of the records."""

    def result(self, *found: Any) -> Any:
        """The value, of what the slots came to."""
        return found[0]

    def result_column(self, *found: Any) -> Any:
        """The values, of Arrow arrays of what the slots came to."""
        return found[0]


@dataclass(frozen=True)
class _OfField(Aggregate):
    """``field``: a name, or a position; of a plain value, 0."""

    field: str | int

    def __post_init__(self) -> None:
        checked_field(self.field)


@dataclass(frozen=True)
class Count(Aggregate):
    """How many records there are; with a field, how many have a value in it."""

    field: str | int | None = None

    def __post_init__(self) -> None:
        if self.field is not None:
            checked_field(self.field)

    @property
    def slots(self) -> tuple[Slot, ...]:
        return (Slot(COUNT, self.field),)


@dataclass(frozen=True)
class Sum(_OfField):
    """The sum; None where no record has a value. Of ints it is exact, however large.

    The last digits of a sum of floats depend on the order in which they are added.
    """

    @property
    def slots(self) -> tuple[Slot, ...]:
        return (Slot(SUM, self.field),)


@dataclass(frozen=True)
class Min(_OfField):
    """The least value; None where no record has a value.

    NaN is greater than all numbers, and -0.0 is less than 0.0.
    """

    @property
    def slots(self) -> tuple[Slot, ...]:
        return (Slot(LEAST, self.field),)


@dataclass(frozen=True)
class Max(_OfField):
    """The greatest value; None where no record has a value.

    NaN is greater than all numbers, and -0.0 is less than 0.0.
    """

    @property
    def slots(self) -> tuple[Slot, ...]:
        return (Slot(GREATEST, self.field),)


@dataclass(frozen=True)
class Mean(_OfField):
    """The sum divided by the number of values; None where no record has a value."""

    @property
    def slots(self) -> tuple[Slot, ...]:
        return (Slot(SUM, self.field), Slot(COUNT, self.field))

    def result(self, *found: Any) -> Any:
        """The mean."""
        total, count = found
        return total / count if count else None

    def result_column(self, *found: Any) -> Any:
        """The means. Large integers are divided one by one: as floats they would be rounded."""
        import pyarrow as pa
        import pyarrow.compute as pc

        totals, counts = found
        ends = pc.min_max(totals)
        large = [abs(end) > _EXACT for end in (ends["min"].as_py(), ends["max"].as_py()) if end]
        if pa.types.is_integer(totals.type) and any(large):
            pairs = zip(totals.to_pylist(), counts.to_pylist(), strict=True)
            return pa.array([self.result(*pair) for pair in pairs], pa.float64())
        return pc.divide(totals.cast(pa.float64()), counts.cast(pa.float64()))


class Aggregates(AggregateFunction):
    """Several aggregates at once: ``Aggregates(clicks=Count(), total=Sum("price"))``.

    The result is a ``Row`` with these names, in this order. It can be used wherever an
    ``AggregateFunction`` can, on records of any kind that have the fields.

    Raises:
        PlanError: none is given, or something else than ``Count()``, ``Sum("price")`` and so on.
    """

    def __init__(self, **aggregates: Aggregate) -> None:
        if not aggregates:
            raise PlanError(
                "Aggregates() has nothing to compute",
                hint='name what you want: Aggregates(clicks=Count(), total=Sum("price"))',
            )
        for name, given in aggregates.items():
            if not isinstance(given, Aggregate):
                raise PlanError(
                    f"{name}={given!r} is no aggregate",
                    hint='give Count(), Sum("price"), Min("price"), Max("price") or Mean("price")',
                )
        self.aggregates = aggregates
        self.names = (*aggregates,)
        wanted = [slot for each in aggregates.values() for slot in each.slots]
        self._slots = (*dict.fromkeys(wanted),)
        self._folds = [*map(_folding, self._slots)]
        self._merges = [_MERGES[slot.how] for slot in self._slots]
        self._results = [
            (each.result, [self._slots.index(slot) for slot in each.slots])
            for each in aggregates.values()
        ]

    @property
    def slots(self) -> tuple[Slot, ...]:
        """What an accumulator holds, each thing once."""
        return self._slots

    def create_accumulator(self) -> Accumulator:
        """Counts of 0, and None."""
        return tuple([0 if slot.how == COUNT else None for slot in self._slots])

    def add(self, value: Any, accumulator: Accumulator) -> Accumulator:
        """With one more record."""
        return tuple(
            [fold(held, value) for fold, held in zip(self._folds, accumulator, strict=True)]
        )

    def merge(self, acc_a: Accumulator, acc_b: Accumulator) -> Accumulator:
        """Both together."""
        return tuple(
            [
                merge(first, second)
                for merge, first, second in zip(self._merges, acc_a, acc_b, strict=True)
            ]
        )

    def get_result(self, accumulator: Accumulator) -> Any:
        """A ``Row``."""
        values = [
            result(*[accumulator[place] for place in places]) for result, places in self._results
        ]
        return row_of(self.names, values)

    def result_columns(self, found: list[Any]) -> Any:
        """The results as a pyarrow record batch, of Arrow arrays of what the slots came to."""
        import pyarrow as pa

        aggregates = zip(self.aggregates.values(), self._results, strict=True)
        arrays = [
            each.result_column(*[found[place] for place in places])
            for each, (_, places) in aggregates
        ]
        return pa.RecordBatch.from_arrays(arrays, names=[*self.names])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_folds"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._folds = [*map(_folding, self._slots)]

    def __repr__(self) -> str:
        return f"Aggregates({', '.join(f'{n}={a!r}' for n, a in self.aggregates.items())})"


def _folding(slot: Slot) -> Callable[[Any, Any], Any]:
    """A function that takes what a slot holds, and a record."""
    field, fold = slot.field, _FOLDS[slot.how]
    if field is None:
        return lambda held, record: held + 1
    if isinstance(field, int):
        return lambda held, record: fold(held, _at(record, field))

    def add_named(held: Any, record: Any) -> Any:
        if type(record) is dict:  # the usual record
            try:
                value = record[field]
            except KeyError:
                value = field_of(record, field)  # says what is missing
        else:
            value = field_of(record, field)
        return fold(held, value)

    return add_named


def _at(record: Any, place: int) -> Any:
    return record if place == 0 and not has_fields(record) else field_of(record, place)


def _counted(held: int, value: Any) -> int:
    return held if value is None else held + 1


def _added(held: Any, value: Any) -> Any:
    if value is None or held is None:
        return value if held is None else held
    return held + value


def _least(held: Any, value: Any) -> Any:
    if value is None or held is None:
        return value if held is None else held
    return least(held, value)


def _greatest(held: Any, value: Any) -> Any:
    if value is None or held is None:
        return value if held is None else held
    return greatest(held, value)


def _counts(first: int, second: int) -> int:
    return first + second


_FOLDS = {COUNT: _counted, SUM: _added, LEAST: _least, GREATEST: _greatest}
_MERGES = {**_FOLDS, COUNT: _counts}
