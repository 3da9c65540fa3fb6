"""What a state holds: its kind, its declared type, and whether it expires.

A state that was stored as one kind cannot be read as another: a list is no map, and what a reducing
state added up is no accumulator. The same holds for declared types, as far as they are known: a
state that declares none, or ``Types.PICKLED_BYTE_ARRAY()``, may hold anything, so it goes together
with every type. Types are kept as plain data (``common/_types/data.py``) and compared part by part.
Which changes of a type are converted is in ``evolution.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headrace.common._types.data import TypeData, type_data, type_text
from headrace.common.typeinfo import TypeInformation

RESERVED_NAMES = "headrace."
"""The names of states that an operator itself keeps begin so; no state of a user's may."""

VALUE, REDUCING, AGGREGATING, LIST, MAP = "value", "reducing", "aggregating", "list", "map"

TIMES = "times"
"""A buffer of records by timestamp, which an operator itself keeps."""


class StateKind(NamedTuple):
    """The kind of a state (one of the six above), and its declared type as data, or None.

    ``expires``: whether it has a time-to-live. ``version``: up to which version its values are
    migrated (see ``Evolution``).
    """

    kind: str
    type: TypeData | None = None
    expires: bool = False
    version: int = 0

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


class Evolution(NamedTuple):
    """How values of a state that were stored by an earlier program become values of this one.

    ``renamed``: new names of fields by the old ones. ``defaults``: values of new fields of rows.
    ``migrations``: by version, ascending, a function from a value of an older version to the value.
    ``ordered``: each stored value is a pair of its place and the value of a map (broadcast state).
    ``stamp``: returns the time (ms) for values that get a time-to-live; None: a time-to-live may
    not be added or removed.
    """

    renamed: Mapping[str, str] = {}
    defaults: Mapping[str, Any] = {}
    migrations: tuple[tuple[int, Callable[[Any], Any]], ...] = ()
    ordered: bool = False
    stamp: Callable[[], int] | None = None

    @property
    def version(self) -> int:
        """The version of the values that the program stores."""
        return self.migrations[-1][0] if self.migrations else 0


NO_EVOLUTION = Evolution()


def type_data_of(declared: TypeInformation | None) -> TypeData | None:
    """Return a declared type as data; None if no type is declared."""
    return None if declared is None else declared.to_data()


def timestamped_type(declared: TypeInformation | None) -> TypeData | None:
    """Return the type of a record with its timestamp (ms)."""
    return None if declared is None else type_data("TUPLE", declared.to_data(), type_data("LONG"))
