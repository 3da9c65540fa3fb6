"""What a user function can ask about the task that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.common._options.catalogue import DEFAULT_MAX_PARALLELISM
from headrace.errors import NotKeyedError
from headrace.metrics.metricbase import MetricGroup
from headrace.runtime.overflow import MemoryOverflow, Overflow
from headrace.runtime.state.broadcast_state import BroadcastStateStore
from headrace.runtime.state.handles import KeyContext, StateStore


@dataclass
class TaskInfo:
    """What the functions of a task may know of the task.

    ``subtask``: returns the current subtask's number; it is called each time, as a worker runs
    several tasks. ``attempt``: returns the attempt's number, from 0. ``overflow``: makes the queue
    for output in the middle of a call. ``clock_ns``: a clock for the working time, of which only
    differences count.
    """

    subtask: Callable[[], int] = lambda: 0
    attempt: Callable[[], int] = lambda: 0
    parallelism: int = 1
    max_parallelism: int = DEFAULT_MAX_PARALLELISM
    is_batch: bool = False
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    overflow: Callable[[], Overflow] = MemoryOverflow
    clock_ns: Callable[[], int] = lambda: 0


class TaskContext:
    """The ``RuntimeContext`` of one operator in one task."""

    def __init__(
        self,
        name: str,
        site: str,
        task_info: TaskInfo,
        metrics: MetricGroup,
        key_context: KeyContext | None,
        uid: str | None = None,
    ) -> None:
        self._name = name
        self._site = site
        self._task_info = task_info
        self._metrics = metrics
        owner = f"{name} (uid={uid})" if uid else name
        self.states = StateStore(key_context, owner) if key_context is not None else None
        self.broadcast_states: BroadcastStateStore | None = None
        """State that the whole task shares; None for an operator without a broadcast input."""

    def get_task_name(self) -> str:
        """Return the operator's name."""
        return self._name

    def get_number_of_parallel_subtasks(self) -> int:
        """Return the operator's parallelism."""
        return self._task_info.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the operator's maximum parallelism: the number of key groups."""
        return self._task_info.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Return the number of the parallel task, from 0."""
        return self._task_info.subtask()

    def get_attempt_number(self) -> int:
        """Return how often the task was tried before, from 0."""
        return self._task_info.attempt()

    def get_task_name_with_subtasks(self) -> str:
        """Return the name with the subtask, such as ``Map (2/4)``."""
        return f"{self._name} ({self._task_info.subtask() + 1}/{self._task_info.parallelism})"

    @property
    def job_parameters(self) -> Mapping[str, str]:
        """The global job parameters."""
        return self._task_info.job_parameters

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Return a global job parameter, or the default."""
        return self._task_info.job_parameters.get(key, default_value)

    def get_metrics_group(self) -> MetricGroup:
        """Return the operator's metric group, in which metrics are registered."""
        return self._metrics

    def _require_states(self, what: str) -> StateStore:
        if self.states is None:
            raise NotKeyedError(
                f"{what} is asked for on a stream that is not keyed",
                where={"operator": f"{self._name}, built at {self._site}"},
                hint="put .key_by(...) before the operator",
            )
        return self.states

    def get_state(self, state_descriptor: Any) -> Any:
        """Return the value state of a descriptor."""
        return self._require_states("value state").get_state(state_descriptor)

    def get_list_state(self, state_descriptor: Any) -> Any:
        """Return the list state of a descriptor."""
        return self._require_states("list state").get_list_state(state_descriptor)

    def get_map_state(self, state_descriptor: Any) -> Any:
        """Return the map state of a descriptor."""
        return self._require_states("map state").get_map_state(state_descriptor)

    def get_reducing_state(self, state_descriptor: Any) -> Any:
        """Return the reducing state of a descriptor."""
        return self._require_states("reducing state").get_reducing_state(state_descriptor)

    def get_aggregating_state(self, state_descriptor: Any) -> Any:
        """Return the aggregating state of a descriptor."""
        return self._require_states("aggregating state").get_aggregating_state(state_descriptor)
