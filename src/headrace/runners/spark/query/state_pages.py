"""The state of a bucket in Spark's state store, with few calls and clear errors."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable
from types import TracebackType
from typing import Any

from pyspark.errors import PySparkException

from headrace.errors import StorageError
from headrace.runners.spark.query.state_calls import state_calls
from headrace.runners.spark.reasons import full_disk_error
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.program import VertexProgram
from headrace.runtime.state.backend import PageStore
from headrace.runtime.state.pages.backend import HEADER, only_pages
from headrace.runtime.state.refusals import check_size


class BucketState:
    """The state of one bucket, with a ``PageStore`` for each vertex and group.

    A call into the state store costs more than a small record. So the headers of all groups, which
    each micro-batch reads and writes, are one record.

    ``queryable``: the ids of the vertices whose changed pages are kept in ``changes``.
    """

    def __init__(self, pages: Any, queryable: Collection[str] = ()) -> None:
        self._queryable = queryable
        self.changes: dict[str, bytes | None] = {}
        self.calls = state_calls(pages)
        with reporting_storage_errors():
            self._stored = self.calls.get(HEADER) or b""
        self.headers: dict[str, bytes] = pickle.loads(self._stored) if self._stored else {}

    def of(self, vertex: VertexProgram, group: int, max_bytes: int) -> PageStore:
        """Return the store of one group of a vertex, for records of at most ``max_bytes``."""
        keeps = vertex.id in self._queryable and group != ALL_GROUPS
        changes = self.changes if keeps else None
        return _GroupPages(self, f"{vertex.id}/{group}/", max_bytes, changes)

    def prefetch(self, targets: Iterable[str], groups: Iterable[int]) -> None:
        """Read the pages that key groups of vertices need for any keys."""
        targets, names = [*targets], []
        for group in groups:
            for target in targets:
                prefix = f"{target}/{group}/"
                header = self.headers.get(prefix)
                if header is not None:
                    names += [prefix + name for name in only_pages(header)]
        if names:
            with reporting_storage_errors():
                self.calls.prefetch(names)

    def flush(self) -> None:
        """Write the headers if they have changed, and send all buffered changes."""
        data = pickle.dumps(self.headers, 5)
        with reporting_storage_errors():
            if data != self._stored:
                self.calls.put(HEADER, data)
            self.calls.flush()


class _GroupPages:
    """A ``PageStore`` under a prefix in a bucket's state; ``changes`` gets what changes in it."""

    def __init__(
        self,
        bucket: BucketState,
        prefix: str,
        max_bytes: int,
        changes: dict[str, bytes | None] | None,
    ) -> None:
        self._calls, self._headers, self._prefix = bucket.calls, bucket.headers, prefix
        self._max_bytes = max_bytes
        self._changes = changes

    def get(self, name: str) -> bytes | None:
        if name == HEADER:
            return self._headers.get(self._prefix)
        with reporting_storage_errors():
            return self._calls.get(self._prefix + name)

    def put(self, name: str, data: bytes) -> None:
        if self._changes is not None:
            self._changes[self._prefix + name] = data
        if name == HEADER:
            self._headers[self._prefix] = data
            return
        check_size(data, self._max_bytes)
        with reporting_storage_errors():
            self._calls.put(self._prefix + name, data)

    def remove(self, name: str) -> None:
        if self._changes is not None:
            self._changes[self._prefix + name] = None
        if name == HEADER:
            self._headers.pop(self._prefix, None)
            return
        with reporting_storage_errors():
            self._calls.remove(self._prefix + name)


class reporting_storage_errors:  # used like a function
    """Raise a ``StorageError`` if a call into the state store fails within a ``with`` block.

    In Spark 4.3, an unexpected error ends the JVM's thread for the state store without an answer,
    and only the JVM's log has it. It is a class because a generator would add frames of contextlib
    to the user's traceback.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, EOFError | ConnectionError):
            raise StorageError(
                "Spark's state store did not answer: an error in its JVM has ended the connection",
                hint="see Spark's log for the reason; usually the disk of the checkpoint or of"
                " spark.local.dir is full, or the JVM has too little memory (set"
                " headrace.spark.conf.spark.driver.memory)",
            ) from None
        full = full_disk_error(str(error)) if isinstance(error, PySparkException) else None
        if full is not None:
            raise StorageError(full.message, where=full.where, hint=full.hint) from None
