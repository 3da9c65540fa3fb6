"""``Savepoint``: what a savepoint has, as tables of Spark."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.common._storage.pickles import only_data, stand_ins
from headrace.common._types.data import type_text
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.formats._arrow.types import arrow_type
from headrace.errors import ConfigurationError
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.coordination.coordinator import source_watermarks
from headrace.runtime.coordination.offset import Offset
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.keys.serialized_key import to_internal_key
from headrace.runtime.savepoint.manifest import OperatorEntry
from headrace.runtime.savepoint.records import decode
from headrace.runtime.state.kinds import LIST, MAP, TIMES, StateKind
from headrace.state._columns import Changed, Column, Table, declared_column, type_of_key, types_of
from headrace.state._contents import (
    Contents,
    contents_of,
    find_operator,
    unknown_operator_error,
)

if TYPE_CHECKING:
    from headrace.runners.spark.state_tables import DataFrame, SparkSession

_PLACE = ("state", "key", "namespace", "item", "position")


def spark_session() -> SparkSession:
    """Return the session that reads and writes state: the active one, or a new one."""
    from headrace.runners.spark.state_tables import state_session

    return state_session()


@dataclass(frozen=True)
class StateInfo:
    """A state of an operator. ``uid``: None if the operator has none. ``type``: as declared."""

    operator: str
    uid: str | None
    name: str
    kind: str
    type: str | None
    namespaced: bool
    broadcast: bool


@dataclass(frozen=True)
class StateDifference:
    """A value that differs between two savepoints.

    ``operator``: its id. ``uid``: None if it has none. ``key``, ``namespace``, ``first`` and
    ``second`` are texts; ``first`` or ``second`` is None if that savepoint does not have the value.
    ``place``: the position in a list, or the key in a map.
    """

    operator: str
    uid: str | None
    state: str
    key: str
    namespace: str | None
    place: str | None
    first: str | None
    second: str | None


class Savepoint:
    """The state of a job, which Spark reads: in a savepoint, a checkpoint or a restore point.

    Only the files of the operator that is asked for are read, and of a savepoint only the rows that
    a filter leaves (``key_group`` is sorted and has statistics). Values are decoded in Spark's
    tasks.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    @classmethod
    def load(cls, url: str, *, allow_pickles: bool = False) -> Savepoint:
        """Open a savepoint, a checkpoint or a restore point by its folder.

        Args:
            url: the folder.
            allow_pickles: whether a savepoint may have objects of any class: reading them can run
                code of whoever wrote it. Otherwise only values, dataclasses, enums and named tuples
                are read. A checkpoint is read as its job reads it.

        Raises:
            CheckpointLockedError: it is a checkpoint, and a job runs on it.
            CheckpointError: there is none in the folder, or it is damaged.
        """
        return cls(contents_of(url, allow_pickles))

    @property
    def job(self) -> str:
        """The name of the job whose state this is."""
        return self._contents.job

    def states(self) -> list[StateInfo]:
        """Return the states of all operators."""
        return [
            StateInfo(
                entry.id,
                entry.uid,
                name,
                kind.kind,
                None if kind.type is None else type_text(kind.type),
                name in entry.namespaced or name in entry.tables,
                name in entry.shared,
            )
            for entry in self._contents.operators
            for name, kind in entry.kinds().items()
        ]

    def read(
        self,
        uid: str,
        name: str,
        *,
        keys: Collection[Any] | None = None,
        key_type: TypeInformation | None = None,
        as_text: bool = False,
        as_pickle: bool = False,
    ) -> DataFrame:
        """Return a state as a table.

        Args:
            uid: the operator's uid, or its id.
            name: the state's.
            keys: only these, as the program has them. Only their key groups are read.
            key_type: that of the keys, for keys that are rows or tuples.
            as_text: keys and values as text. Otherwise keys have the type of the first one, and
                values the declared type, if SQL has it.
            as_pickle: keys, namespaces, items and values as their pickles (binary).

        The columns: ``key``; ``namespace`` (JSON: a window's start and end in ms; null for state of
        a key alone); ``position`` of an element in a list, or of an item in a map; ``item``, the
        key in a map; ``value``; ``timestamp_ms`` (of a buffered record, or of the last use if the
        state has a time-to-live); ``key_group``.

        Raises:
            ConfigurationError: there is no such operator or state.
            TypeMismatchError: when Spark runs it: a value has another type than its column.
        """
        entry = self._operator(uid)
        kind = entry.kinds().get(name)
        if kind is None:
            known = ", ".join(entry.kinds()) or "none"
            raise ConfigurationError(
                f"the operator {entry.name!r} has no state {name!r}",
                where={"savepoint": self._contents.folder},
                hint=f"its states: {known}",
            )
        shared = name in entry.shared
        wanted = None if keys is None else frozenset(map(to_internal_key, keys))
        groups = None
        of_state = f"state = '{_quoted(name)}' AND key_group "
        of_state += f"= {ALL_GROUPS}" if shared else ">= 0"
        where = of_state
        if wanted is not None and not shared:
            groups = sorted({key_group_of(key, entry.key_groups) for key in wanted})
            listed = ", ".join(map(str, groups))
            where += f" AND key_group IN ({listed})" if groups else " AND false"
        from headrace.runners.spark.state_tables import decoded_rows, first_record

        records = self._contents.records("states", entry.id, groups, only_shown=not as_pickle)
        key: pa.DataType | None = None
        if as_pickle:
            key = pa.binary()
        elif key_type is not None:
            key = arrow_type(key_type)
        elif not as_text and not shared:
            first = first_record(self._contents.records("states", entry.id), of_state)
            key = self._type_of_key(first)
        form = TableForm(kind, shared, key, as_text, as_pickle)
        table = replace(form.table(wanted), only_data=self._contents.only_data)
        return decoded_rows(records, where, table, table.schema)

    def timers(
        self, uid: str, *, key_type: TypeInformation | None = None, as_pickle: bool = False
    ) -> DataFrame:
        """Return the pending timers of an operator.

        The columns: ``key`` and ``namespace``, as in ``read``; ``clock`` (event or processing);
        ``time_ms``; ``key_group``.

        Raises:
            ConfigurationError: there is no such operator.
        """
        entry = self._operator(uid)
        records = self._contents.records("timers", entry.id, only_shown=not as_pickle)
        plain = [
            (name, pa.field(name, kind))
            for name, kind in (
                ("clock", pa.string()),
                ("time_ms", pa.int64()),
                ("key_group", pa.int64()),
            )
        ]
        from headrace.runners.spark.state_tables import decoded_rows, first_record

        key: pa.DataType | None = None
        if as_pickle:
            key = pa.binary()
        elif key_type is not None:
            key = arrow_type(key_type)
        else:
            key = self._type_of_key(first_record(records, "true"))
        decoded = (
            Column("key", key, pickled=as_pickle),
            Column("namespace", pa.binary() if as_pickle else None, pickled=as_pickle),
        )
        table = Table(decoded, tuple(plain), only_data=self._contents.only_data)
        return decoded_rows(records, "true", table, table.schema)

    def sources(self) -> DataFrame:
        """Return the positions of sources.

        The columns: ``source`` (its id), ``split``, ``position`` (JSON), ``watermark_ms``.
        """
        with only_data(self._contents.only_data), stand_ins():
            offset = Offset.from_json(self._contents.offset)
            watermarks = source_watermarks(self._contents.split_states())
        rows = [
            (source, split, json.dumps(position), watermarks.get(source))
            for source, found in offset.sources.items()
            for split, position in found.end_positions().items()
        ]
        from headrace.runners.spark.state_tables import table_of_rows

        return table_of_rows(
            rows, "source string, split string, position string, watermark_ms long"
        )

    def differences(self, other: Savepoint, limit: int = 1000) -> Iterator[StateDifference]:
        """Yield the differences from another savepoint: by operator, then by state and key.

        ``limit``: the most differences for each operator. Operators with equal ids are compared;
        the id follows from the uid, if there is one.
        """
        from headrace.runners.spark.state_tables import joined_rows

        contents = self._contents, other._contents
        keep = Changed(any(each.only_data for each in contents))
        uids = {entry.id: entry.uid for each in contents for entry in each.operators}
        for id_, uid in uids.items():
            one, two = (each.records("states", id_) for each in contents)
            for row in joined_rows(one, two, _PLACE, keep, Changed.schema, limit):
                place = row["item"]
                if place is None and row["position"]:
                    place = str(row["position"])
                values = row["first"], row["second"]
                yield StateDifference(
                    id_, uid, row["state"], row["key"], row["namespace"], place, *values
                )

    def _type_of_key(self, first: tuple[bytes, int] | None) -> pa.DataType | None:
        with only_data(self._contents.only_data), stand_ins():
            return None if first is None else type_of_key(decode(first[0]))

    def _operator(self, uid: str) -> OperatorEntry:
        operators = self._contents.operators
        found = find_operator(operators, uid)
        if found is None:
            error = unknown_operator_error(operators, uid)
            error.where = {"savepoint": self._contents.folder}
            raise error
        return found


