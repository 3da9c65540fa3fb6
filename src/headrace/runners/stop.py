"""What is requested of a running job: a savepoint, a stop, another parallelism."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from headrace.errors import JobError


@dataclass
class _Requested:
    error: BaseException | None = field(default=None, init=False)
    """Why it failed, once it is over."""
    _over: threading.Event = field(default_factory=threading.Event, init=False)

    def end(self, error: BaseException | None) -> None:
        """Set that it is over, unless it is already."""
        if not self._over.is_set():
            self.error = error
            self._over.set()

    def wait_until_over(self) -> None:
        """Wait until it is over; raise the error with which it failed."""
        self._over.wait()
        if self.error is not None:
            raise self.error


@dataclass
class Rescale(_Requested):
    """Another parallelism that was requested."""

    parallelism: int


@dataclass
class Stop(_Requested):
    """A stop that was requested, or a savepoint without one.

    ``target``: the folder of its savepoint; None for none. ``drain``: whether event time ends
    before.
    """

    target: str | None
    drain: bool = False

    def wait(self) -> str:
        """Wait until it is over; return its savepoint, or raise the error with which it failed."""
        assert self.target is not None, "a stop without a savepoint is not waited for"
        self.wait_until_over()
        return self.target


class StopRequest:
    """The stop of a job: at most one is accepted, and none once the job has ended its work.

    Methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stop: Stop | None = None
        self._closed = False

    @property
    def accepted(self) -> Stop | None:
        """The stop that was accepted; None as long as there is none."""
        return self._stop

    def accept(self, stop: Stop) -> None:
        """Accept a stop.

        Raises:
            JobError: the job has ended, or stops already.
        """
        with self._lock:
            if self._closed or self._stop is not None:
                raise JobError("the job has ended, or is already stopping")
            self._stop = stop

    def close(self) -> Stop | None:
        """Accept no stop from now on; return the one that was accepted, if there is one."""
        with self._lock:
            self._closed = True
            return self._stop
