"""The event loop of a process, which a thread runs as long as the process lives.

A client (a session with open connections, say) belongs to the loop on which it was made, so there
is one for all micro-batches, tasks and jobs that the process works on.
"""

from __future__ import annotations

import asyncio
import os
import threading
from asyncio import AbstractEventLoop
from collections.abc import Awaitable
from typing import Any


class _ProcessLoop:
    """The loop, once one was made; a forked process has no threads, and makes its own."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Be as in a new process."""
        self._lock = threading.Lock()
        self._loop: AbstractEventLoop | None = None

    def loop(self) -> AbstractEventLoop:
        """The running loop."""
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
    """The loop of this process: running, made when first asked for."""
    return _process.loop()


def wait_if_awaitable(result: Any) -> None:
    """Wait for what a function gave back, if that can be awaited: it is, on the event loop."""
    if isinstance(result, Awaitable):
        asyncio.run_coroutine_threadsafe(_await(result), event_loop()).result()


async def _await(result: Awaitable[Any]) -> None:
    await result


def _run(loop: AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    while True:  # others need the loop, whoever stops it
        try:
            loop.run_forever()
        except SystemExit:
            # A coroutine that a user's function started for itself. Its task has the exception.
            continue
