"""The accumulator of aggregates that are known by name: a tuple of slots, one value each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.runtime.user_function import UserFunction

COUNT, SUM, LEAST, GREATEST = "count", "sum", "min", "max"


@dataclass(frozen=True)
class Slot:
    """What one field of the records comes to: ``how`` is one of the four above, as Arrow
    names them.

    Records whose field is None are left out. ``field`` None: the record itself, for a count of all.
    Empty, a count is 0, and all others None.
    """

    how: str
    field: str | int | None = None


@dataclass(frozen=True)
class Wanted:
    """What of records is wanted: slots; or the first record, with one slot's value in its field."""

    slots: tuple[Slot, ...]
    first_record: bool = False


def aggregates_wanted(function: UserFunction) -> Wanted | None:
    """What an ``AggregateFunction`` wants that is made of slots; None of any other.

    A subclass may do something else with records.
    """
    target: Any = function.target
    return Wanted(target.slots) if "slots" in vars(type(target)) else None


def field_wanted(function: UserFunction) -> Wanted | None:
    """What a reduction wants that changes one field of the first record; None of any other."""
    target: Any = function.target
    return Wanted((target.slot,), first_record=True) if "slot" in vars(type(target)) else None
