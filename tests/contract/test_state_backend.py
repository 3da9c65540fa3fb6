"""The state backends keep the contract."""

from __future__ import annotations

from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.paged import PagedBackend

from .state_backend import StateBackendContract


class DictStore(dict[str, bytes]):
    """A store in memory."""

    def put(self, name: str, data: bytes) -> None:
        """Store bytes under a name."""
        self[name] = data

    def remove(self, name: str) -> None:
        """Forget a name."""
        self.pop(name, None)


class TestHeapBackend(StateBackendContract):
    """State in plain dictionaries."""

    def make(self) -> StateBackend:
        return HeapBackend()

    def reopen(self, backend: StateBackend) -> StateBackend:
        return backend


class TestPagedBackend(StateBackendContract):
    """State in pages, which are so small here that they split and spill all the time."""

    page_bytes = 100

    def make(self) -> StateBackend:
        self.store = DictStore()
        return PagedBackend(self.store, 4, self.page_bytes)

    def reopen(self, backend: StateBackend) -> StateBackend:
        return PagedBackend(self.store, 4, self.page_bytes)

    def check_empty(self, backend: StateBackend) -> None:
        assert self.store == {}


class TestPagedBackendWithLargerPages(TestPagedBackend):
    """Some entries spill, most do not."""

    page_bytes = 700
