"""A function's life cycle, and its runtime context."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Contexts return states, and some state descriptors contain functions.
    from headrace.datastream.state import (
        AggregatingState,
        AggregatingStateDescriptor,
        ListState,
        ListStateDescriptor,
        MapState,
        MapStateDescriptor,
        ReducingState,
        ReducingStateDescriptor,
        ValueState,
        ValueStateDescriptor,
    )
    from headrace.metrics import MetricGroup


class KeyedStateStore(ABC):
    """Returns keyed state by descriptor; the same name always returns the same state."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """Return state with one value per key."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """Return state with one list per key."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """Return state with one map per key."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """Return state with one value per key, into which added values are reduced."""

    @abstractmethod
    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[Any, Any]:
        """Return state with one accumulator per key, into which added values are aggregated."""


class RuntimeContext(KeyedStateStore):
    """The context of a function's task, which ``open`` receives. Keyed state needs ``key_by``."""

    @abstractmethod
    def get_task_name(self) -> str:
        """Return the operator's name."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Return the operator's parallelism."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Return this subtask's index, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """Return the number of earlier attempts of this task; 0 for the first."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """Return the operator's name with ``(index + 1/parallelism)``."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Return a global job parameter, or ``default_value`` if it is not set."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Return the operator's metric group."""


class Function(ABC):  # noqa: B024 - what it marks is the life cycle below
    """The base of user functions: opened before the first record in a process, closed at the end.

    On Spark, workers may end or run other jobs without a call of ``close``.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        """Prepare the function; called before the first record."""

    def close(self) -> None:
        """Close what ``open`` has opened.

        Called after the last record. By default does nothing.
        """
