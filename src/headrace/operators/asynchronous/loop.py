"""The event loop of a process, run by a daemon thread until the process ends.

A client, for example a session with open connections, belongs to the loop on which it was made. So
all micro-batches, tasks and jobs of a process share one loop.
"""

from __future__ import annotations

import asyncio
import os
import threading
from asyncio import AbstractEventLoop
from collections.abc import Awaitable
from typing import Any


class _ProcessLoop:
    """The event loop, made when first used. A forked process has no threads and makes its own."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the loop, as in a new process."""
        self._lock = threading.Lock()
        self._loop: AbstractEventLoop | None = None

    def loop(self) -> AbstractEventLoop:
        """Return the running loop."""
        with self._lock:
            if self._loop is None:
                loop = self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=_run, args=(loop,), name="headrace event loop", daemon=True
                ).start()
            return self._loop


_process = _ProcessLoop()
os.register_at_fork(after_in_child=_process.reset)


def event_loop() -> AbstractEventLoop:
    """Return the running event loop of this process."""
    return _process.loop()


def wait_if_awaitable(result: Any) -> None:
    """If a function returned an awaitable, run it on the event loop and wait for its end."""
    if isinstance(result, Awaitable):
        asyncio.run_coroutine_threadsafe(_await(result), event_loop()).result()


async def _await(result: Awaitable[Any]) -> None:
    await result


def _run(loop: AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    while True:  # a stopped loop is started again: other jobs need it
        try:
            loop.run_forever()
        except SystemExit:
            # Raised in a task that a user's function started itself; that task keeps the exception.
            continue
