"""Merging the metrics of several tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple

Number = int | float


class MergeRule(Enum):
    """How the values that two tasks report for a metric are merged."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"
    LAST = "last"
    """The value that was reported last, as of a gauge."""
    TOTAL = "total"
    """The last value of each subtask; over several subtasks, their sum."""
    LOWEST = "lowest"
    """The last value of each subtask; over several subtasks, the smallest."""
    MEAN = "mean"
    """Computed from ``sum`` and ``count`` of the same metric."""


class MetricId(NamedTuple):
    """The id of a metric. ``operator``: the operator's id, empty for the job's own metrics.

    ``name``: the operator's name; other operators may have the same name. ``metric``: a dotted
    name.
    ``subtask``: the number of the Spark task that reported the value. A metric of a key group (the
    size of its state, its watermark) has the number of the group instead, because any task may
    report it next.
    """

    operator: str
    name: str
    metric: str
    subtask: int = 0


class MetricOrigin(NamedTuple):
    """How a function registered a metric.

    ``kind``: ``counter``, ``gauge``, ``meter`` or ``distribution``. ``groups``: the names of its
    groups; with a value where ``add_group`` got one. ``suffix``: which of the metric's values it
    is (``count`` of a meter). ``span_s``: over how many seconds a meter's rate is computed.
    """

    kind: str
    groups: tuple[tuple[str, str | None], ...]
    name: str
    suffix: str = ""
    span_s: int = 0


class MetricValue(NamedTuple):
    """The value of a metric in one attempt of a task, and how it is merged with other values.

    ``origin``: None for the metrics that the engine itself measures.
    """

    rule: MergeRule
    value: Number
    origin: MetricOrigin | None = None


_Merge = Callable[[Number, Number], Number]

_ACROSS_ATTEMPTS: dict[MergeRule, _Merge] = {
    MergeRule.SUM: lambda known, reported: known + reported,
    MergeRule.MIN: min,
    MergeRule.MAX: max,
    MergeRule.LAST: lambda known, reported: reported,
    MergeRule.TOTAL: lambda known, reported: reported,
    MergeRule.LOWEST: lambda known, reported: reported,
    MergeRule.MEAN: lambda known, reported: reported,
}
"""Merge a subtask's value with the one of a later attempt."""

_ACROSS_SUBTASKS: dict[MergeRule, _Merge] = {
    **_ACROSS_ATTEMPTS,
    MergeRule.TOTAL: _ACROSS_ATTEMPTS[MergeRule.SUM],
    MergeRule.LOWEST: min,
}
"""Merge the values of two subtasks."""


def merge(into: dict[MetricId, MetricValue], reported: Mapping[MetricId, MetricValue]) -> None:
    """Merge the values of an attempt into those known; the last reported ones move to the end."""
    for name, entry in reported.items():
        known = into.pop(name, None)
        into[name] = entry if known is None else _combine(_ACROSS_ATTEMPTS, known, entry)


def merge_into_copy(
    known: Mapping[MetricId, MetricValue], reported: Mapping[MetricId, MetricValue]
) -> dict[MetricId, MetricValue]:
    """Merge like ``merge``, into a new dictionary: another thread may be reading ``known``."""
    result = dict(known)
    merge(result, reported)
    return result


def merge_subtasks(known: MetricValue | None, other: MetricValue) -> MetricValue:
    """Return the merged value of two subtasks."""
    return other if known is None else _combine(_ACROSS_SUBTASKS, known, other)


def _combine(
    rules: Mapping[MergeRule, _Merge], known: MetricValue, reported: MetricValue
) -> MetricValue:
    value = rules[reported.rule](known.value, reported.value)
    return MetricValue(reported.rule, value, reported.origin)


def figures(metrics: Mapping[MetricId, MetricValue]) -> dict[str, Number]:
    """Return the values for users: by ``operator name.metric``, over all subtasks.

    If several operators share a name, their values are merged under the name, and each operator's
    own value is under its id.
    """
    operators: dict[str, set[str]] = {}
    for key in metrics:
        operators.setdefault(key.name, set()).add(key.operator)
    named: dict[str, MetricValue] = {}
    by_id: dict[str, MetricValue] = {}
    for key, entry in metrics.items():
        _add(named, _join_names(key.name, key.metric), entry)
        if len(operators[key.name]) > 1:
            _add(by_id, _join_names(key.operator, key.metric), entry)
    return {**select_numbers(by_id), **select_numbers(named)}


def _join_names(scope: str, metric: str) -> str:
    return f"{scope}.{metric}" if scope else metric


def _add(into: dict[str, MetricValue], name: str, entry: MetricValue) -> None:
    into[name] = merge_subtasks(into.get(name), entry)


def select_numbers(metrics: Mapping[str, MetricValue]) -> dict[str, Number]:
    """Return the numbers of metrics by their names; means are computed from sums and counts."""
    found = {name: entry.value for name, entry in metrics.items()}
    for name, entry in metrics.items():
        if entry.rule is MergeRule.MEAN:
            of = name.removesuffix("mean")
            # a sum of 0 may be missing
            found[name] = found.get(f"{of}sum", 0) / found[f"{of}count"]
    return found
