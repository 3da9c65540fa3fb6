"""``CloseableIterator``: iterates over the results of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

__all__ = ["CloseableIterator"]


class CloseableIterator:
    """An iterator that ends its job when it is closed; also a context manager."""

    def __init__(self, results: Iterator[Any], on_close: Callable[[], None] | None = None) -> None:
        self._results = results
        self._on_close = on_close
        self._closed = False

    def next(self) -> Any:
        """Return the next result.

        Raises:
            StopIteration: there are no more results.
        """
        if self._closed:
            raise StopIteration
        return next(self._results)

    def close(self) -> None:
        """Stop the job if it is still running; later calls have no effect."""
        if not self._closed:
            self._closed = True
            if self._on_close is not None:
                self._on_close()

    def __next__(self) -> Any:
        return self.next()

    def __iter__(self) -> CloseableIterator:
        return self

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
