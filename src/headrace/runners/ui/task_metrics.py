"""The metrics of tasks and their operators under the names of Flink's REST API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from headrace.metrics import _operator_counts as names
from headrace.metrics._merging import Number
from headrace.runners.job_graph import JobGraph, OperatorInfo
from headrace.runners.reporters.samples import Sample, Scope, Summary, as_float

TaskMetrics = Mapping[str, Mapping[int, Mapping[str, Number]]]
"""Values by the id of a vertex, its subtask, and the metric's name.

The name of an operator's metric begins with the operator's: ``sums.numRecordsIn``.
"""

_FROM_TASKS = (names.RECORDS_IN, f"{names.RECORDS_IN}PerSecond")
_RECORDS = (names.RECORDS_IN, names.RECORDS_OUT)


def task_metrics(graph: JobGraph, samples: Iterable[Sample]) -> TaskMetrics:
    """Return the metrics of all tasks.

    As in Flink, the task of a source has read no records, as none came from another task; the
    operator ``Source: ...`` has.
    """
    sources = {each.vertex for each in graph.operators if each.kind == "source"}
    prefixes = {each.id: f"{_operator_name(each)}." for each in graph.operators}
    found: dict[str, dict[int, dict[str, Number]]] = {each.id: {} for each in graph.vertices}
    for sample in samples:
        variables = sample.variables
        vertex = variables.get("task_id", "")
        if vertex not in found:
            continue
        subtask = int(variables["subtask_index"])
        values = found[vertex].setdefault(subtask, dict.fromkeys(_RECORDS, 0))
        if sample.scope is Scope.OPERATOR:
            values.update(_named(sample, prefixes[variables["operator_id"]]))
        elif vertex not in sources or sample.name not in _FROM_TASKS:
            values.update(_named(sample, ""))
        else:
            values[sample.name] = 0
    return found


def _named(sample: Sample, prefix: str) -> Iterator[tuple[str, Number]]:
    parts = [part for group in sample.groups for part in group if part is not None]
    name = prefix + ".".join(_without_separators(part) for part in (*parts, sample.name))
    value = sample.value
    if not isinstance(value, Summary):
        yield name, value
        return
    kept = {"count": value.count, "mean": value.mean, "min": value.lowest, "max": value.highest}
    for suffix, number in kept.items():
        if number is not None:
            yield f"{name}_{suffix}", as_float(number)


def _operator_name(operator: OperatorInfo) -> str:
    """Return an operator's name as Flink writes it in the names of metrics."""
    kind = "Source: " if operator.kind == "source" else ""
    return _without_separators(f"{kind}{operator.name}")


def _without_separators(name: str) -> str:
    return "".join(c if c not in " :.,()" else "_" for c in name)
