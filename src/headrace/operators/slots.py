"""The accumulator of aggregates that are known by name: a tuple of slots, one value each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.runtime.user_function import UserFunction

COUNT, SUM, LEAST, GREATEST = "count", "sum", "least", "greatest"


@dataclass(frozen=True)
class Slot:
    """What one field of the records comes to: ``how`` is one of the four above.

    Records whose field is None are left out. ``field`` None: the record itself, for a count of all.
    Empty, a count is 0, and all others None.
    """

    how: str
    field: str | int | None = None


def slots_of(function: UserFunction) -> tuple[Slot, ...] | None:
    """The slots of an ``AggregateFunction`` that is made of such; None for any other.

    A subclass may do something else with records.
    """
    target: Any = function.target
    if "slots" not in vars(type(target)):
        return None
    found: tuple[Slot, ...] = target.slots
    return found
