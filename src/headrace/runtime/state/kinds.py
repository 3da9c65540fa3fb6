"""What a state holds: its kind, its declared type, and whether it expires.

A state that was stored as one kind cannot be read as another: a list is no map, and what a reducing
state added up is no accumulator. The same holds for declared types, as far as they are known: a
state that declares none, or ``Types.PICKLED_BYTE_ARRAY()``, may hold anything, so it goes together
with every type. Types are kept as plain data (``common/_types/data.py``) and compared part by part;
a wider number is another type.
"""

from __future__ import annotations

from typing import NamedTuple

from headrace.common._types.data import TypeData, type_data, type_text, types_compatible
from headrace.common.typeinfo import TypeInformation
from headrace.errors import CheckpointError

RESERVED_NAMES = "headrace."
"""The names of states that an operator itself keeps begin so; no state of a user's may."""

VALUE, REDUCING, AGGREGATING, LIST, MAP = "value", "reducing", "aggregating", "list", "map"

TIMES = "times"
"""A buffer of records by timestamp, which an operator itself keeps."""


class StateKind(NamedTuple):
    """The kind of a state (one of the six above), and its declared type as data, or None.

    ``expires``: whether it has a time-to-live.
    """

    kind: str
    type: TypeData | None = None
    expires: bool = False

    @property
    def layout(self) -> str:
        """How it is stored in an entry: ``value``, ``list``, ``map`` (a dict) or ``times``."""
        return self.kind if self.kind in (LIST, MAP, TIMES) else VALUE

    def __str__(self) -> str:
        words = [self.kind]
        if self.type is not None:
            words.append(f"of {type_text(self.type)}")
        words.append("with a time-to-live" if self.expires else "without a time-to-live")
        return " ".join(words)


def type_data_of(declared: TypeInformation | None) -> TypeData | None:
    """Return a declared type as data; None if no type is declared."""
    return None if declared is None else declared.to_data()


def timestamped_type(declared: TypeInformation | None) -> TypeData | None:
    """Return the type of a record with its timestamp (ms)."""
    return None if declared is None else type_data("TUPLE", declared.to_data(), type_data("LONG"))


def is_compatible(before: StateKind, now: StateKind) -> bool:
    """Return True if a state stored as ``before`` can be read as ``now``."""
    return (
        before.kind == now.kind
        and before.expires == now.expires
        and (before.type is None or now.type is None or types_compatible(before.type, now.type))
    )


def check_state(state: str, before: StateKind, now: StateKind, operator: str | None = None) -> None:
    """Check that a stored state has the kind, type and time-to-live that the program declares.

    Raises:
        CheckpointError: the kind, the type or the time-to-live has changed.
    """
    if not is_compatible(before, now):
        of = "" if operator is None else f" of operator {operator!r}"
        mend = "give the state another name"
        if state.startswith(RESERVED_NAMES):
            mend = "restore the declared type of the stream, or give the operator another uid"
        raise CheckpointError(
            f"the state {state!r}{of} was stored as {before}, and is {now} now",
            hint=f"{mend}, or start anew with headrace run --fresh",
        )
