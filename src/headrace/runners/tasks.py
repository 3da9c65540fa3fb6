"""The source tasks and keyed tasks of a run in one process, for all runners."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace

from headrace.connector import WorkerResources
from headrace.metrics.metricbase import MetricGroup
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.context import TaskInfo
from headrace.runtime.program import JobProgram, VertexProgram
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.tasks.keyed_task import KeyedTask
from headrace.runtime.tasks.source_task import SourceTask


class Tasks:
    """The tasks of one run in this process: each is opened when first used.

    ``process_facts``: the part of ``TaskInfo`` that the process knows; the rest comes from the
    program. ``key_groups``: by vertex, the number of key groups that functions see, where it
    differs from that of the program that runs.
    """

    def __init__(
        self,
        program: JobProgram,
        process_facts: TaskInfo | None = None,
        key_groups: Mapping[str, int] | None = None,
    ) -> None:
        self.program = program
        self.metrics = MetricGroup()
        self.resources = WorkerResources()
        """What this run's writers share across micro-batches."""
        self._process_facts = TaskInfo() if process_facts is None else process_facts
        self._key_groups = key_groups or {}
        self._source: SourceTask | None = None
        self._keyed: dict[tuple[str, int], KeyedTask] = {}

    def source(self) -> SourceTask:
        """Return the source task."""
        if self._source is None:
            self._source = SourceTask(self.program, self.source_task_info(), self.metrics)
        return self._source

    def get_keyed_task(self, vertex: VertexProgram, group: int) -> KeyedTask:
        """Return the task of a vertex: one for all key groups; without keys, one per subtask."""
        subtask = 0 if vertex.keyed else group
        task = self._keyed.get((vertex.id, subtask))
        if task is None:
            index = self._process_facts.subtask if vertex.keyed else lambda: subtask
            groups = self._key_groups.get(vertex.id, vertex.groups)
            task_info = self._task_info(vertex.parallelism, groups, index)
            task = KeyedTask(vertex, self.program, task_info, self.metrics)
            self._keyed[vertex.id, subtask] = task
        return task

    def convert_state(
        self, vertex: VertexProgram, group: int, backend: StateBackend, now_ms: int
    ) -> None:
        """Convert what a key group, or ``ALL_GROUPS``, has stored under an earlier program.

        ``now_ms``: the time of the last micro-batch.
        """
        task = self.get_keyed_task(vertex, max(group, 0))
        if group == ALL_GROUPS:
            task.convert_broadcast_state(backend)
        else:
            task.convert_state(backend, now_ms)

    def source_task_info(self) -> TaskInfo:
        """Return the task info for functions before the first exchange."""
        process_facts = self._process_facts
        return self._task_info(
            self.program.parallelism, process_facts.max_parallelism, process_facts.subtask
        )

    def _task_info(
        self, parallelism: int, max_parallelism: int, subtask: Callable[[], int]
    ) -> TaskInfo:
        return replace(
            self._process_facts,
            # A source may have one more task, which only announces new splits.
            subtask=lambda: subtask() % parallelism,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            is_batch=self.program.batch,
            job_parameters=self.program.settings.job_parameters,
        )

    def close(self) -> None:
        """Close functions and shared resources, all of them even if some fail."""
        with contextlib.ExitStack() as stack:  # closed in reverse order
            stack.callback(self.resources.close)
            for task in reversed(self._keyed.values()):
                stack.callback(task.close)
            if self._source is not None:
                stack.callback(self._source.close)
