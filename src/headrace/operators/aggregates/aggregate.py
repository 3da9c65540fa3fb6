"""Aggregates of fields over records, in exact Python arithmetic.

``kernels.py`` computes the same over arrays, where the result is the same.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from operator import add
from typing import Any

from headrace.operators.aggregates.extremes import greatest, least
from headrace.operators.aggregates.records import (
    field_of,
    has_fields,
    require_position,
    require_position_zero,
    with_field,
)
from headrace.runtime.columns.exactness import AggregateKind
from headrace.runtime.user_function import UserFunction

BinaryFunction = Callable[[Any, Any], Any]


_VALUE_FUNCTIONS: dict[AggregateKind, BinaryFunction] = {"sum": add, "min": least, "max": greatest}
"""By aggregate: a function that combines two values."""


@dataclass(frozen=True)
class FieldAggregate:
    """An aggregate of one field: "count", "sum", "min" or "max" (``kind``).

    ``field`` None counts records. Its functions take values of the field and ignore None. The
    result of no values is None, of a count 0.
    """

    kind: AggregateKind
    field: str | int | None = None

    @property
    def zero(self) -> Any:
        """The result for no values."""
        return 0 if self.kind == "count" else None

    @property
    def add(self) -> BinaryFunction:
        """A function ``(result so far, value) -> result``."""
        return _increment if self.kind == "count" else self.merge

    @property
    def merge(self) -> BinaryFunction:
        """A function ``(earlier result, later result) -> result``."""
        return _MERGES[self.kind]

    @property
    def retract(self) -> BinaryFunction | None:
        """A function ``(result, value) -> result without that value``; None if there is none.

        A minimum or maximum cannot be retracted. After all values are retracted, a sum is 0, not
        None; only a count can tell that no value is left. Sums of floats are differences, with
        rounding errors.
        """
        return _RETRACTIONS.get(self.kind)

    @property
    def add_record(self) -> BinaryFunction:
        """As ``add``, but takes a record and reads the field."""
        return _wrap_for_record(self.field, self.add)

    @property
    def retract_record(self) -> BinaryFunction | None:
        """As ``retract``, but takes a record and reads the field."""
        return None if self.retract is None else _wrap_for_record(self.field, self.retract)


class Fold(ABC):
    """Folds records into an accumulator. ``aggregates``: the aggregates that it computes."""

    aggregates: tuple[FieldAggregate, ...]

    @abstractmethod
    def initial(self, record: Any) -> Any:
        """Return the accumulator of one record."""

    @abstractmethod
    def add(self, accumulator: Any, record: Any, /) -> Any:
        """Return the accumulator after one more record."""

    @abstractmethod
    def merge(self, earlier: Any, later: Any, /) -> Any:
        """Return the accumulator of earlier and later records, from the accumulators of both."""

    def retract(self, accumulator: Any, record: Any, /) -> Any:
        """Return the accumulator without a record that was added before; only if ``can_retract``.

        Raises:
            TypeError: the fold cannot retract.
        """
        raise TypeError(f"{self!r} cannot take a record back")

    @property
    def can_retract(self) -> bool:
        """Whether a record can be retracted."""
        return all(each.retract is not None for each in self.aggregates)


@dataclass(frozen=True)
class TupleFold(Fold):
    """The accumulator is a tuple with the result of each aggregate."""

    aggregates: tuple[FieldAggregate, ...]
    # Computed once, as they are used for each record.
    zero: tuple[Any, ...] = dataclasses.field(init=False, repr=False, compare=False)
    _steps: list[BinaryFunction] = dataclasses.field(init=False, repr=False, compare=False)
    _merges: list[BinaryFunction] = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        aggregates = self.aggregates
        object.__setattr__(self, "zero", tuple([each.zero for each in aggregates]))
        object.__setattr__(self, "_steps", [each.add_record for each in aggregates])
        object.__setattr__(self, "_merges", [each.merge for each in aggregates])

    def initial(self, record: Any) -> Any:
        return self.add(self.zero, record)

    def add(self, accumulator: Any, record: Any, /) -> Any:
        return tuple(
            [step(one, record) for step, one in zip(self._steps, accumulator, strict=True)]
        )

    def merge(self, earlier: Any, later: Any, /) -> Any:
        return tuple(
            [
                merge(one, other)
                for merge, one, other in zip(self._merges, earlier, later, strict=True)
            ]
        )

    def retract(self, accumulator: Any, record: Any, /) -> Any:
        steps = [step for each in self.aggregates if (step := each.retract_record) is not None]
        if len(steps) < len(self.aggregates):
            return super().retract(accumulator, record)
        return tuple([step(one, record) for step, one in zip(steps, accumulator, strict=True)])

    def __reduce__(self) -> tuple[Any, ...]:
        return TupleFold, (self.aggregates,)


@dataclass(frozen=True)
class RecordFold(Fold):
    """The accumulator is a record, and the fold is also a reduce function.

    Records are not changed.
    """

    aggregate: FieldAggregate
    associative = True
    # Computed once, as they are used for each record.
    aggregates: tuple[FieldAggregate, ...] = dataclasses.field(
        init=False, repr=False, compare=False
    )
    field: Any = dataclasses.field(init=False, repr=False, compare=False)
    _value_function: BinaryFunction = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "aggregates", (self.aggregate,))
        object.__setattr__(self, "field", self.aggregate.field)
        object.__setattr__(self, "_value_function", _VALUE_FUNCTIONS[self.aggregate.kind])

    def initial(self, record: Any) -> Any:
        return record


@dataclass(frozen=True)
class FirstRecord(RecordFold):
    """The accumulator is the first record, with the aggregate's result in its field."""

    def add(self, accumulator: Any, record: Any, /) -> Any:
        if type(accumulator) is tuple and type(record) is tuple and type(self.field) is int:
            position, items = self.field, [*accumulator]  # fast path
            try:
                items[position] = self._value_function(items[position], record[position])
            except IndexError:
                require_position(position, accumulator, record)
                raise  # raised by the values themselves
            return tuple(items)
        return _combine_field(accumulator, record, self.field, self._value_function)

    merge = __call__ = add

    def retract(self, accumulator: Any, record: Any, /) -> Any:
        retract = self.aggregate.retract
        if retract is None:
            return super().retract(accumulator, record)
        return _combine_field(accumulator, record, self.field, retract)


