"""A function's life cycle, and its runtime context."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # A context gives out states, and the descriptors that ask for some of them hold functions.
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
    """Gives out keyed state; asking twice for one name gives the same state."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """A value per key."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list per key."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """A map per key."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """A value per key into which values are reduced."""

    @abstractmethod
    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[Any, Any]:
        """An accumulator per key into which values are aggregated."""


class RuntimeContext(KeyedStateStore):
    """Where a function runs; given to ``open``. Keyed state works after ``key_by`` only."""

    @abstractmethod
    def get_task_name(self) -> str:
        """The operator's name."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """The operator's parallelism."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """The number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """This subtask's index, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """How often this task was started before."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """The operator's name with ``(index + 1/parallelism)``."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global job parameter, or the default."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """The operator's metrics."""


class Function(ABC):  # noqa: B024 - what it marks is the life cycle below
    """Something with a life cycle: opened before its first record in a process, closed at the end.

    On Spark workers may end, or go on to other jobs, without a call of ``close``.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called before the first record."""

    def close(self) -> None:
        """Called after the last record."""
