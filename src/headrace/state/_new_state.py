"""Tables that become states or timers: which columns they must have, and how they are encoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.common.typeinfo import TypeInformation
from headrace.datastream.formats._arrow.types import arrow_type
from headrace.errors import TypeMismatchError, UnsupportedError
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.savepoint.manifest import OperatorEntry
from headrace.runtime.savepoint.records import decode, decode_key
from headrace.runtime.state.kinds import LIST, MAP, TIMES, StateKind
from headrace.state._columns import type_of_key, types_of
from headrace.state._encoding import Keys, StateEncoder, TimerEncoder, Values

if TYPE_CHECKING:
    from headrace.runners.spark.state_tables import DataFrame
    from headrace.runners.spark.state_writes import StateTable, WantedColumn

FirstRecord = Callable[[], tuple[bytes, int] | None]
"""Returns the encoded key and the key group of a record of the operator; None: it has none."""


@dataclass(frozen=True)
class NewState:
    """A table that becomes a state. ``shared``: broadcast state."""

    name: str
    kind: StateKind
    dataframe: DataFrame
    key_type: TypeInformation | None
    pickled: bool
    shared: bool = False
    namespaced: bool = False

    def table(self, entry: OperatorEntry, first_record: FirstRecord) -> StateTable:
        """Return the table with its columns and its encoder.

        Raises:
            TypeMismatchError: values or keys have no type that SQL has.
            UnsupportedError: the operator's state is not of keys.
        """
        from headrace.runners.spark.state_writes import StateTable, WantedColumn

        kind, pickled, shared = self.kind, self.pickled, self.shared
        types, of = types_of(kind, shared), f"the state {self.name!r} of {entry.name!r}"
        columns = [
            WantedColumn("key", _declared_type(types.key, pickled, "the keys", of))
            if shared
            else _key_column(entry, self.key_type, pickled, first_record),
            WantedColumn("value", _declared_type(types.value, pickled, f"values ({kind})", of)),
            _namespace_column(pickled, optional=not self.namespaced),
        ]
        item: Values | None = None
        if kind.kind == MAP and not shared:
            item = Values("item", types.item, pickled)
            columns.append(
                WantedColumn("item", _declared_type(types.item, pickled, "keys of the map", of))
            )
        if shared or kind.kind in (LIST, MAP, TIMES):
            optional = shared or kind.kind == MAP
            columns.append(WantedColumn("position", pa.int64(), optional))
        if kind.expires or kind.kind == TIMES:
            columns.append(WantedColumn("timestamp_ms", pa.int64()))
        nullable = not pickled and kind.kind in (LIST, MAP)
        keys = Keys(
            Values("key", types.key if shared else self.key_type, pickled),
            0 if shared else entry.key_groups,
            self.namespaced,
        )
        value = Values("value", types.value, pickled, nullable)
        encoder = StateEncoder(entry.id, self.name, kind.kind, keys, value, item)
        return StateTable(self.dataframe, columns, encoder, of, kind.kind)


@dataclass(frozen=True)
class NewTimers:
    """A table that becomes the timers of an operator."""

    dataframe: DataFrame
    key_type: TypeInformation | None
    pickled: bool

    def table(self, entry: OperatorEntry, first_record: FirstRecord) -> StateTable:
        """Return the table with its columns and its encoder; errors as those of ``NewState``."""
        from headrace.runners.spark.state_writes import StateTable, WantedColumn

        columns = [
            _key_column(entry, self.key_type, self.pickled, first_record),
            _namespace_column(self.pickled, optional=True),
            WantedColumn("clock", pa.string()),
            WantedColumn("time_ms", pa.int64()),
        ]
        keys = Keys(Values("key", self.key_type, self.pickled), entry.key_groups, None)
        encoder = TimerEncoder(entry.id, keys)
        return StateTable(self.dataframe, columns, encoder, f"the timers of {entry.name!r}")


def _namespace_column(pickled: bool, optional: bool) -> WantedColumn:
    from headrace.runners.spark.state_writes import WantedColumn

    return WantedColumn("namespace", pa.binary() if pickled else pa.string(), optional)


def _declared_type(
    declared: TypeInformation | None, pickled: bool, what: str, of: str
) -> pa.DataType:
    if pickled:
        return pa.binary()
    if declared is None:
        raise TypeMismatchError(
            f"{of}: the type of its {what} is not declared, or SQL does not have it",
            hint="give a descriptor with a type; or give pickles, with as_pickle=True",
        )
    return arrow_type(declared)


def _key_column(
    entry: OperatorEntry,
    declared: TypeInformation | None,
    pickled: bool,
    first_record: FirstRecord,
) -> WantedColumn:
    """Return the column of keys, whose type must be that of the keys that are there."""
    from headrace.runners.spark.state_writes import WantedColumn

    kind: pa.DataType | None = None
    if pickled:
        kind = pa.binary()
    elif declared is not None:
        kind = arrow_type(declared)
    first = first_record()
    if first is None:
        return WantedColumn("key", kind)
    key, group = first
    if key_group_of(decode_key(key), entry.key_groups) != group:
        raise UnsupportedError(
            f"{entry.name!r} has operator state (CheckpointedFunction), not keyed state",
            hint="let the program write it: CheckpointedFunction.snapshot_state",
        )
    stored = decode(key)
    if declared is not None and not pickled and not _has_values(declared, stored):
        raise TypeMismatchError(
            f"the keys of {entry.name!r} are of the class {type(stored).__name__}, and key_type is"
            f" {declared}",
            where={"a key": repr(stored)},
        )
    if kind is None:
        kind = type_of_key(stored)
        if kind is None:
            raise TypeMismatchError(
                f"the keys of {entry.name!r} are of the class {type(stored).__name__},"
                " which needs a declared type",
                hint="give key_type=Types.TUPLE([...]) to read and with_state,"
                " or as_pickle=True to both",
            )
    return WantedColumn("key", kind)


def _has_values(declared: TypeInformation, stored: Any) -> bool:
    """Return whether a stored value is one of a type, as it is."""
    try:
        return type(declared.coerce(stored)) is type(stored)
    except TypeMismatchError:
        return False
