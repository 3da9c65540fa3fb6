"""Asynchronous functions, which are called for several rows at once, on the process's event
loop."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from headrace.common._arguments import require_positive
from headrace.common._options import catalogue as options
from headrace.common._options.table import (
    ASYNC_CALLS,
    ASYNC_RETRIES,
    ASYNC_RETRY_DELAY,
    ASYNC_RETRY_STRATEGY,
    ASYNC_TIMEOUT,
)
from headrace.common.configuration import Configuration
from headrace.sql.python_function import Signature
from headrace.table._functions.implementation import PythonImplementation, RowResults, note_call

if TYPE_CHECKING:
    from headrace.operators.asynchronous.calls import CallSettings


@dataclass(frozen=True)
class AsyncSettings:
    """How functions are called: ``table.exec.async-scalar`` of the job.

    ``max_calls``: how many at once. ``timeout_ms``: for all attempts of a call together.
    ``retries``: how often a call is repeated after an exception.
    """

    max_calls: int = ASYNC_CALLS.default
    timeout_ms: int = ASYNC_TIMEOUT.default
    retries: int = ASYNC_RETRIES.default
    retry_delay_ms: int = ASYNC_RETRY_DELAY.default

    @classmethod
    def of(cls, configuration: Configuration) -> Self:
        """Return the settings of a job."""
        again = options.read(configuration, ASYNC_RETRY_STRATEGY) == "FIXED_DELAY"
        return cls(
            require_positive(options.read(configuration, ASYNC_CALLS), ASYNC_CALLS.key),
            require_positive(options.read(configuration, ASYNC_TIMEOUT), ASYNC_TIMEOUT.key),
            options.read(configuration, ASYNC_RETRIES) if again else 0,
            options.read(configuration, ASYNC_RETRY_DELAY),
        )

    def calls_of(self, function: Any) -> CallSettings:
        """Return how a function is called with the arguments of a row."""
        from headrace.datastream.async_retry_strategies import FixedDelayRetryStrategy
        from headrace.operators.asynchronous.calls import CallSettings

        strategy: FixedDelayRetryStrategy[Any] | None = None
        if self.retries > 0:
            strategy = FixedDelayRetryStrategy(self.retries, self.retry_delay_ms, None, _always)

        async def invoke(arguments: tuple[Any, ...]) -> Any:
            return await function(*arguments)

        def on_timeout(arguments: tuple[Any, ...]) -> Any:
            raise TimeoutError(f"Async function call has timed out for input: {[*arguments]}")

        return CallSettings(invoke, strategy, self.timeout_ms / 1000, on_timeout)


def _always(error: Exception) -> bool:
    return True


class AsyncImplementation(PythonImplementation):
    """Awaits a coroutine function; the rows of a block keep their order."""

    settings = AsyncSettings()

    def configured(self, settings: AsyncSettings) -> Self:
        """Return the function with the settings of a job."""
        made = copy.copy(self)
        made.settings = settings
        return made

    def results_of(self, call: Signature) -> RowResults:
        """Return a function that awaits the calls for the rows of a block."""
        from headrace.operators.asynchronous.calls import Calls
        from headrace.operators.asynchronous.element_queue import Call
        from headrace.operators.asynchronous.loop import event_loop

        settings = self.settings.calls_of(self.evaluate)
        max_calls = self.settings.max_calls

        def results_of(columns: Sequence[Sequence[Any]], rows: int) -> list[Any]:
            arguments = [*zip(*columns, strict=True)] if columns else [()] * rows
            made = [Call(each, None, each) for each in arguments]
            calls = Calls(event_loop(), settings)
            waiting = iter(made)
            for each in islice(waiting, max_calls):
                calls.begin(each)
            for _ in made:
                done = calls.done.get()
                if done.error is not None:
                    calls.abandon(made)
                    if isinstance(done.error, Exception):
                        note_call(done.error, call, done.argument)
                    raise done.error
                for each in islice(waiting, 1):
                    calls.begin(each)
            return [each.results for each in made]

        return results_of
