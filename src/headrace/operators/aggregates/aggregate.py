"""What is computed of the fields of records, written once: exact, in Python, row by row.

``kernels.py`` computes the same over arrays, where that gives the same.
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
    require_whole,
    with_field,
)
from headrace.runtime.columns.exactness import How
from headrace.runtime.user_function import UserFunction

Two = Callable[[Any, Any], Any]


_OF_VALUES: dict[How, Two] = {"sum": add, "min": least, "max": greatest}
"""Of two values: the result."""


@dataclass(frozen=True)
class FieldAggregate:
    """What one field of the records comes to. ``field`` None: the record, for a count of all.

    Its functions take values of the field. None is left out, so the result of no value is None, of
    a count 0.
    """

    how: How
    field: str | int | None = None

    @property
    def zero(self) -> Any:
        """The result of no values."""
        return 0 if self.how == "count" else None

    @property
    def add(self) -> Two:
        """Takes the result so far, and one more value."""
        return _counted if self.how == "count" else self.merge

    @property
    def merge(self) -> Two:
        """Takes the results of earlier and of later values."""
        return _MERGES[self.how]

    @property
    def retract(self) -> Two | None:
        """Takes the result so far, and a value in it; gives that of the others.

        The sum of no values is then 0: a count knows that there are none. Sums of floats are
        differences. None: the least and the greatest value cannot be taken back.
        """
        return _RETRACTIONS.get(self.how)

    @property
    def add_record(self) -> Two:
        """``add`` of a record's field."""
        return _of_record(self.field, self.add)

    @property
    def retract_record(self) -> Two | None:
        """``retract`` of a record's field."""
        return None if self.retract is None else _of_record(self.field, self.retract)


class Fold(ABC):
    """What of several records is kept, as one value, and what comes of it.

    Every implementation has ``aggregates``, what is computed.
    """

    aggregates: tuple[FieldAggregate, ...]

    @abstractmethod
    def first(self, record: Any) -> Any:
        """What is kept of one record."""

    @abstractmethod
    def add(self, held: Any, record: Any, /) -> Any:
        """What is kept with one more record."""

    @abstractmethod
    def merge(self, first: Any, second: Any, /) -> Any:
        """What is kept of earlier and of later records."""

    def retract(self, held: Any, record: Any, /) -> Any:
        """What is kept without a record; see ``can_retract``."""
        raise TypeError(f"{self!r} cannot take a record back")

    @property
    def can_retract(self) -> bool:
        """Whether a record can be taken back."""
        return all(each.retract is not None for each in self.aggregates)


@dataclass(frozen=True)
class Accumulators(Fold):
    """Keeps the results of the aggregates, as a tuple."""

    aggregates: tuple[FieldAggregate, ...]
    # What is called for each record is looked up once.
    zero: tuple[Any, ...] = dataclasses.field(init=False, repr=False, compare=False)
    _steps: list[Two] = dataclasses.field(init=False, repr=False, compare=False)
    _merges: list[Two] = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = self.aggregates
        object.__setattr__(self, "zero", tuple([each.zero for each in parts]))
        object.__setattr__(self, "_steps", [each.add_record for each in parts])
        object.__setattr__(self, "_merges", [each.merge for each in parts])

    def first(self, record: Any) -> Any:
        return self.add(self.zero, record)

    def add(self, held: Any, record: Any, /) -> Any:
        return tuple([step(one, record) for step, one in zip(self._steps, held, strict=True)])

    def merge(self, first: Any, second: Any, /) -> Any:
        return tuple(
            [
                merge(one, other)
                for merge, one, other in zip(self._merges, first, second, strict=True)
            ]
        )

    def retract(self, held: Any, record: Any, /) -> Any:
        steps = [step for each in self.aggregates if (step := each.retract_record) is not None]
        if len(steps) < len(self.aggregates):
            return super().retract(held, record)
        return tuple([step(one, record) for step, one in zip(steps, held, strict=True)])

    def __reduce__(self) -> tuple[Any, ...]:
        return Accumulators, (self.aggregates,)


