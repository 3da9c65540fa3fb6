"""The state backends keep the contract."""

from __future__ import annotations

from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend

from .state_backend import StateBackendContract
from .stores import CountingStore


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
        self.store = CountingStore()
        return PagedBackend(self.store, 4, self.page_bytes)

    def reopen(self, backend: StateBackend) -> StateBackend:
        return PagedBackend(self.store, 4, self.page_bytes)

    def check_empty(self, backend: StateBackend) -> None:
        super().check_empty(backend)
        assert self.store.records == {}


class TestPagedBackendWithLargerPages(TestPagedBackend):
    """Some entries spill, most do not."""

    page_bytes = 700
