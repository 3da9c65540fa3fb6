"""``Savepoint``: what a savepoint has, as tables of Spark."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.common._types.data import type_text
from headrace.errors import ConfigurationError
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.coordination.coordinator import source_watermarks
from headrace.runtime.coordination.offset import Offset
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.keys.serialized_key import to_internal_key
from headrace.runtime.savepoint.folder import StoredSavepoint
from headrace.runtime.savepoint.job_state import read_split_states
from headrace.runtime.savepoint.manifest import OperatorEntry
from headrace.runtime.savepoint.records import decode_key
from headrace.runtime.state.kinds import LIST, MAP, TIMES, StateKind
from headrace.state._columns import Changed, Column, Table, column_type, type_of_key

if TYPE_CHECKING:
    from headrace.runners.spark.state_tables import DataFrame

_PLACE = ("state", "key", "namespace", "item", "position")


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
    """A record that two savepoints have with other values; None: one does not have it.

    ``operator``: its id. ``uid``: None if it has none. ``key``, ``namespace``, ``first`` and
    ``second`` are texts. ``place``: the position in a list, or the key in a map.
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
    """A savepoint, whose state Spark reads.

    Only the files of the operator that is asked for are read, and of them the rows that a filter
    leaves (``key_group`` is sorted and has statistics). Values are decoded in Spark's tasks.
    """

    def __init__(self, stored: StoredSavepoint) -> None:
        self._stored = stored

    @classmethod
    def load(cls, url: str) -> Savepoint:
        """Open the savepoint in a folder.

        Raises:
            CheckpointError: there is none, or its manifest is damaged.
        """
        return cls(StoredSavepoint(url))

    @property
    def job(self) -> str:
        """The name of the job that it was taken of."""
        return self._stored.manifest.job

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
            for entry in self._stored.manifest.operators
            for name, kind in entry.kinds().items()
        ]

    def read(
        self,
        uid: str,
        name: str,
        *,
        keys: Collection[Any] | None = None,
        as_text: bool = False,
    ) -> DataFrame:
        """Return a state as a table.

        Args:
            uid: the operator's uid, or its id.
            name: the state's.
            keys: only these, as the program has them. Only their key groups are read.
            as_text: keys and values as text. Otherwise keys have the type of the first one, and
                values the declared type, if SQL has it.

        The columns: ``key``; ``namespace`` (JSON: a window's start and end in ms; null for state of
        a key alone); ``position`` of an element in a list, or ``item`` of a map; ``value``;
        ``timestamp_ms`` (of a buffered record, or of the last use if the state has a time-to-live);
        ``key_group``.

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
                where={"savepoint": self._stored.folder},
                hint=f"its states: {known}",
            )
        shared = name in entry.shared
        wanted = None if keys is None else frozenset(map(to_internal_key, keys))
        urls = self._urls("states", entry.id)
        of_state = f"state = '{_quoted(name)}' AND key_group "
        of_state += f"= {ALL_GROUPS}" if shared else ">= 0"
        where = of_state
        if wanted is not None and not shared:
            numbers = sorted({key_group_of(key, entry.key_groups) for key in wanted})
            where += (
                f" AND key_group IN ({', '.join(map(str, numbers))})" if numbers else " AND false"
            )
        from headrace.runners.spark.state_tables import decoded_rows, first_key

        first = None if as_text else first_key(urls, of_state)
        table = _table_of(kind, shared, as_text, first, wanted)
        return decoded_rows(urls, where, table, table.schema)

    def timers(self, uid: str) -> DataFrame:
        """Return the pending timers of an operator.

        The columns: ``key`` and ``namespace`` (JSON), ``clock`` (event or processing), ``time_ms``,
        ``key_group``.

        Raises:
            ConfigurationError: there is no such operator.
        """
        entry = self._operator(uid)
        plain = [
            (name, pa.field(name, kind))
            for name, kind in (
                ("clock", pa.string()),
                ("time_ms", pa.int64()),
                ("key_group", pa.int64()),
            )
        ]
        decoded = Column("key", None, is_key=True), Column("namespace", None)
        table = Table(decoded, tuple(plain))
        from headrace.runners.spark.state_tables import decoded_rows

        return decoded_rows(self._urls("timers", entry.id), "true", table, table.schema)

    def sources(self) -> DataFrame:
        """Return the positions of sources.

        The columns: ``source`` (its id), ``split``, ``position`` (JSON), ``watermark_ms``.
        """
        offset = Offset.from_json(self._stored.manifest.offset)
        watermarks = source_watermarks(read_split_states(self._stored))
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
        """Yield what differs from another savepoint: by operator, then by state and key.

        ``limit``: at most so many for each operator. Operators are compared by their id, which a
        uid decides.
        """
        from headrace.runners.spark.state_tables import joined_rows

        uids = {entry.id: entry.uid for entry in (*self._operators, *other._operators)}
        for id_, uid in uids.items():
            one, two = (each._urls("states", id_) for each in (self, other))
            if not one and not two:
                continue
            rows = joined_rows(one, two, _PLACE, Changed(), Changed.schema, limit)
            for row in rows:
                place = row["item"]
                if place is None and row["position"]:
                    place = str(row["position"])
                values = row["first"], row["second"]
                yield StateDifference(
                    id_, uid, row["state"], row["key"], row["namespace"], place, *values
                )

    @property
    def _operators(self) -> Sequence[OperatorEntry]:
        return self._stored.manifest.operators

    def _operator(self, uid: str) -> OperatorEntry:
        for entry in self._operators:
            if uid in (entry.uid, entry.id):
                return entry
        known = ", ".join(entry.uid or entry.id for entry in self._operators) or "none"
        raise ConfigurationError(
            f"no operator has the uid {uid!r}",
            where={"savepoint": self._stored.folder},
            hint=f"there are: {known}",
        )

    def _urls(self, table: str, operator: str) -> list[str]:
        return [f"{self._stored.folder}/{path}" for path in self._stored.files_of(table, operator)]


def _table_of(
    kind: StateKind,
    shared: bool,
    as_text: bool,
    first_key: bytes | None,
    keys: frozenset[Any] | None,
) -> Table:
    """Return the columns of a state; ``first_key``: that of its first record, if it has one."""
    key = None if first_key is None else type_of_key(decode_key(first_key))
    of_value = item = None
    if kind.type is not None and not as_text:
        parts = kind.type.get("of", ())
        if shared and len(parts) == 2:
            key, of_value = map(column_type, parts)
        elif kind.kind == MAP and len(parts) == 2:
            item, of_value = map(column_type, parts)
        elif kind.kind == LIST and len(parts) == 1:
            of_value = column_type(parts[0])
        elif not shared and kind.kind not in (MAP, LIST, TIMES):
            of_value = column_type(kind.type)
    decoded = [Column("key", key, is_key=True), Column("namespace", None)]
    plain: list[tuple[str, pa.Field]] = []
    if kind.kind == MAP and not shared:
        decoded.append(Column("item", item, is_key=True))
    decoded.append(Column("value", of_value, part=1 if shared else None))
    if kind.kind in (LIST, TIMES):
        plain.append(("position", pa.field("position", pa.int64())))
    plain.append(("stamp_ms", pa.field("timestamp_ms", pa.int64())))
    plain.append(("key_group", pa.field("key_group", pa.int64())))
    return Table(tuple(decoded), tuple(plain), keys)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
