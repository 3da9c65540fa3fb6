"""From records to a backend, with as many key groups as there are now."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from headrace.errors import CheckpointError
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.savepoint.records import (
    PICKLE,
    StateRecord,
    TimerRecord,
    decode,
    decode_key,
)
from headrace.runtime.savepoint.write import EVENT
from headrace.runtime.state.backend import (
    Entry,
    KeyedTable,
    NamespaceTables,
    StateBackend,
    Timer,
)
from headrace.runtime.state.evolution import stored_loads
from headrace.runtime.state.fields import CLASS_ERRORS, SeenFields, unreadable_error
from headrace.runtime.state.kinds import LIST, MAP, TIMES, StateKind
from headrace.runtime.state.time_buffer import TimeBuffer

FLUSH_BYTES = 64 << 20
"""So many bytes are put into a backend before it is flushed: what is live stays below that."""

Kinds = Mapping[str, StateKind]


@dataclass(frozen=True)
class StoredStates:
    """What a savepoint says of the states of an operator.

    Fields:
        states, namespaced, tables: the kinds of states of keys, of keys in namespaces, and of
            tables, by name.
        fields: the fields that dataclasses of values had, by state.
    """

    states: Kinds = field(default_factory=dict)
    namespaced: Kinds = field(default_factory=dict)
    tables: Kinds = field(default_factory=dict)
    fields: Mapping[str, SeenFields] = field(default_factory=dict)

    def kinds(self) -> dict[str, StateKind]:
        """Return the kinds of all states, by name."""
        return {**self.states, **self.namespaced, **self.tables}

    @classmethod
    def of(cls, backend: StateBackend) -> Self:
        """Return what a backend says of its states."""
        spaces = backend, backend.in_namespaces, backend.tables
        states, namespaced, tables = (dict(space.kinds()) for space in spaces)
        fields: dict[str, SeenFields] = {}
        for space in spaces:
            fields |= space.fields()
        return cls(states, namespaced, tables, fields)


Enter = Callable[[Any, Any], Entry]
"""Gives the entry of a key, and of a namespace where the records have one."""

Keyed = TypeVar("Keyed", StateRecord, TimerRecord)


NOTHING_KNOWN = StoredStates()


def assign_key_groups(records: Iterable[Keyed], key_groups: int) -> Iterator[Keyed]:
    """Assign each record to its key group among ``key_groups``, for a changed number.

    The order of the records stays. A new group may get records of several old ones: states may be
    imported in any order, and timers with equal times keep the order within an old group.
    """
    last, group = None, 0
    for record in records:
        if record.key != last:
            last, group = record.key, key_group_of(decode_key(record.key), key_groups)
        yield record if record.key_group == group else record._replace(key_group=group)


def redistribute_list_elements(
    records: Iterable[StateRecord], before: int, instances: int
) -> Iterator[StateRecord]:
    """Redistribute the list elements of ``before`` instances evenly to ``instances``.

    A record is an element of the list that its key names (see ``operators/checkpointed.py``). Each
    list is cut in its order: by instance, then by position. As many instances keep their own.
    """
    if before == instances:
        yield from records
        return
    lists: dict[str, list[tuple[Any, StateRecord]]] = {}
    for record in records:
        key = decode_key(record.key)
        lists.setdefault(key[0], []).append((key, record))
    for elements in lists.values():
        elements.sort(key=lambda element: element[0])
        for index, (_, record) in enumerate(elements):
            yield record._replace(key_group=index * instances // len(elements))


def import_backend(
    records: Iterable[StateRecord | TimerRecord],
    backend: StateBackend,
    stored: StoredStates = NOTHING_KNOWN,
) -> None:
    """Import the records of one operator and key group into a backend, and flush it.

    The records of one state of one key must be sorted by position. Timers with equal times are
    registered in the given order. ``stored``: from the manifest. Values stay as they were stored;
    the program that declares their states converts them.

    Raises:
        CheckpointError: a record is missing or comes twice, or its encoding is unknown.
    """
    namespaced, tables, in_tables = backend.in_namespaces, backend.tables, stored.tables
    fields = stored.fields
    of_keys = _Importer(
        backend, lambda key, _: _enter_for_change(backend, key), stored.states, fields
    )
    of_namespaces = _Importer(
        namespaced,
        lambda *pair: _enter_for_change(namespaced, pair),
        stored.namespaced,
        fields,
    )
    of_tables = _Importer(
        tables,
        lambda key, namespace: _enter_for_change(tables.table(namespace), key),
        in_tables,
        fields,
    )
    size_bytes = 0
    for record in records:
        if isinstance(record, TimerRecord):
            _register_timer(record, backend)
            continue
        if record.namespace is None:
            of_keys.import_record(record)
        elif record.state in in_tables:
            of_tables.import_record(record)
        else:
            of_namespaces.import_record(record)
        size_bytes += len(record.key) + len(record.value)
        if size_bytes > FLUSH_BYTES:
            backend.flush()
            size_bytes = 0
            for importer in (of_keys, of_namespaces, of_tables):
                importer.reset()
    backend.flush()


def _enter_for_change(space: KeyedTable, key: Any) -> Entry:
    space.changed(key)
    return space.enter(key)


def _register_timer(record: TimerRecord, backend: StateBackend) -> None:
    timers = backend.event_timers if record.clock == EVENT else backend.processing_timers
    namespace = None if record.namespace is None else decode(record.namespace)
    timers.register(Timer(record.time_ms, decode_key(record.key), namespace))


class _Importer:
    """Imports savepoint records into a table; the entry of the last record is cached."""

    def __init__(
        self,
        space: KeyedTable | NamespaceTables,
        enter: Enter,
        kinds: Kinds,
        fields: Mapping[str, SeenFields],
    ) -> None:
        self._space, self._enter = space, enter
        loads = {state: stored_loads([seen]) for state, seen in fields.items()}
        self._loads = {state: of for state, of in loads.items() if of is not pickle.loads}
        self._kinds: dict[str, StateKind] = {}
        self._buffer: tuple[bytes, bytes | None, str] | None = None
        self._added = 0
        for state, kind in kinds.items():
            self._declare(state, kind)
            if state in fields:
                space.note_fields(state, fields[state])
        self.reset()

    def reset(self) -> None:
        """Drop the cached entry, as the backend was flushed."""
        self._place: tuple[bytes, bytes | None] | None = None
        self._entry: Entry = {}

    def import_record(self, record: StateRecord) -> None:
        """Import one record."""
        if record.encoding != PICKLE:
            raise _damaged_error(
                record, f"has the encoding {record.encoding!r}, which is unknown here"
            )
        place = record.key, record.namespace
        if place != self._place:
            space = None if record.namespace is None else decode(record.namespace)
            self._place, self._entry = place, self._enter(decode_key(record.key), space)
        expires = record.stamp_ms is not None and record.kind != TIMES
        kind = self._kinds.get(record.state)
        if kind is None:
            kind = self._declare(record.state, StateKind(record.kind, None, expires))
        if (kind.kind, kind.expires) != (record.kind, expires):
            raise _damaged_error(
                record, f"is a record of {record.kind} state, but its state is of kind {kind}"
            )
        try:
            value = self._loads.get(record.state, decode)(record.value)
        except CLASS_ERRORS as error:
            raise _unreadable_error(record, error) from error
        self._put_value(record, (value, record.stamp_ms) if expires else value)

    def _put_value(self, record: StateRecord, value: Any) -> None:
        entry, state = self._entry, record.state
        stored: Any = entry.get(state)
        if record.kind == TIMES:
            self._add(record, value)
            return
        if record.kind not in (LIST, MAP):
            if state in entry:
                raise _damaged_error(record, "occurs twice")
            entry[state] = value
            return
        if stored is None:
            stored = entry[state] = [] if record.kind == LIST else {}
        if len(stored) != record.position:
            raise _damaged_error(record, f"has the position {record.position}, not {len(stored)}")
        if record.kind == LIST:
            stored.append(value)
        else:
            assert record.item is not None
            stored[decode_key(record.item)] = value

    def _add(self, record: StateRecord, value: Any) -> None:
        """Add a record to a buffer, whose length is counted here: it may be read for it."""
        buffer = (record.key, record.namespace, record.state)
        if buffer != self._buffer:
            self._buffer, self._added = buffer, 0
        if record.position != self._added:
            raise _damaged_error(record, f"has the position {record.position}, not {self._added}")
        self._added += 1
        assert record.stamp_ms is not None
        self._entry.setdefault(record.state, TimeBuffer([], [])).add(record.stamp_ms, value)

    def _declare(self, state: str, kind: StateKind) -> StateKind:
        self._space.declare(state, kind)
        self._kinds[state] = kind
        return kind


def _unreadable_error(record: StateRecord, error: Exception) -> CheckpointError:
    hint = "; SavepointWriter.remove_state writes a savepoint without a state"
    return unreadable_error(record.operator, error, record.state, hint)


def _damaged_error(record: StateRecord, what: str) -> CheckpointError:
    return CheckpointError(
        f"a record of state {record.state!r} of operator {record.operator!r} {what}",
        where={"key": repr(decode_key(record.key)), "key group": str(record.key_group)},
        hint="this savepoint is damaged or incomplete; restore from another savepoint",
    )
