"""How figures of tasks come to counts by operator: exactly, over subtasks and micro-batches."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.common._watermark_generators import MAX_WATERMARK, MIN_WATERMARK
from headrace.metrics import MetricGroup, OperatorCounts, SourceCounts
from headrace.metrics._measures import (
    KeyGroupMinimum,
    KeyGroupValues,
    MeasuredSum,
    Milliseconds,
    Tally,
)
from headrace.metrics._merging import MergeRule, MetricId, MetricValue, figures, merge_into_copy
from headrace.metrics._operator_counts import operator_counts, source_counts


@dataclass(frozen=True)
class Node:
    id: str
    name: str
    uid: str | None = None


SUM = Node("sum-1", "sum", "my-sum")


def parts(subtask: int, **of_metric: tuple[MergeRule, float]) -> dict[MetricId, MetricValue]:
    return {
        MetricId(SUM.id, SUM.name, metric, subtask): MetricValue(*part)
        for metric, part in of_metric.items()
    }


def test_numbers_are_added_over_subtasks_and_micro_batches() -> None:
    first = parts(0, numRecordsIn=(MergeRule.SUM, 3), accumulateBusyTimeMs=(MergeRule.SUM, 0.5))
    beside = parts(1, numRecordsIn=(MergeRule.SUM, 4), numLateRecordsDropped=(MergeRule.SUM, 2))
    later = parts(0, numRecordsIn=(MergeRule.SUM, 10), numBytesIn=(MergeRule.SUM, 7))
    (found,) = operator_counts(merge_into_copy(merge_into_copy(first, beside), later), [SUM])
    assert found == OperatorCounts(
        "sum-1", "sum", "my-sum", None, 17, 0, 2, bytes_in=7, busy_ms=0.5
    )


def test_of_state_and_watermarks_the_last_of_each_group_counts() -> None:
    first = parts(
        0, stateEntries=(MergeRule.TOTAL, 5), currentInputWatermark=(MergeRule.LOWEST, 10)
    )
    beside = parts(
        1, stateEntries=(MergeRule.TOTAL, 4), currentInputWatermark=(MergeRule.LOWEST, 12)
    )
    later = parts(
        0, stateEntries=(MergeRule.TOTAL, 1), currentInputWatermark=(MergeRule.LOWEST, 20)
    )
    known = merge_into_copy(merge_into_copy(first, beside), later)
    (found,) = operator_counts(known, [SUM])
    assert (found.state_entries, found.watermark_ms) == (5, 12)
    assert figures(known) == {"sum.stateEntries": 5, "sum.currentInputWatermark": 12}
    each = operator_counts(known, [SUM], by_subtask=True)
    assert [(one.subtask, one.state_entries, one.watermark_ms) for one in each] == [
        (0, 1, 20),
        (1, 4, 12),
    ]


def test_a_group_without_a_watermark_leaves_the_operator_without() -> None:
    known = parts(0, currentInputWatermark=(MergeRule.LOWEST, MIN_WATERMARK))
    known = merge_into_copy(known, parts(1, currentInputWatermark=(MergeRule.LOWEST, 12)))
    assert operator_counts(known, [SUM])[0].watermark_ms is None


def test_who_counted_nothing_is_there_too() -> None:
    assert operator_counts({}, [SUM]) == (OperatorCounts("sum-1", "sum", "my-sum"),)
    assert operator_counts({}, [SUM], by_subtask=True) == ()
    assert source_counts({}, [SUM], {}, 0) == (SourceCounts("sum-1", "sum", "my-sum"),)


def test_how_far_a_source_is_behind() -> None:
    known = parts(0, numRecordsIn=(MergeRule.SUM, 3), pendingRecords=(MergeRule.TOTAL, 9))
    known = merge_into_copy(known, parts(0, pendingRecords=(MergeRule.TOTAL, 2)))
    (found,) = source_counts(known, [SUM], {SUM.id: 900}, 1_000)
    assert found == SourceCounts("sum-1", "sum", "my-sum", 3, 0, 900, 100, 2)
    (ended,) = source_counts(known, [SUM], {SUM.id: MAX_WATERMARK}, 1_000)
    assert ended.event_time_lag_ms is None
    (new,) = source_counts(known, [SUM], {SUM.id: MIN_WATERMARK}, 1_000)
    assert (new.watermark_ms, new.event_time_lag_ms) == (None, None)


def test_an_attempt_counts_from_where_it_began() -> None:
    group, tally, other = MetricGroup(), Tally(), Tally()
    tally.count = 5
    passed = group.of_operator("a", "a").measured.of_kind("numRecordsIn", MeasuredSum)
    passed.add([tally])
    tally.count += 1
    other.count = 100
    passed.add([other])
    other.count += 2
    assert group.snapshot() == {"a.numRecordsIn": 3}
    group.begin_attempt()
    assert group.snapshot() == {"a.numRecordsIn": 0}
    tally.count += 4
    assert group.snapshot() == {"a.numRecordsIn": 4}


def test_nanoseconds_are_given_as_milliseconds() -> None:
    spent, metric = Tally(), Milliseconds()
    metric.add([spent])
    spent.count += 2_500_000
    assert metric.figures() == {"": 2.5}


def test_the_metric_of_a_group_is_reported_where_it_worked() -> None:
    group = MetricGroup()
    group.of_kind("size", KeyGroupValues).set(7, 3)
    group.of_kind("size", KeyGroupValues).set(2, 4)
    group.of_kind("time", KeyGroupMinimum).set(7, 1)
    found = {(key.metric, key.subtask): part.value for key, part in group.nonzero_values(0).items()}
    assert found == {("size", 7): 3, ("size", 2): 4, ("time", 7): 1}
    group.begin_attempt()
    assert group.nonzero_values(0) == {}


def test_a_users_metric_of_the_same_name_does_not_change_what_the_engine_counts() -> None:
    group, tally = MetricGroup(), Tally()
    users = group.of_operator("a", "a")
    users.counter("numRecordsIn").inc(1_000)
    users.gauge("numRecordsOut", lambda: 5)
    users.measured.of_kind("numRecordsIn", MeasuredSum).add([tally])
    tally.count += 2
    assert group.snapshot() == {"a.numRecordsIn": 2, "a.numRecordsOut": 5}
