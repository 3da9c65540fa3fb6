"""The result of something that may still be running."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Generic, TypeVar

__all__ = ["CompletableFuture"]

T = TypeVar("T")


class CompletableFuture(Generic[T]):
    """A result to wait for; wraps ``concurrent.futures.Future``."""

    def __init__(self, future: Future[T]) -> None:
        self._future = future
        self._waiting = 0
        self._lock = threading.Lock()

    @staticmethod
    def of(produce: Callable[[], T]) -> CompletableFuture[T]:
        """A completed future, with what ``produce`` returns or raises. It is called now."""
        future: Future[T] = Future()
        _complete(future, produce)
        return CompletableFuture(future)

    @staticmethod
    def run_in_thread(produce: Callable[[], T]) -> CompletableFuture[T]:
        """A future for ``produce``, called in a thread that does not keep the process alive."""
        future: Future[T] = Future()
        threading.Thread(target=_complete, args=(future, produce), daemon=True).start()
        return CompletableFuture(future)

    def cancel(self) -> bool:
        """Give up waiting, where the result is not yet being computed; whether that was so."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Whether it is over: with a result, an exception, or cancelled."""
        return self._future.done()

    def result(self, timeout_s: float | None = None) -> T:
        """The result, waited for; raises what its computation raised."""
        with self._counted_as_waiting():
            return self._future.result(timeout_s)

    def exception(self, timeout_s: float | None = None) -> BaseException | None:
        """What its computation raised, waited for; None where it went well."""
        with self._counted_as_waiting():
            return self._future.exception(timeout_s)

    def is_waited_for(self) -> bool:
        """Whether somebody waits for the outcome, or was given it."""
        return self._waiting > 0

    @contextmanager
    def _counted_as_waiting(self) -> Iterator[None]:
        with self._lock:
            self._waiting += 1
        try:
            yield
        finally:
            if not self._future.done():  # it was waited for in vain
                with self._lock:
                    self._waiting -= 1


def _complete(future: Future[T], produce: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = produce()
    except BaseException as error:  # handed to whoever asks for the result
        future.set_exception(error)
        if not isinstance(error, Exception):  # Ctrl-C: the program's, too
            raise
    else:
        future.set_result(result)
