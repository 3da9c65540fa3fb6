"""The metrics of a run by operator and subtask, as Flink numbers subtasks."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.metrics._merging import (
    MetricId,
    MetricValue,
    Number,
    merge_subtasks,
    select_numbers,
)
from headrace.runners.job_graph import JobGraph, job_graph
from headrace.runtime.program import JobProgram

CountKey = tuple[str, int, str]
"""Id of an operator, subtask, and name of a metric."""

OperatorMetrics = Mapping[str, Mapping[int, Mapping[str, Number]]]
"""Values by the id of an operator, its subtask, and the name of the metric."""


class Subtasks:
    """The subtasks of a job's operators; ``partitions``: per keyed stage, on Spark."""

    def __init__(self, graph: JobGraph, partitions: int) -> None:
        self._partitions = max(partitions, 1)
        self._parallelism = {each.id: each.parallelism for each in graph.operators}
        self._sources = {each.id for each in graph.operators if each.kind == "source"}

    def number_of(self, operator: str, number: int) -> int:
        """Return the subtask of a Spark task, or of a key group."""
        if operator not in self._sources:
            number %= self._partitions
        return number % max(self._parallelism.get(operator, 1), 1)

    def values(self, metrics: Mapping[MetricId, MetricValue]) -> dict[CountKey, MetricValue]:
        """Return metrics by operator, subtask and name, without those of the job itself."""
        found: dict[CountKey, MetricValue] = {}
        for metric, value in metrics.items():
            if metric.operator:
                subtask = self.number_of(metric.operator, metric.subtask)
                key = (metric.operator, subtask, metric.metric)
                found[key] = merge_subtasks(found.get(key), value)
        return found


def metrics_by_subtask(
    program: JobProgram, metrics: Mapping[MetricId, MetricValue]
) -> OperatorMetrics:
    """Return the numbers of metrics by operator id, subtask and name."""
    by_subtask: dict[tuple[str, int], dict[str, MetricValue]] = {}
    values = Subtasks(job_graph(program), program.partitions).values(metrics)
    for (operator, subtask, name), value in values.items():
        by_subtask.setdefault((operator, subtask), {})[name] = value
    found: dict[str, dict[int, dict[str, Number]]] = {}
    for (operator, subtask), named in sorted(by_subtask.items()):
        found.setdefault(operator, {})[subtask] = select_numbers(named)
    return found
