"""The classes that users extend, and what their functions know of the task that runs them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.metrics.metricbase import MetricGroup

if TYPE_CHECKING:
    from headrace.table._types.data_types import DataType

T = TypeVar("T")
ACC = TypeVar("ACC")


class FunctionContext:
    """What a function can ask about the task that runs it."""

    def __init__(
        self,
        base_metric_group: MetricGroup,
        job_parameters: Mapping[str, str],
        task_name: str | None = None,
        task_name_with_subtasks: str | None = None,
        number_of_parallel_subtasks: int | None = None,
        max_number_of_parallel_subtasks: int | None = None,
        index_of_this_subtask: int | None = None,
        attempt_number: int | None = None,
    ) -> None:
        self._base_metric_group = base_metric_group
        self._job_parameters = job_parameters
        self._task_name = task_name
        self._task_name_with_subtasks = task_name_with_subtasks
        self._number_of_parallel_subtasks = number_of_parallel_subtasks
        self._max_number_of_parallel_subtasks = max_number_of_parallel_subtasks
        self._index_of_this_subtask = index_of_this_subtask
        self._attempt_number = attempt_number

    def get_metric_group(self) -> MetricGroup:
        """Return the operator's metric group, in which metrics are registered."""
        return self._base_metric_group

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Return a global job parameter, or the default."""
        return self._job_parameters.get(key, default_value)

    def get_task_name(self) -> str | None:
        """Return the operator's name."""
        return self._task_name

    def get_task_name_with_subtasks(self) -> str | None:
        """Return the name with the subtask, such as ``Calc (2/4)``."""
        return self._task_name_with_subtasks

    def get_number_of_parallel_subtasks(self) -> int | None:
        """Return the operator's parallelism."""
        return self._number_of_parallel_subtasks

    def get_max_number_of_parallel_subtasks(self) -> int | None:
        """Return the operator's maximum parallelism: the number of key groups."""
        return self._max_number_of_parallel_subtasks

    def get_index_of_this_subtask(self) -> int | None:
        """Return the number of the parallel task, from 0."""
        return self._index_of_this_subtask

    def get_attempt_number(self) -> int | None:
        """Return how often the task was tried before, from 0."""
        return self._attempt_number


class UserDefinedFunction(ABC):  # noqa: B024  # as in PyFlink
    """A function of a user, with a beginning and an end for each task."""

    def open(self, function_context: FunctionContext) -> None:
        """Prepare for calls; called once in each task."""

    def close(self) -> None:
        """Release what the function holds; called after the last call."""

    def is_deterministic(self) -> bool:
        """Return whether equal arguments give equal results; True unless overridden."""
        return True


class ScalarFunction(UserDefinedFunction):
    """Gives one value for the arguments of a row."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Return the value."""


class AsyncScalarFunction(UserDefinedFunction):
    """Computes one value from a row, in a coroutine: other rows do not wait."""

    @abstractmethod
    async def eval(self, *args: Any) -> Any:
        """Return the value."""


class TableFunction(UserDefinedFunction):
    """Gives any number of rows for the arguments of a row."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Yield the rows, or return a list of them; a row is a Row, a tuple or a single value."""


class ImperativeAggregateFunction(UserDefinedFunction, Generic[T, ACC]):
    """Adds rows to an accumulator."""

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """Return the accumulator of no rows."""

    @abstractmethod
    def accumulate(self, accumulator: ACC, *args: Any) -> None:
        """Add a row's arguments to the accumulator."""

    def retract(self, accumulator: ACC, *args: Any) -> None:
        """Take a row's arguments out of the accumulator, where rows change."""
        raise RuntimeError("Method retract is not implemented")

    def merge(self, accumulator: ACC, accumulators: Iterable[ACC]) -> None:
        """Add other accumulators to the first one."""
        raise RuntimeError("Method merge is not implemented")

    def get_result_type(self) -> DataType | str:
        """Return the type of the result."""
        raise RuntimeError("Method get_result_type is not implemented")

    def get_accumulator_type(self) -> DataType | str:
        """Return the type of the accumulator."""
        raise RuntimeError("Method get_accumulator_type is not implemented")


class AggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """Gives one value for the rows of a group."""

    @abstractmethod
    def get_value(self, accumulator: ACC) -> T:
        """Return the value of an accumulator."""


class TableAggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """Gives any number of rows for the rows of a group."""

    @abstractmethod
    def emit_value(self, accumulator: ACC) -> Iterable[T]:
        """Yield the rows of an accumulator."""


# Pickles and errors name the public path.
for _public in (
    FunctionContext,
    UserDefinedFunction,
    ScalarFunction,
    AsyncScalarFunction,
    TableFunction,
    ImperativeAggregateFunction,
    AggregateFunction,
    TableAggregateFunction,
):
    _public.__module__ = "headrace.table.udf"
