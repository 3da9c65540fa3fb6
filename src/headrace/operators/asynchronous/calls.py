"""Calls of an asynchronous function on the event loop: attempts, timeouts, and who is told."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Protocol

from headrace.operators.asynchronous.element_queue import Call

Invoke = Callable[[Any], Awaitable[Any]]


class Retries(Protocol):
    """What is asked of a retry strategy (see ``AsyncRetryStrategy``)."""

    def can_retry(self, current_attempts: int) -> bool:
        """Whether there is another attempt after so many."""

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """How long to wait (ms) after so many attempts."""

    def get_retry_predicate(self) -> Any:
        """Says which calls are tried again."""


@dataclass(frozen=True)
class CallSettings:
    """How an argument becomes results.

    ``retries``: None for one attempt. ``timeout_s``: how long all attempts may take together; None
    for any time. ``on_timeout`` gives the results of an argument that took longer, or raises.
    """

    invoke: Invoke
    retries: Retries | None
    timeout_s: float | None
    on_timeout: Callable[[Any], Any]

    @property
    def invoke_with_retries(self) -> Invoke:
        """What the function gives for an argument, after as many attempts as the strategy allows.

        Raises whatever the last attempt raised.
        """
        # Each coroutine between the event loop and the function is paid for by each record.
        return self.invoke if self.retries is None else self._invoke_until_success

    async def _invoke_until_success(self, argument: Any) -> Any:
        assert self.retries is not None, "see ask"
        predicate = self.retries.get_retry_predicate()
        of_results, of_error = predicate.result_predicate(), predicate.exception_predicate()
        attempts = 1
        while True:
            results, error = None, None
            try:
                results = await self.invoke(argument)
            except Exception as raised:
                error = raised
                again = of_error is not None and of_error(raised)
            else:
                again = results is not None and of_results is not None and of_results(results)
            if not (again and self.retries.can_retry(attempts)):
                break
            await asyncio.sleep(self.retries.get_backoff_time_millis(attempts) / 1000)
            attempts += 1
        if error is not None:
            raise error
        return results


class Calls:
    """The calls of one task run: begun from the task's thread, worked on by the event loop's.

    ``done`` gives them back to the task's thread.
    """

    def __init__(self, loop: AbstractEventLoop, settings: CallSettings) -> None:
        self._loop, self._settings, self._invoke = loop, settings, settings.invoke_with_retries
        self.done: SimpleQueue[Call] = SimpleQueue()
        self._new: deque[Call] = deque()
        self._awake = False
        self._abandoned = False
        self._deadlines = Deadlines(loop, self._on_timeout)

    # On the task's thread.

    def begin(self, call: Call) -> None:
        """Let the loop work on a call."""
        self._new.append(call)
        # Waking the loop costs more than a call. Until it is awake, calls gather.
        if not self._awake:
            self._awake = True
            self._loop.call_soon_threadsafe(self._start_new)

    def abandon(self, calls: Iterable[Call]) -> None:
        """Stop working on calls: their task run has failed."""
        self._loop.call_soon_threadsafe(self._abandon, [*calls])

    # On the event loop.

    def _start_new(self) -> None:
        self._awake = False  # first: what comes while calls start must wake the loop again
        if self._abandoned:
            return
        new, begun = self._new, []
        while new:
            call = new.popleft()
            try:
                self._start(call)
            except Exception as error:  # a key that cannot be compared, say
                self._finish(call, None, error)
            begun.append(call)
        if self._settings.timeout_s is not None:
            self._deadlines.add(begun, self._settings.timeout_s)

    def _start(self, call: Call) -> None:
        call.work = self._loop.create_task(self._work(call))

    async def _work(self, call: Call) -> None:
        try:
            results = await self._invoke(call.argument)
        except BaseException as error:  # sys.exit is the job's failure, and not the loop's end
            self._finish(call, None, error)
        else:
            self._finish(call, results, None)

    def _finish(self, call: Call, results: Any, error: BaseException | None) -> None:
        """Hand a call back, unless that was done: its time was up before."""
        if call.done:
            return
        call.results, call.error = results, error
        call.done = True  # the last: the task's thread may look at any moment
        self.done.put(call)

    def _on_timeout(self, call: Call) -> None:
        try:
            results = self._settings.on_timeout(call.argument)
        except BaseException as error:  # as in _work
            self._finish(call, None, error)
        else:
            self._finish(call, results, None)
        self._cancel(call)

    def _cancel(self, call: Call) -> None:
        """End the work on a call that nobody waits for."""
        call.work.cancel()

    def _abandon(self, calls: list[Call]) -> None:
        self._abandoned = True
        self._deadlines.clear()
        for call in calls:
            if not call.done:
                call.done = True
                if call.work is not None:
                    self._cancel(call)


_MIN_PRUNE_CALLS = 1000
_TIMER_TOLERANCE_S = 0.0005
"""A timer may fire this much before its time."""


class Deadlines:
    """Says when the time of a call is up. All calls have the same time, so there is one timer.

    A timer for each call would double what a call costs.
    """

    def __init__(self, loop: AbstractEventLoop, time_is_up: Callable[[Call], None]) -> None:
        self._loop, self._on_timeout = loop, time_is_up
        self._queue: deque[tuple[float, Call]] = deque()
        self._prune_at = _MIN_PRUNE_CALLS
        self._timer: asyncio.TimerHandle | None = None

    def add(self, calls: list[Call], timeout_s: float) -> None:
        """Calls that began just now."""
        at_s = self._loop.time() + timeout_s
        self._queue.extend((at_s, call) for call in calls)
        if len(self._queue) > self._prune_at:  # calls that are done need not be remembered
            self._queue = deque(each for each in self._queue if not each[1].done)
            self._prune_at = max(_MIN_PRUNE_CALLS, 2 * len(self._queue))
        self._set_timer()

    def clear(self) -> None:
        """Forget all calls."""
        self._queue.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _set_timer(self) -> None:
        if self._timer is None and self._queue:
            self._timer = self._loop.call_at(self._queue[0][0], self._check_deadlines)

    def _check_deadlines(self) -> None:
        self._timer = None
        queue, due_s = self._queue, self._loop.time() + _TIMER_TOLERANCE_S
        while queue and (queue[0][1].done or queue[0][0] <= due_s):
            _, call = queue.popleft()
            if not call.done:
                self._on_timeout(call)
        self._set_timer()
