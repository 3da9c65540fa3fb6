"""Waiting for a server that is down; for connectors and formats."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from headrace.connector import WriterContext

T = TypeVar("T")

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 5.0
LOG_INTERVAL_S = 60.0
"""How often the log repeats that a server is still down."""
CHECK_SERVER = "check its address, and that it runs"

_log = logging.getLogger(__name__)


@dataclass
class OutageLog:
    """Whether an outage of a server was logged; shared by everything that waits for the server.

    ``waiting_operations``: how many operations wait. When all of them have given up, the next
    outage is logged again. ``logged_s``: the time of the last log message.
    """

    is_down: bool = False
    waiting_operations: int = 0
    logged_s: float = field(default=0.0, compare=False)


@dataclass
class Outage:
    """How long one operation has been waiting for its server.

    ``patience_s``: the limit, from ``start`` or else from the first failure. ``server``: its name,
    for messages; ``check``: what the user should check. ``clock`` returns seconds. ``log``: shared
    by operations that wait at the same time.
    """

    patience_s: float
    server: str
    clock: Callable[[], float] = time.monotonic
    log: OutageLog = field(default_factory=OutageLog)
    check: str = CHECK_SERVER
    waited_s: float = field(default=0.0, init=False)
    """How long it had waited at the last failure."""
    _since_s: float | None = field(default=None, init=False)
    _waits: bool = field(default=False, init=False)
    _pause_s: float = field(default=FIRST_PAUSE_S, init=False)

    def start(self) -> None:
        """Start the time limit now."""
        self._since_s = self.clock()

    @property
    def remaining_s(self) -> float:
        """The remaining time; 0 or less when the limit is reached."""
        return self.patience_s - (0 if self._since_s is None else self.clock() - self._since_s)

    def next_pause_s(self, error: Exception) -> float:
        """Return the pause (s) before the next attempt.

        Raises:
            Exception: ``error`` itself, with a note, when the limit is reached.
        """
        left_s = self.record_failure(error)
        if left_s <= 0:
            note = f"{self.server} was tried again for {self.patience_s:g} s"
            if note not in getattr(error, "__notes__", ()):  # operations may share an error
                error.add_note(note)
            raise error
        pause_s, self._pause_s = self._pause_s, min(2 * self._pause_s, LONGEST_PAUSE_S)
        return min(pause_s, left_s)

    def record_failure(self, reason: object) -> float:
        """Log the outage, at once and then from time to time; return ``remaining_s``."""
        now_s = self.clock()
        if self._since_s is None:
            self._since_s = now_s
        if not self._waits:
            self._waits = True
            self.log.waiting_operations += 1
        self.waited_s = now_s - self._since_s
        if not self.log.is_down:
            self.log.is_down, self.log.logged_s = True, now_s
            text = "%s failed, and is tried again for up to %g s; %s: %s"
            _log.warning(text, self.server, self.patience_s, self.check, reason)
        elif now_s - self.log.logged_s >= LOG_INTERVAL_S:
            self.log.logged_s = now_s
            text = "%s has been tried again for %d s of %g s: %s"
            _log.warning(text, self.server, self.waited_s, self.patience_s, reason)
        return self.patience_s - self.waited_s

    def record_success(self) -> None:
        """Reset the time limit after a success, and log that the server works again."""
        if self._waits and self._since_s is not None and self.log.is_down:
            self.log.is_down = False
            _log.warning("%s works again, after %d s", self.server, self.clock() - self._since_s)
        self.stop_waiting()

    def stop_waiting(self) -> None:
        """Reset the time limit; call it when the operation has succeeded or given up."""
        if self._waits:
            self._waits = False
            self.log.waiting_operations -= 1
            self.log.is_down = self.log.is_down and self.log.waiting_operations > 0
        self._since_s, self._pause_s = None, FIRST_PAUSE_S


def retry_while_down(
    work: Callable[[], T],
    is_outage: Callable[[Exception], bool],
    outage: Outage,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """Return the result of ``work``, which is repeated while its server is down.

    ``is_outage``: whether an exception means that; others are raised. ``work`` must be safe to
    repeat after the connection was lost at any moment.
    """
    try:
        while True:
            try:
                found = work()
            except Exception as error:
                if not is_outage(error):
                    raise
                pause_s = outage.next_pause_s(error)
            else:
                outage.record_success()
                return found
            sleep(pause_s)
    finally:
        outage.stop_waiting()


def is_wrong_address(error: Exception, context: WriterContext) -> bool:
    """Return whether a sink's host has no address in the first micro-batch, so it is misspelled.

    Later its name may disappear while the server is down.
    """
    return context.batch_id == 0 and any(words in str(error) for words in _NO_ADDRESS)


_NO_ADDRESS = ("not known", "No address associated")
"""The messages of the C libraries of Linux and macOS for an unknown name. If DNS itself does not
answer, the messages differ."""


async def retry_while_down_async(
    work: Callable[[], Awaitable[T]], is_outage: Callable[[Exception], bool], outage: Outage
) -> T:
    """Await the result of ``work``, which is repeated as in ``retry_while_down``."""
    try:
        while True:
            try:
                found = await work()
            except Exception as error:
                if not is_outage(error):
                    raise
                pause_s = outage.next_pause_s(error)
            else:
                outage.record_success()
                return found
            await asyncio.sleep(pause_s)
    finally:
        outage.stop_waiting()  # also when the operator's timeout cancels it
