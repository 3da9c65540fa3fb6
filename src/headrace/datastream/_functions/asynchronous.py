"""Functions that wait for another system without blocking the stream."""

from __future__ import annotations

from abc import abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.datastream._functions.function import Function

if TYPE_CHECKING:
    from headrace.common.time import TimeAmount
    from headrace.datastream._functions.retries import AsyncRetryStrategy

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class AsyncFunction(Function, Generic[IN, OUT]):
    """Emits any number of records for each input record, after a call to another system.

    ``async_invoke`` and ``timeout`` run in the thread of the event loop; each process has one event
    loop. ``open`` and ``close`` run in the task's thread, or in the event loop if they are
    ``async def``. Create and close clients that belong to the event loop in an ``async def``.
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """Return the list of results for a record; an exception fails the job."""

    def timeout(self, value: IN) -> list[OUT]:
        """Return the list of results for a record that timed out.

        Raises:
            TimeoutError: unless the method is overridden.
        """
        raise TimeoutError(f"no result came in time for {value!r}")


class AsyncFunctionDescriptor:
    """An asynchronous function, and the options of its calls."""

    class OutputMode(Enum):
        """Whether results keep the order of their records."""

        ORDERED = 0
        UNORDERED = 1

    def __init__(
        self,
        async_function: AsyncFunction[Any, Any],
        timeout: TimeAmount,
        capacity: int,
        async_retry_strategy: AsyncRetryStrategy[Any],
        output_mode: OutputMode,
    ) -> None:
        self.async_function = async_function
        self.timeout = timeout
        self.capacity = capacity
        self.async_retry_strategy = async_retry_strategy
        self.output_mode = output_mode
