"""Sessions: whatever the order in which records come, the windows are those of a brute force."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common._windows import TimeWindow, namespace_of, window_of
from headrace.datastream.window import (
    EventTimeSessionWindows,
    MergingWindowAssigner,
    SessionWindowTimeGapExtractor,
)
from headrace.operators.windows.general.merging import WindowMapping, add_window
from tests.effort import examples
from tests.unit.operators.windowing import Total, windowed

records = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), min_size=1, max_size=12)
"""Pairs of a timestamp and the gap after it; the number of a record is its place."""


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return int(element[2])


def brute_force(pieces: list[tuple[int, int]]) -> dict[TimeWindow, set[int]]:
    """The numbers of the records of each session."""
    sessions: list[tuple[int, int, set[int]]] = []
    for number, (start, gap) in enumerate(pieces):
        near = [one for one in sessions if one[0] <= start + gap and start <= one[1]]
        sessions = [one for one in sessions if one not in near]
        starts, ends, numbers = [start], [start + gap], {number}
        for one in near:
            starts.append(one[0])
            ends.append(one[1])
            numbers |= one[2]
        sessions.append((min(starts), max(ends), numbers))
    return {TimeWindow(start, end): numbers for start, end, numbers in sessions}


@settings(max_examples=examples(12))
@given(records)
def test_sessions_of_any_order(pieces: list[tuple[int, int]]) -> None:
    mapping: WindowMapping = {}
    kept: dict[Any, set[int]] = {}

    def on_merge(result: Any, windows: list[Any], target: Any, sources: list[Any]) -> None:
        assert target not in sources
        for source in sources:
            kept[target] |= kept.pop(source)

    assigner = EventTimeSessionWindows.with_gap(1)
    for number, (start, gap) in enumerate(pieces):
        window = TimeWindow(start, start + gap)
        actual = add_window(mapping, assigner, window, on_merge)
        assert actual.start <= start and window.end <= actual.end
        kept.setdefault(mapping[namespace_of(actual)], set()).add(number)
    found = {window_of(namespace): kept[place] for namespace, place in mapping.items()}
    assert found == brute_force(pieces)
    assert len(set(mapping.values())) == len(mapping)


@settings(max_examples=examples(5))
@given(records, st.sampled_from(["heap", "paged"]))
def test_the_operator_gives_the_sessions_of_a_brute_force(
    pieces: list[tuple[int, int]], backend: str
) -> None:
    sessions = EventTimeSessionWindows.with_dynamic_gap(Gap())
    with windowed(lambda keyed: keyed.window(sessions).aggregate(Total()), backend=backend) as task:
        for number, (start, gap) in enumerate(pieces):
            task.process(("a", 1 << number, gap), start)
        task.end_input()
        assert sorted(task.output_with_timestamps()) == sorted(
            (sum(1 << number for number in numbers), window.end - 1)
            for window, numbers in brute_force(pieces).items()
        )
        assert not [*task._backend().keys()] and not [*task._backend().in_namespaces.keys()]


class Buckets(MergingWindowAssigner[Any, Any]):
    """Windows of one record each, merged where they begin in the same ten."""

    assign_windows = get_default_trigger = get_window_serializer = None  # type: ignore[assignment]

    def is_event_time(self) -> bool:
        return True

    def merge_windows(self, windows: Any, callback: Any) -> None:
        tens: dict[int, list[TimeWindow]] = {}
        for window in windows:
            tens.setdefault(window.start // 10, []).append(window)
        for ten, some in tens.items():
            callback.merge(some, TimeWindow(ten * 10, ten * 10 + 10))


def test_an_assigner_may_merge_a_window_that_is_alone() -> None:
    mapping: WindowMapping = {}
    merges: list[Any] = []
    assigner: Any = Buckets()
    for start in (3, 5, 12):
        add_window(
            mapping, assigner, TimeWindow(start, start + 1), lambda *what: merges.append(what)
        )
    assert mapping == {(0, 10): (3, 4), (10, 20): (12, 13)}
    assert merges == []