def _combine_field(first: Any, second: Any, field: int | str, combine: BinaryFunction) -> Any:
    """Return a copy of ``first`` whose field is combined with that of ``second``."""
    if not has_fields(second):
        require_position_zero(field, second)
        return combine(first, second)
    return with_field(first, field, combine(field_of(first, field), field_of(second, field)))


@dataclass(frozen=True)
class ExtremeRecord(RecordFold):
    """The accumulator is the record with the minimum or maximum: the first of equal ones, or the
    last."""

    last: bool = False

    def add(self, accumulator: Any, record: Any, /) -> Any:
        first, second = accumulator, record
        if self.last:
            first, second = record, accumulator
        field, choose = self.field, self._value_function
        if type(first) is tuple and type(second) is tuple and type(field) is int:
            try:
                value = first[field]
                return first if choose(value, second[field]) is value else second
            except IndexError:
                require_position(field, first, second)
                raise  # raised by the values themselves
        if not has_fields(second):
            require_position_zero(field, second)
            return choose(first, second)
        value = field_of(first, field)
        # By identity: ``choose`` returns one of its arguments, the first if they are equal.
        return first if choose(value, field_of(second, field)) is value else second

    merge = __call__ = add


def fold_of(function: UserFunction) -> Fold | None:
    """Return the fold that a function declares; None for other functions, and for subclasses.

    A subclass may treat records differently, so the fold of its base class does not count.
    """
    target: Any = function.target
    fold = getattr(target, "fold", None) if "fold" in vars(type(target)) else target
    return fold if isinstance(fold, Fold) else None


def reduction_of(function: UserFunction) -> RecordFold | None:
    """Return ``fold_of(function)`` if its accumulator is a record, otherwise None."""
    fold = fold_of(function)
    return fold if isinstance(fold, RecordFold) else None


def _wrap_for_record(field: str | int | None, step: BinaryFunction) -> BinaryFunction:
    """Turn a function ``(result, value)`` into one ``(result, record)`` that reads the field."""
    if field is None:
        change = step(0, True)
        return lambda accumulator, record: accumulator + change
    if isinstance(field, int):
        return lambda accumulator, record: step(accumulator, _field_at(record, field))

    def of_named(accumulator: Any, record: Any) -> Any:
        if type(record) is dict:  # fast path
            try:
                value = record[field]
            except KeyError:
                value = field_of(record, field)  # says what is missing
        else:
            value = field_of(record, field)
        return step(accumulator, value)

    return of_named


def _field_at(record: Any, field: int) -> Any:
    return record if field == 0 and not has_fields(record) else field_of(record, field)


def _increment(accumulator: int, value: Any) -> int:
    return accumulator if value is None else accumulator + 1


def _decrement(accumulator: int, value: Any) -> int:
    return accumulator if value is None else accumulator - 1


def _subtract(accumulator: Any, value: Any) -> Any:
    return accumulator if value is None else accumulator - value


def _add(accumulator: Any, value: Any) -> Any:
    if value is None or accumulator is None:
        return value if accumulator is None else accumulator
    return accumulator + value


def _min(accumulator: Any, value: Any) -> Any:
    if value is None or accumulator is None:
        return value if accumulator is None else accumulator
    return least(accumulator, value)


def _max(accumulator: Any, value: Any) -> Any:
    if value is None or accumulator is None:
        return value if accumulator is None else accumulator
    return greatest(accumulator, value)


_MERGES: dict[AggregateKind, BinaryFunction] = {"count": add, "sum": _add, "min": _min, "max": _max}
_RETRACTIONS: dict[AggregateKind, BinaryFunction] = {"count": _decrement, "sum": _subtract}
