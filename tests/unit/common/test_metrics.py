import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import PlanError, TypeMismatchError
from headrace.metrics import MetricGroup
from headrace.metrics.merging import changes, figures, merge


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
def test_what_several_processes_tell_comes_to_what_one_would_have_told(rounds, processes):
    """Each round is one process's turn; all tell at its end, as the workers of a job do."""
    alone, *groups = [MetricGroup() for _ in range(1 + processes)]
    turns = {alone: 0} | dict.fromkeys(groups, 0)
    for group in turns:
        group.gauge("turn", lambda group=group: turns[group])
    told = [{} for _ in groups]
    known = {}
    for number, values in enumerate(rounds):
        at = number % processes
        for group in (alone, groups[at]):
            turns[group] = number
            for value in values:
                group.counter("n").inc(value)
                group.meter("m").mark_event(2)
                group.distribution("d").update(value)
        now = groups[at].parts()
        merge(known, changes(now, told[at]))
        told[at] = now
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
