"""``CompletableFuture``: a result that may not exist yet."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Generic, TypeVar

__all__ = ["CompletableFuture"]

T = TypeVar("T")


class CompletableFuture(Generic[T]):
    """A result that may not exist yet; wraps ``concurrent.futures.Future``."""

    def __init__(self, future: Future[T]) -> None:
        self._future = future
        self._waiting = 0
        self._lock = threading.Lock()

    @staticmethod
    def of(produce: Callable[[], T]) -> CompletableFuture[T]:
        """Call ``produce`` now, and return a completed future with its result or exception."""
        future: Future[T] = Future()
        _complete(future, produce)
        return CompletableFuture(future)

    @staticmethod
    def run_in_thread(produce: Callable[[], T]) -> CompletableFuture[T]:
        """Call ``produce`` in a daemon thread, and return a future for its result or exception."""
        future: Future[T] = Future()
        threading.Thread(target=_complete, args=(future, produce), daemon=True).start()
        return CompletableFuture(future)

    def cancel(self) -> bool:
        """Cancel the computation if it has not begun; return whether that succeeded."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Return whether the future was cancelled."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Return whether there is a result or an exception, or the future was cancelled."""
        return self._future.done()

    def result(self, timeout_s: float | None = None) -> T:
        """Wait for the result, or raise the computation's exception.

        Raises:
            TimeoutError: there is no result after ``timeout_s`` seconds.
        """
        with self._count_as_waiting():
            return self._future.result(timeout_s)

    def exception(self, timeout_s: float | None = None) -> BaseException | None:
        """Wait for the end; return the computation's exception, or None if it has a result.

        Raises:
            TimeoutError: the computation still runs after ``timeout_s`` seconds.
        """
        with self._count_as_waiting():
            return self._future.exception(timeout_s)

    def is_waited_for(self) -> bool:
        """Return whether a caller waits for the result, or has received it."""
        return self._waiting > 0

    @contextmanager
    def _count_as_waiting(self) -> Iterator[None]:
        with self._lock:
            self._waiting += 1
        try:
            yield
        finally:
            if not self._future.done():  # the wait ended without a result
                with self._lock:
                    self._waiting -= 1


def _complete(future: Future[T], produce: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = produce()
    except BaseException as error:  # raised again by result()
        future.set_exception(error)
        if not isinstance(error, Exception):  # KeyboardInterrupt must also end the program
            raise
    else:
        future.set_result(result)