@dataclass(frozen=True)
class TableForm:
    """How a state is shown. ``key``: the type of the column of keys; None: they are texts."""

    kind: StateKind
    shared: bool
    key: pa.DataType | None
    as_text: bool = False
    as_pickle: bool = False

    def table(self, keys: frozenset[Any] | None) -> Table:
        """Return the columns; ``keys``: only rows of these keys are wanted."""
        kind, shared, pickled = self.kind, self.shared, self.as_pickle
        types = types_of(kind, shared)
        item, value = map(self._shown, (types.item, types.value))
        key = self._shown(types.key) if shared else self.key
        namespace = pa.binary() if pickled else None
        decoded = [
            Column("key", key, pickled=pickled),
            Column("namespace", namespace, pickled=pickled),
        ]
        plain: list[tuple[str, pa.Field]] = []
        if shared:
            decoded.append(Column("position", pa.int64(), part=0, stored="value"))
        elif kind.kind in (LIST, MAP, TIMES):
            plain.append(("position", pa.field("position", pa.int64())))
        if kind.kind == MAP and not shared:
            decoded.append(Column("item", item, pickled=pickled))
        decoded.append(Column("value", value, part=1 if shared else None, pickled=pickled))
        plain.append(("stamp_ms", pa.field("timestamp_ms", pa.int64())))
        plain.append(("key_group", pa.field("key_group", pa.int64())))
        return Table(tuple(decoded), tuple(plain), keys)

    def _shown(self, declared: TypeInformation | None) -> pa.DataType | None:
        if self.as_pickle:
            return pa.binary()
        return None if declared is None or self.as_text else declared_column(declared)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
