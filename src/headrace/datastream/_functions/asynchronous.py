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
    """One record in, any number out, after a call to another system.

    ``async_invoke`` and ``timeout`` run on the event loop's thread, of which each process has one.
    ``open`` and ``close`` run on the task's thread, or on the event loop if they are ``async def``.
    Create and close clients that belong to the loop in an ``async def``.
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """The results for a record: a list, also of one; an exception fails the job."""

    def timeout(self, value: IN) -> list[OUT]:
        """The results for a record whose time is over; it raises unless overridden."""
        raise TimeoutError(f"no result came in time for {value!r}")


class AsyncFunctionDescriptor:
    """An asynchronous function with the options of its calls."""

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
