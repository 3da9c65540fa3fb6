"""Calls of an asynchronous function on the event loop, with retries and timeouts."""

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
    """The methods of a retry strategy that are used here (see ``AsyncRetryStrategy``)."""

    def can_retry(self, current_attempts: int) -> bool:
        """Return whether another attempt may follow after this number of attempts."""

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the delay (ms) before the next attempt."""

    def get_retry_predicate(self) -> Any:
        """Return the predicates of results and errors that are retried."""


@dataclass(frozen=True)
class CallSettings:
    """How the function is called for an argument.

    ``retries`` None: one attempt. ``timeout_s``: for all attempts together; None for no timeout.
    ``on_timeout(argument)`` returns the results after a timeout, or raises.
    """

    invoke: Invoke
    retries: Retries | None
    timeout_s: float | None
    on_timeout: Callable[[Any], Any]

    @property
    def invoke_with_retries(self) -> Invoke:
        """The function, or a wrapper that retries it.

        The wrapper raises the last attempt's exception.
        """
        # Without retries there is no wrapper: each further coroutine costs time for each record.
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
    """The calls of one task run: started by the task's thread, run by the event loop's thread.

    Completed calls are put into ``done``, for the task's thread.
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
        """Start a call, soon: calls are started in batches."""
        self._new.append(call)
        # Waking the loop costs more than a call: it is woken once for all calls until it runs.
        if not self._awake:
            self._awake = True
            self._loop.call_soon_threadsafe(self._start_new)

    def abandon(self, calls: Iterable[Call]) -> None:
        """Cancel calls, as their task run has failed."""
        self._loop.call_soon_threadsafe(self._abandon, [*calls])

    # On the event loop.

    def _start_new(self) -> None:
        self._awake = False  # before the calls start: calls added meanwhile must wake it again
        if self._abandoned:
            return
        new, started = self._new, []
        while new:
            call = new.popleft()
            try:
                self._start(call)
            except Exception as error:  # a key that cannot be compared, say
                self._finish(call, None, error)
            started.append(call)
        if self._settings.timeout_s is not None:
            self._deadlines.add(started, self._settings.timeout_s)

    def _start(self, call: Call) -> None:
        call.work = self._loop.create_task(self._run_call(call))

    async def _run_call(self, call: Call) -> None:
        try:
            results = await self._invoke(call.argument)
        except BaseException as error:  # sys.exit fails the job, and must not end the loop
            self._finish(call, None, error)
        else:
            self._finish(call, results, None)

    def _finish(self, call: Call, results: Any, error: BaseException | None) -> None:
        """Put a call into ``done``, unless it is there already because of a timeout."""
        if call.done:
            return
        call.results, call.error = results, error
        call.done = True  # last: the task's thread may read the call as soon as this is set
        self.done.put(call)

    def _on_timeout(self, call: Call) -> None:
        try:
            results = self._settings.on_timeout(call.argument)
        except BaseException as error:  # as in _run_call
            self._finish(call, None, error)
        else:
            self._finish(call, results, None)
        self._cancel(call)

    def _cancel(self, call: Call) -> None:
        """Cancel the work on a call whose results nobody needs any more."""
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
"""An event loop's timer may fire this much too early."""


class Deadlines:
    """Calls ``time_is_up`` when a call reaches its timeout.

    All calls have the same timeout, so one timer is enough. A timer for each call would double its
    cost.
    """

    def __init__(self, loop: AbstractEventLoop, time_is_up: Callable[[Call], None]) -> None:
        self._loop, self._on_timeout = loop, time_is_up
        self._queue: deque[tuple[float, Call]] = deque()
        self._prune_at = _MIN_PRUNE_CALLS
        self._timer: asyncio.TimerHandle | None = None

    def add(self, calls: list[Call], timeout_s: float) -> None:
        """Watch calls that were started just now."""
        at_s = self._loop.time() + timeout_s
        self._queue.extend((at_s, call) for call in calls)
        if len(self._queue) > self._prune_at:  # remove calls that are done
            self._queue = deque(each for each in self._queue if not each[1].done)
            self._prune_at = max(_MIN_PRUNE_CALLS, 2 * len(self._queue))
        self._set_timer()

    def clear(self) -> None:
        """Stop watching all calls."""
        self._queue.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _set_timer(self) -> None:
        if self._timer is None and self._queue:
            self._timer = self._loop.call_at(self._queue[0][0], self._expire_calls)

    def _expire_calls(self) -> None:
        """Report the calls whose deadline has passed, and set the timer for the next deadline."""
        self._timer = None
        queue, due_s = self._queue, self._loop.time() + _TIMER_TOLERANCE_S
        while queue and (queue[0][1].done or queue[0][0] <= due_s):
            _, call = queue.popleft()
            if not call.done:
                self._on_timeout(call)
        self._set_timer()
