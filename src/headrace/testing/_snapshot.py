"""State outside of a running task: kept in memory, copied from one backend to another."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.common.watermark_strategy import WatermarkGenerator
from headrace.runtime.savepoint.read import import_backend
from headrace.runtime.savepoint.write import export_backend
from headrace.runtime.state.backend import StateBackend, Timer, TimerStore
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.held import HeldPages


@dataclass(frozen=True)
class Snapshot:
    """State, timers and watermark of one operator, and the time (ms) it was taken. Picklable.

    ``generator``: where the harness has a watermark strategy, its generator as it was. ``shared``:
    state that the whole task shares.
    """

    records: Mapping[str, bytes]
    now_ms: int
    generator: WatermarkGenerator | None = None
    shared: Mapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        backend: StateBackend,
        now_ms: int,
        generator: WatermarkGenerator | None,
        shared: StateBackend,
    ) -> Snapshot:
        """The state of a backend, and of one with shared state."""
        return cls(_records_of(backend), now_ms, generator, _records_of(shared))

    def on_heap(self) -> tuple[HeapBackend, HeapBackend]:
        """Backends in memory with this state: of keys, and shared."""
        return _heap_of(self.records), _heap_of(self.shared)


def _records_of(backend: StateBackend) -> dict[str, bytes]:
    store = HeldPages()
    paged = PagedBackend(store, 1)
    copy_state(backend, paged)
    paged.flush()
    return store.records


def _heap_of(records: Mapping[str, bytes]) -> HeapBackend:
    backend = HeapBackend()
    copy_state(PagedBackend(HeldPages(records), 1), backend)
    return backend


def copy_state(source: StateBackend, target: StateBackend) -> None:
    """Put everything that ``source`` holds into an empty ``target``, sharing no object."""
    records = export_backend("", source, 0)
    import_backend(
        records, target, source.kinds(), source.in_namespaces.kinds(), source.tables.kinds()
    )
    target.header.update(pickle.loads(pickle.dumps(source.header, 5)))


def pending_timers(timers: TimerStore) -> list[Timer]:
    """The timers that are set, in the order in which they will fire."""
    return [timer for _, timer in timers.scan()]