@dataclass(frozen=True)
class OfRecords(Fold):
    """Keeps a record; it is a reduce function, too. No record is changed."""

    aggregate: FieldAggregate
    associative = True
    # What is called for each record is looked up once.
    aggregates: tuple[FieldAggregate, ...] = dataclasses.field(
        init=False, repr=False, compare=False
    )
    field: Any = dataclasses.field(init=False, repr=False, compare=False)
    _of_values: Two = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "aggregates", (self.aggregate,))
        object.__setattr__(self, "field", self.aggregate.field)
        object.__setattr__(self, "_of_values", _OF_VALUES[self.aggregate.how])

    def first(self, record: Any) -> Any:
        return record


@dataclass(frozen=True)
class FirstRecord(OfRecords):
    """Keeps the first record, with the result in its field."""

    def add(self, held: Any, record: Any, /) -> Any:
        if type(held) is tuple and type(record) is tuple and type(self.field) is int:
            place, items = self.field, [*held]  # the usual case, at a third of the price
            try:
                items[place] = self._of_values(items[place], record[place])
            except IndexError:
                require_position(place, held, record)
                raise  # from an operator of the values
            return tuple(items)
        return _with_result(held, record, self.field, self._of_values)

    merge = __call__ = add

    def retract(self, held: Any, record: Any, /) -> Any:
        retract = self.aggregate.retract
        if retract is None:
            return super().retract(held, record)
        return _with_result(held, record, self.field, retract)


def _with_result(first: Any, second: Any, field: int | str, of_values: Two) -> Any:
    if not has_fields(second):
        require_whole(field, second)
        return of_values(first, second)
    return with_field(first, field, of_values(field_of(first, field), field_of(second, field)))


@dataclass(frozen=True)
class ExtremeRecord(OfRecords):
    """Keeps the record that has the least or greatest value; of equal ones the first, or last."""

    last: bool = False

    def add(self, held: Any, record: Any, /) -> Any:
        first, second = held, record
        if self.last:
            first, second = record, held
        field, choose = self.field, self._of_values
        if type(first) is tuple and type(second) is tuple and type(field) is int:
            try:
                value = first[field]
                return first if choose(value, second[field]) is value else second
            except IndexError:
                require_position(field, first, second)
                raise  # from an operator of the values
        if not has_fields(second):
            require_whole(field, second)
            return choose(first, second)
        value = field_of(first, field)
        # by identity: `choose` gives back one of its arguments, the first of equals
        return first if choose(value, field_of(second, field)) is value else second

    merge = __call__ = add


def fold_of(function: UserFunction) -> Fold | None:
    """What a function keeps of records, if it says so; None for any other.

    A subclass may do something else with records.
    """
    target: Any = function.target
    found = getattr(target, "fold", None) if "fold" in vars(type(target)) else target
    return found if isinstance(found, Fold) else None


def reduction_of(function: UserFunction) -> OfRecords | None:
    """The same, of a reduce function."""
    fold = fold_of(function)
    return fold if isinstance(fold, OfRecords) else None


def _of_record(field: str | int | None, step: Two) -> Two:
    """A function that takes the result so far, and a record."""
    if field is None:
        change = step(0, True)
        return lambda held, record: held + change
    if isinstance(field, int):
        return lambda held, record: step(held, _at(record, field))

    def of_named(held: Any, record: Any) -> Any:
        if type(record) is dict:  # the usual record
            try:
                value = record[field]
            except KeyError:
                value = field_of(record, field)  # says what is missing
        else:
            value = field_of(record, field)
        return step(held, value)

    return of_named


def _at(record: Any, place: int) -> Any:
    return record if place == 0 and not has_fields(record) else field_of(record, place)


def _counted(held: int, value: Any) -> int:
    return held if value is None else held + 1


def _uncounted(held: int, value: Any) -> int:
    return held if value is None else held - 1


def _subtracted(held: Any, value: Any) -> Any:
    return held if value is None else held - value


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


_MERGES: dict[How, Two] = {"count": add, "sum": _added, "min": _least, "max": _greatest}
_RETRACTIONS: dict[How, Two] = {"count": _uncounted, "sum": _subtracted}
