"""Waiting for a server that has gone away: connectors and formats do."""

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
SAY_AGAIN_S = 60.0
"""How often the log says that a server is still waited for."""
CHECK_SERVER = "check its address, and that it runs"

_log = logging.getLogger(__name__)


@dataclass
class OutageLog:
    """Whether the log says that a server is away: for all the work that waits for it.

    ``waiting``: how many pieces of work wait. Where all of them give up, a next one says it again.
    ``said_s``: when it was said last.
    """

    away: bool = False
    waiting: int = 0
    said_s: float = field(default=0.0, compare=False)


@dataclass
class Outage:
    """How long one piece of work has been waiting for its server.

    ``patience_s``: how long it may wait, from ``start`` on, or else from the first failure on.
    ``what``: the server, for the log and for the error; ``check``: what the user may look at.
    ``clock`` gives seconds. ``log``: shared by what waits at the same time.
    """

    patience_s: float
    what: str
    clock: Callable[[], float] = time.monotonic
    log: OutageLog = field(default_factory=OutageLog)
    check: str = CHECK_SERVER
    waited_s: float = field(default=0.0, init=False)
    """For how long it had waited at the last failure."""
    _since_s: float | None = field(default=None, init=False)
    _waits: bool = field(default=False, init=False)
    _pause_s: float = field(default=FIRST_PAUSE_S, init=False)

    def start(self) -> None:
        """Count from now on."""
        self._since_s = self.clock()

    @property
    def left_s(self) -> float:
        """How long it may still wait; not above 0 when the limit is reached."""
        return self.patience_s - (0 if self._since_s is None else self.clock() - self._since_s)

    def pause(self, error: Exception) -> float:
        """How long to wait (s) before the next attempt.

        Raises:
            Exception: ``error`` itself, with a note, when the limit is reached.
        """
        left_s = self.failed(error)
        if left_s <= 0:
            note = f"{self.what} was tried again for {self.patience_s:g} s"
            if note not in getattr(error, "__notes__", ()):  # many may wait for one answer
                error.add_note(note)
            raise error
        pause_s, self._pause_s = self._pause_s, min(2 * self._pause_s, LONGEST_PAUSE_S)
        return min(pause_s, left_s)

    def failed(self, reason: object) -> float:
        """Log what is waited for, at once and from time to time; gives ``left_s``."""
        now_s = self.clock()
        if self._since_s is None:
            self._since_s = now_s
        if not self._waits:
            self._waits = True
            self.log.waiting += 1
        self.waited_s = now_s - self._since_s
        if not self.log.away:
            self.log.away, self.log.said_s = True, now_s
            text = "%s failed, and is tried again for up to %g s; %s: %s"
            _log.warning(text, self.what, self.patience_s, self.check, reason)
        elif now_s - self.log.said_s >= SAY_AGAIN_S:
            self.log.said_s = now_s
            text = "%s has been tried again for %d s of %g s: %s"
            _log.warning(text, self.what, self.waited_s, self.patience_s, reason)
        return self.patience_s - self.waited_s

    def over(self) -> None:
        """Note that the work is done, and log that the server works again."""
        if self._waits and self._since_s is not None and self.log.away:
            self.log.away = False
            _log.warning("%s works again, after %d s", self.what, self.clock() - self._since_s)
        self.end()

    def end(self) -> None:
        """The work is done or given up; nothing waits any more."""
        if self._waits:
            self._waits = False
            self.log.waiting -= 1
            self.log.away = self.log.away and self.log.waiting > 0
        self._since_s, self._pause_s = None, FIRST_PAUSE_S


def retry_while_down(
    work: Callable[[], T],
    is_outage: Callable[[Exception], bool],
    outage: Outage,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """What ``work`` gives; it is called again for as long as its server is away.

    ``is_outage`` says which exceptions mean that; others are raised. Work must bear being called
    again when its connection was lost at any moment.
    """
    try:
        while True:
            try:
                found = work()
            except Exception as error:
                if not is_outage(error):
                    raise
                pause_s = outage.pause(error)
            else:
                outage.over()
                return found
            sleep(pause_s)
    finally:
        outage.end()


def is_wrong_address(error: Exception, context: WriterContext) -> bool:
    """Whether a sink's host has no address in the job's first micro-batch: it is misspelt then.

    Later its name may vanish for as long as the server is away.
    """
    return context.batch_id == 0 and any(words in str(error) for words in _NO_ADDRESS)


_NO_ADDRESS = ("not known", "No address associated")
"""What the C libraries of Linux and macOS say of a name. If DNS does not answer, they say other."""


async def retry_while_down_async(
    work: Callable[[], Awaitable[T]], is_outage: Callable[[Exception], bool], outage: Outage
) -> T:
    """As ``retry_while_down``, on the event loop."""
    try:
        while True:
            try:
                found = await work()
            except Exception as error:
                if not is_outage(error):
                    raise
                pause_s = outage.pause(error)
            else:
                outage.over()
                return found
            await asyncio.sleep(pause_s)
    finally:
        outage.end()  # cancelled, too, where the operator's time is up
