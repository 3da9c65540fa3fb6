import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import PlanError, TypeMismatchError
from headrace.metrics import MetricGroup
from headrace.metrics._measures import MeasuredSum
from headrace.metrics._merging import MetricOrigin, figures, merge, merge_subtasks


def test_a_snapshot_is_flat():
    root = MetricGroup()
    root.counter("in").inc(3)
    inner = root.add_group("parser")
    inner.counter("bad").inc()
    inner.meter("lines").mark_event(5)
    inner.add_group("by", "eu").gauge("lag", lambda: 1.5)
    sizes = inner.distribution("size")
    sizes.update(4)
    sizes.update(8)
    inner.distribution("none")
    assert root.snapshot() == {
        "in": 3,
        "parser.bad": 1,
        "parser.lines.count": 5,
        "parser.by.eu.lag": 1.5,
        "parser.size.count": 2,
        "parser.size.sum": 12,
        "parser.size.min": 4,
        "parser.size.max": 8,
        "parser.size.mean": 6.0,
        "parser.none.count": 0,
        "parser.none.sum": 0,
    }
    assert inner.snapshot().keys() == root.snapshot().keys() - {"in"}


def test_the_same_name_is_the_same_metric():
    group = MetricGroup(("job", "map"))
    group.counter("n").inc(2)
    group.counter("n").dec()
    assert group.counter("n").get_count() == 1
    assert group.snapshot() == {"job.map.n": 1}
    assert group.add_group("g") is group.add_group("g")
    assert group.add_group("g", "x") is group.add_group("g").add_group("x")
    with pytest.raises(PlanError, match=r"job\.map\.n is a counter already"):
        group.meter("n")


def test_meters():
    meter = MetricGroup().meter("m", 10)
    meter.mark_event()
    meter.mark_event(4)
    assert (meter.get_count(), meter.time_span_in_seconds) == (5, 10)
    with pytest.raises(PlanError):
        MetricGroup().meter("m", 0)


def test_gauges_are_asked_each_time():
    values = iter([1, 2])
    group = MetricGroup()
    group.gauge("g", lambda: next(values))
    assert [group.snapshot(), group.snapshot()] == [{"g": 1}, {"g": 2}]


@pytest.mark.parametrize(
    ("ask", "error"), [(lambda: "x", TypeMismatchError), (lambda: 1 // 0, ZeroDivisionError)]
)
def test_a_bad_gauge_is_named(ask, error):
    group = MetricGroup().add_group("op")
    group.gauge("lag", ask)
    with pytest.raises(error) as caught:
        group.snapshot()
    assert caught.value.__notes__ == ["while reading the metric op.lag"]


@given(st.lists(st.lists(st.integers(-9, 9), max_size=4), max_size=6), st.integers(1, 3))
def test_reports_of_several_processes_merge_to_that_of_one(rounds, processes):
    """Each round is one process's turn; all tell at its end, as the workers of a job do."""
    alone, *groups = [MetricGroup() for _ in range(1 + processes)]
    turns = {alone: 0} | dict.fromkeys(groups, 0)
    for group in turns:
        group.gauge("turn", lambda group=group: turns[group])
    known = {}
    for number, values in enumerate(rounds):
        at = number % processes
        groups[at].begin_attempt()
        for group in (alone, groups[at]):
            turns[group] = number
            for value in values:
                group.counter("n").inc(value)
                group.meter("m").mark_event(2)
                group.distribution("d").update(value)
        merge(known, groups[at].nonzero_values(at))
    expected = alone.snapshot()
    found = figures(known)
    assert found == {name: expected[name] for name in found}
    assert all(value == 0 for name, value in expected.items() if name not in found)


@given(st.lists(st.integers(-1000, 1000), min_size=1))
def test_distributions(values):
    group = MetricGroup()
    for value in values:
        group.distribution("d").update(value)
    figures = group.snapshot()
    assert figures["d.count"] == len(values)
    assert figures["d.sum"] == sum(values)
    assert (figures["d.min"], figures["d.max"]) == (min(values), max(values))
    assert figures["d.mean"] == sum(values) / len(values)


def test_an_attempt_tells_only_what_it_measured_itself():
    """The metrics of a failed attempt, also minimum and maximum, are never reported."""
    group = MetricGroup()
    committed = {}
    for value, fails in ((5, False), (1_000, True), (-1_000, True), (7, False)):
        group.begin_attempt()
        group.counter("n").inc()
        group.meter("m").mark_event(2)
        group.distribution("d").update(value)
        if not fails:
            merge(committed, group.nonzero_values())
    assert group.counter("n").get_count() == 4  # what this process saw
    assert figures(committed) == {
        "n": 2,
        "m.count": 4,
        "d.count": 2,
        "d.sum": 12,
        "d.min": 5,
        "d.max": 7,
        "d.mean": 6,
    }


def test_a_lost_report_is_made_again_by_the_next_attempt():
    """An attempt may end well here and be thrown away by Spark: the next one reports the same."""
    group = MetricGroup()
    group.gauge("g", lambda: 3)
    reports = []
    for _ in range(2):
        group.begin_attempt()
        group.distribution("d").update(4)
        reports.append(group.nonzero_values())
    assert reports[0] == reports[1]
    assert figures(reports[1]) == {
        "g": 3,
        "d.count": 1,
        "d.sum": 4,
        "d.min": 4,
        "d.max": 4,
        "d.mean": 4,
    }


def test_operators_of_one_name_are_distinguished_by_their_ids():
    root = MetricGroup()
    root.of_operator("first", "Map").counter("seen").inc(2)
    root.of_operator("second", "Map").counter("seen").inc(3)
    root.of_operator("third", "Filter").counter("seen").inc(4)
    assert root.snapshot() == {"first.seen": 2, "second.seen": 3, "Map.seen": 5, "Filter.seen": 4}


def test_figures_of_subtasks_are_kept_apart_and_shown_as_one():
    known = {}
    for subtask in (0, 1, 0):
        group = MetricGroup().of_operator("a", "Map")
        group.counter("seen").inc()
        merge(known, group.nonzero_values(subtask))
    assert {key.subtask: part.value for key, part in known.items()} == {0: 2, 1: 1}
    assert figures(known) == {"Map.seen": 3}


def test_values_say_how_they_were_registered():
    root = MetricGroup()
    group = root.of_operator("m1", "map").add_group("parser").add_group("region", "eu")
    group.meter("lines", 10).mark_event(2)
    group.counter("bad").inc()
    (lines, bad) = group.values().values()
    groups = (("parser", None), ("region", "eu"))
    assert lines.origin == MetricOrigin("meter", groups, "lines", "count", 10)
    assert bad.origin == MetricOrigin("counter", groups, "bad")
    assert merge_subtasks(bad, bad) == bad._replace(value=2)
    root.of_operator("m1", "map").measured.of_kind("numRecordsIn", MeasuredSum)
    (measured,) = [value for key, value in root.values().items() if key.metric == "numRecordsIn"]
    assert measured.origin is None


def test_a_group_made_by_two_calls_has_no_value():
    root = MetricGroup()
    root.add_group("region").add_group("eu").counter("n").inc()
    root.add_group("region", "eu").counter("n").inc()
    (entry,) = root.values().values()
    assert entry.value == 2
    assert entry.origin.groups == (("region", None), ("eu", None))
