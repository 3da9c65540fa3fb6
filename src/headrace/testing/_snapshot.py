"""``Snapshot``: a copy of an operator's state, and functions to copy state between backends."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.common.watermark_strategy import WatermarkGenerator
from headrace.runtime.savepoint.read import StoredStates, import_backend
from headrace.runtime.savepoint.write import export_backend
from headrace.runtime.state.backend import StateBackend, Timer, TimerStore
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages


@dataclass(frozen=True)
class Snapshot:
    """A copy of an operator's state, timers and watermark; it can be pickled.

    ``now_ms`` is the time of the snapshot, ``generator`` a copy of the watermark generator (if
    the harness has a watermark strategy), ``shared`` the broadcast state.
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
        """Copy the keyed state in ``backend`` and the broadcast state in ``shared``."""
        return cls(_records_of(backend), now_ms, generator, _records_of(shared))

    def on_heap(self) -> tuple[HeapBackend, HeapBackend]:
        """Return backends in memory with the keyed and with the broadcast state."""
        return _heap_of(self.records), _heap_of(self.shared)


def _records_of(backend: StateBackend) -> dict[str, bytes]:
    store = MemoryPages()
    paged = PagedBackend(store, 1)
    copy_state(backend, paged)
    paged.flush()
    return store.records


def _heap_of(records: Mapping[str, bytes]) -> HeapBackend:
    backend = HeapBackend()
    copy_state(PagedBackend(MemoryPages(records), 1), backend)
    return backend


def copy_state(source: StateBackend, target: StateBackend) -> None:
    """Copy all state and timers of ``source`` to the empty backend ``target``."""
    records = export_backend("", source, 0)
    import_backend(records, target, StoredStates.of(source))
    target.header.update(pickle.loads(pickle.dumps(source.header, 5)))


def pending_timers(timers: TimerStore) -> list[Timer]:
    """Return the registered timers in the order of firing."""
    return [timer for _, timer in timers.scan()]
