"""Aggregates of fields (count, sum, minimum, maximum, mean), for ``aggregate``.

If records come as columns (Parquet files, ``DataGeneratorSource.of_columns``), they are computed on
the columns, otherwise record by record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from headrace.common._types.data import TypeData, type_data
from headrace.common.types import row_of
from headrace.datastream._build.aggregations import check_field
from headrace.datastream.functions import AggregateFunction
from headrace.errors import PlanError
from headrace.operators.aggregates.aggregate import FieldAggregate, TupleFold

__all__ = [
    "Aggregate",
    "Aggregates",
    "Count",
    "Max",
    "Mean",
    "Min",
    "Sum",
]

_Accumulator = tuple[Any, ...]

_EXACT = 1 << 53
"""Floats represent all integers up to this one exactly."""


class Aggregate(ABC):
    """One aggregated value of a group of records; records whose field is None are ignored."""

    @property
    @abstractmethod
    def parts(self) -> tuple[FieldAggregate, ...]:
        """The basic aggregates that the result is computed from."""

    def result(self, *found: Any) -> Any:
        """Compute the result from the values of ``parts``."""
        return found[0]

    def result_column(self, *found: Any) -> Any:
        """Compute the results of many groups from Arrow arrays, one for each of ``parts``."""
        return found[0]


@dataclass(frozen=True)
class _OfField(Aggregate):
    """``field``: the name or the position of a field; 0 for a plain value."""

    field: str | int

    def __post_init__(self) -> None:
        check_field(self.field)


@dataclass(frozen=True)
class Count(Aggregate):
    """The number of records; with a field, the number of records in which it is not None."""

    field: str | int | None = None

    def __post_init__(self) -> None:
        if self.field is not None:
            check_field(self.field)

    @property
    def parts(self) -> tuple[FieldAggregate, ...]:
        return (FieldAggregate("count", self.field),)


@dataclass(frozen=True)
class Sum(_OfField):
    """The sum; None if the field is None in all records. Sums of ints are exact.

    The last digits of a sum of floats depend on the order in which they are added.
    """

    @property
    def parts(self) -> tuple[FieldAggregate, ...]:
        return (FieldAggregate("sum", self.field),)


@dataclass(frozen=True)
class Min(_OfField):
    """The least value; None if the field is None in all records.

    NaN is greater than all numbers, and -0.0 is less than 0.0.
    """

    @property
    def parts(self) -> tuple[FieldAggregate, ...]:
        return (FieldAggregate("min", self.field),)


@dataclass(frozen=True)
class Max(_OfField):
    """The greatest value; None if the field is None in all records.

    NaN is greater than all numbers, and -0.0 is less than 0.0.
    """

    @property
    def parts(self) -> tuple[FieldAggregate, ...]:
        return (FieldAggregate("max", self.field),)


@dataclass(frozen=True)
class Mean(_OfField):
    """The mean; None if the field is None in all records."""

    @property
    def parts(self) -> tuple[FieldAggregate, ...]:
        return (FieldAggregate("sum", self.field), FieldAggregate("count", self.field))

    def result(self, *found: Any) -> Any:
        """Divide the sum by the count; None if the count is 0."""
        total, count = found
        return total / count if count else None

    def result_column(self, *found: Any) -> Any:
        """Divide sums by counts; large integers one by one, because floats would round them."""
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
        PlanError: there is no argument, or one is not an ``Aggregate``.
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
        parts = (*dict.fromkeys(part for each in aggregates.values() for part in each.parts),)
        self._fold = TupleFold(parts)
        self._results = [
            (each.result, [parts.index(part) for part in each.parts])
            for each in aggregates.values()
        ]

    @property
    def fold(self) -> TupleFold:
        """The function that updates accumulators; equal parts are computed once."""
        return self._fold

    @property
    def accumulator_data(self) -> TypeData:
        """The type of an accumulator as data; a checkpoint of other aggregates cannot be read."""
        parts = [[part.kind, part.field] for part in self._fold.aggregates]
        words = (f"{how}({'' if field is None else repr(field)})" for how, field in parts)
        return type_data("AGGREGATES", aggregates=parts, text=f"AGGREGATES<{', '.join(words)}>")

    def create_accumulator(self) -> _Accumulator:
        """Return an accumulator of no records."""
        return self._fold.zero

    def add(self, value: Any, accumulator: _Accumulator) -> _Accumulator:
        """Return the accumulator with one more record."""
        added: _Accumulator = self._fold.add(accumulator, value)
        return added

    def merge(self, acc_a: _Accumulator, acc_b: _Accumulator) -> _Accumulator:
        """Merge two accumulators."""
        merged: _Accumulator = self._fold.merge(acc_a, acc_b)
        return merged

    def get_result(self, accumulator: _Accumulator) -> Any:
        """Return a ``Row`` with one field for each aggregate."""
        values = [
            result(*[accumulator[place] for place in places]) for result, places in self._results
        ]
        return row_of(self.names, values)

    def result_columns(self, found: list[Any]) -> Any:
        """Return the results as a pyarrow record batch, from Arrow arrays of the parts."""
        import pyarrow as pa

        aggregates = zip(self.aggregates.values(), self._results, strict=True)
        arrays = [
            each.result_column(*[found[place] for place in places])
            for each, (_, places) in aggregates
        ]
        return pa.RecordBatch.from_arrays(arrays, names=[*self.names])

    def __repr__(self) -> str:
        return f"Aggregates({', '.join(f'{n}={a!r}' for n, a in self.aggregates.items())})"
