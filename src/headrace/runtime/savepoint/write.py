"""From a backend to records, in pieces: what is read for it does not stay in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headrace.runtime.savepoint.records import (
    PICKLE,
    StateRecord,
    TimerRecord,
    encode,
    encode_key,
)
from headrace.runtime.state.backend import Entry, StateBackend
from headrace.runtime.state.kinds import LIST, MAP, TIMES, VALUE, StateKind
from headrace.runtime.state.pages.bucketed_map import BucketedMap
from headrace.runtime.state.pages.chunked_list import ChunkedList

EVENT, PROCESSING = "event", "processing"
"""The clocks of timers."""

_UNDECLARED = StateKind(VALUE)


def export_backend(
    operator: str, backend: StateBackend, key_group: int
) -> Iterator[StateRecord | TimerRecord]:
    """Yield the state and timers of one operator in one key group; the backend is not changed.

    Entries are read page by page, large lists chunk by chunk, and large maps bucket by bucket. The
    records of one state of one key are adjacent, and sorted by position.
    """
    yield from export_states(operator, backend, key_group)
    yield from export_timers(operator, backend, key_group)


def export_states(operator: str, backend: StateBackend, key_group: int) -> Iterator[StateRecord]:
    """Yield the state of keys, then that of keys in namespaces, then that of namespaces' tables."""
    kinds = backend.kinds()
    for key, entry in backend.scan():
        yield from _export_entry(operator, key_group, encode_key(key), None, entry, kinds)
    for space in (backend.in_namespaces, backend.tables):
        kinds = space.kinds()
        for (key, namespace), entry in space.scan():
            yield from _export_entry(
                operator, key_group, encode_key(key), encode(namespace), entry, kinds
            )


def export_timers(operator: str, backend: StateBackend, key_group: int) -> Iterator[TimerRecord]:
    """Yield the timers of both clocks, each in the order in which they will fire."""
    for clock, timers in ((EVENT, backend.event_timers), (PROCESSING, backend.processing_timers)):
        for order, (time_ms, key, namespace) in timers.scan():
            space = None if namespace is None else encode(namespace)
            yield TimerRecord(operator, clock, key_group, time_ms, order, encode_key(key), space)


def _export_entry(
    operator: str,
    key_group: int,
    key: bytes,
    namespace: bytes | None,
    entry: Entry,
    kinds: Any,
) -> Iterator[StateRecord]:
    """Yield the records of one entry; ``namespace`` None: the entry of a key alone."""
    for state, stored in entry.items():
        declared = kinds.get(state, _UNDECLARED)
        kind, expires = declared.kind, declared.expires
        for position, (item, value) in enumerate(_split_state(kind, stored)):
            stamp = None
            if kind == TIMES:
                stamp, value = value
            elif expires:
                value, stamp = value
            yield StateRecord(
                operator,
                state,
                kind,
                PICKLE,
                key_group,
                key,
                namespace,
                position,
                item,
                stamp,
                encode(value),
            )


def _split_state(kind: str, stored: Any) -> Iterable[tuple[bytes | None, Any]]:
    """Return the pieces of a state that become records: pairs (key in a map or None, value)."""
    if kind == LIST:
        elements = stored.scan() if isinstance(stored, ChunkedList) else stored
        return ((None, element) for element in elements)
    if kind == MAP:
        items = stored.scan() if isinstance(stored, BucketedMap) else stored.items()
        return ((encode_key(item), value) for item, value in items)
    if kind == TIMES:
        return ((None, pair) for pair in stored)
    return ((None, stored),)
