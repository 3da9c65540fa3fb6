"""Answers queries of state in the driver, from copies of the committed pages.

Tasks send the pages that a micro-batch has changed with the messages of its sink
(``query/state_pages.py``), and those of a micro-batch whose commit failed never come here. The
report of a micro-batch comes before Spark's own commit: until that is written, the micro-batch may
be repeated, so its pages wait.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from headrace.common._options.catalogue import QUERYABLE_BYTES
from headrace.common.job_client import StateAnswer
from headrace.errors import HeadraceError, StateQueryError
from headrace.runners.spark.checkpoint.checkpoint import Checkpoint
from headrace.runners.spark.checkpoint.progress import is_committed
from headrace.runners.spark.committed_state import CommittedState
from headrace.runners.spark.link import BatchReport, PageChanges
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.program import JobProgram, VertexProgram
from headrace.runtime.queries import (
    QueryBudget,
    ReadState,
    internal_keys,
    queryable_vertex,
    queryable_vertices,
    state_reader,
    unknown_state_error,
)
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages

_NO_BATCH = -1


class _Pending(NamedTuple):
    """A micro-batch that Spark has not committed yet, and the pages that its tasks have changed."""

    batch_id: int
    changes: list[PageChanges | None]


@dataclass
class _Group:
    """The pages of a key group; what reads them is kept until they change."""

    records: dict[str, bytes] = field(default_factory=dict)
    _backend: PagedBackend | None = None
    _readers: dict[str, ReadState | None] = field(default_factory=dict)

    def set(self, page: str, data: bytes | None) -> int:
        """Store or remove a page; return by how many bytes the group has grown."""
        before = len(self.records.pop(page, b""))
        if data is not None:
            self.records[page] = data
        self._backend = None
        self._readers.clear()
        return len(self.records.get(page, b"")) - before

    def backend(self, vertex: VertexProgram) -> PagedBackend:
        """Return what reads the pages."""
        if self._backend is None:
            self._backend = PagedBackend(MemoryPages(self.records), vertex.groups)
        return self._backend

    def reader(self, name: str, vertex: VertexProgram) -> ReadState | None:
        """Return the function that reads a state."""
        if name not in self._readers:
            self._readers[name] = state_reader(self.backend(vertex), name)
        return self._readers[name]


class QueriedState:
    """The state of a job's queryable operators; its methods may be called in any thread.

    ``max_bytes``: how much state is kept. ``share``: the share of a core that queries may take.
    """

    def __init__(self, program: JobProgram, max_bytes: int, share: float) -> None:
        self._vertices = queryable_vertices(program)
        self._ids = {vertex.id for vertex in self._vertices.values()}
        self._max_bytes = max_bytes
        self._budget = QueryBudget(share, time.monotonic)
        self._lock = threading.Lock()
        self._is_committed: Callable[[int], bool] = lambda batch: False
        self._batch = _NO_BATCH
        self._groups: dict[str, _Group] = {}
        self._names: dict[str, set[str]] = {}
        self._size_bytes = 0
        self._pending: _Pending | None = None
        self._missing: str | None = "the job has not started"
        """Why there is no state to answer from."""

    def load(self, spark: SparkSession, checkpoint: Checkpoint) -> None:
        """Take the state of the last committed micro-batch, before an attempt begins."""
        if not self._vertices:
            return
        state = CommittedState.last(checkpoint.directory)
        pages = {} if state is None else self._read(spark, state)
        generation = checkpoint.generation
        committed = -1 if state is None or generation.origin is not None else state.batch

        def has_committed(batch: int) -> bool:
            return is_committed(checkpoint.spark, batch - checkpoint.generation.first_batch)

        with self._lock:
            self._is_committed = has_committed
            self._batch = generation.first_batch + committed
            self._pending = self._missing = None
            self._groups.clear()
            self._names.clear()
            self._size_bytes = 0
            self._apply(pages)

    def _read(self, spark: SparkSession, state: CommittedState) -> PageChanges | None:
        pages: dict[str, bytes | None] = {}
        size_bytes = 0
        for name, data in state.pages(spark, self._ids):
            pages[name] = data
            size_bytes += len(data)
            if size_bytes > self._max_bytes:
                return None
        return pages

    def receive(self, report: BatchReport) -> None:
        """Take the pages that a micro-batch has changed; a repeated one replaces its first run."""
        if not self._vertices:
            return
        with self._lock:
            if self._pending is not None and self._pending.batch_id < report.batch_id:
                self._take(self._pending)
            self._pending = _Pending(report.batch_id, report.state)

    def query(self, uid: str, name: str, keys: Sequence[Any]) -> StateAnswer:
        """Return the state of keys after the last committed micro-batch.

        Raises:
            ConfigurationError: the operator was not named, or has no such state.
            UnsupportedError: it is state of windows.
            QueryBudgetError: queries have used up their processor time.
            StateQueryError: there are too many keys, or there is no state to answer from.
        """
        vertex = queryable_vertex(self._vertices, uid)
        wanted = internal_keys(keys)
        self._budget.check()
        with self._lock:
            if self._missing is not None:
                raise StateQueryError(
                    f"the state of {uid!r} cannot be queried now: {self._missing}"
                )
            began = time.thread_time()
            try:
                readers = [self._reader(vertex, key, name) for key in wanted]
                values = [
                    None if read is None else read(key)
                    for read, key in zip(readers, wanted, strict=True)
                ]
                if all(value is None for value in values):
                    self._check_name(uid, vertex, name)
                return StateAnswer(self._batch, values)
            finally:
                self._budget.spend(time.thread_time() - began)

    def settle(self) -> None:
        """Take over a micro-batch that Spark has committed since its report came.

        The attempt's thread calls it, as queries should not wait for the checkpoint's storage.
        """
        pending = self._pending
        if pending is None:
            return
        try:
            committed = self._is_committed(pending.batch_id)
        except (OSError, HeadraceError):
            return  # the storage does not answer: the job itself says so, if it has to wait
        if not committed:
            return
        with self._lock:
            if self._pending is pending:
                self._take(pending)
                self._pending = None

    def _take(self, pending: _Pending) -> None:
        self._batch = pending.batch_id
        for changes in pending.changes:
            self._apply(changes)

    def _apply(self, changes: PageChanges | None) -> None:
        """Store changed pages; None: there were too many to be sent."""
        if self._missing is not None:
            return
        for name, data in ({} if changes is None else changes).items():
            prefix, _, page = name.rpartition("/")
            group = self._groups.get(prefix)
            if group is None:
                group = self._groups[prefix] = _Group()
            self._size_bytes += group.set(page, data)
        if changes is None or self._size_bytes > self._max_bytes:
            self._groups.clear()
            self._missing = f"it is larger than {self._max_bytes:,} bytes ({QUERYABLE_BYTES.key})"

    def _reader(self, vertex: VertexProgram, key: Any, name: str) -> ReadState | None:
        found = self._groups.get(f"{vertex.id}/{key_group_of(key, vertex.groups)}")
        return None if found is None else found.reader(name, vertex)

    def _check_name(self, uid: str, vertex: VertexProgram, name: str) -> None:
        """Raise ConfigurationError if there is state, and none of it has this name."""
        known = self._names.setdefault(vertex.id, set())
        if name in known:
            return
        for prefix, group in self._groups.items():
            if prefix.rpartition("/")[0] == vertex.id:
                known |= {*group.backend(vertex).kinds()}
                if name in known:
                    return
        if known:
            raise unknown_state_error(uid, name, known)
