"""The interval join: Flink's own cases, late records, brute force, and what is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common import Duration, WatermarkStrategy
from headrace.common.time import Time
from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.datastream import (
    DataStream,
    OutputTag,
    ProcessJoinFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import MissingWatermarksError
from headrace.operators.joins.base import LEFT, RIGHT
from headrace.operators.joins.interval import IntervalJoinSpec
from headrace.runtime.user_function import UserFunction
from headrace.testing import KeyedHarness, run_pipeline
from tests.effort import examples

Pair = tuple[int, int]

LATE_LEFT, LATE_RIGHT, ASIDE = OutputTag("late left"), OutputTag("late right"), OutputTag("aside")


class Numbers(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        assert (ctx.get_left_timestamp(), ctx.get_right_timestamp()) == (left[1], right[1])
        assert ctx.get_timestamp() == max(left[1], right[1])
        yield left[1], right[1]


def spec(lower_ms: int, upper_ms: int, **more: Any) -> IntervalJoinSpec:
    function = UserFunction(more.pop("function", Numbers()), "process_element")
    return IntervalJoinSpec(function, lower_ms, upper_ms, **more)


def harness(lower_ms: int, upper_ms: int, backend: Any = "heap", **more: Any) -> KeyedHarness:
    return KeyedHarness(spec(lower_ms, upper_ms, **more), (0, 0), backend=backend)


def give(task: KeyedHarness, left: Iterable[int] = (), right: Iterable[int] = ()) -> None:
    for number, moments in enumerate((left, right)):
        for moment in moments:
            task.process(("key", moment), moment, input=number)


def kept(task: KeyedHarness, key: Any = "key") -> tuple[list[int], list[int]]:
    entry = task._backend().enter(key)
    left, right = ([time for time, _ in entry.get(side, ())] for side in (LEFT, RIGHT))
    return left, right


# The cases of Flink's own tests of its operator: records 1 to 4 on both sides.
CASES = {
    (1, 2): [(1, 2), (1, 3), (2, 3), (2, 4), (3, 4)],
    (-2, -1): [(2, 1), (3, 1), (3, 2), (4, 2), (4, 3)],
    (-1, 1): [*((a, b) for a in range(1, 5) for b in range(1, 5) if abs(a - b) <= 1)],
    (-2, -2): [(3, 1), (4, 2)],
    (0, 0): [(1, 1), (2, 2), (3, 3), (4, 4)],
    (2, 2): [(1, 3), (2, 4)],
}


@pytest.mark.parametrize("bounds", CASES)
@pytest.mark.parametrize("ahead", [0, 1])
def test_the_cases_of_flink(bounds: Pair, ahead: int) -> None:
    """One side is far ahead, and then the other: the watermark is the lesser."""
    with harness(*bounds, "paged") as task:
        for side in (ahead, 1 - ahead):
            for moment in range(1, 5):
                task.process(("key", moment), moment, input=side)
                task.advance_watermark(moment, input=side)
        assert sorted(task.output()) == sorted(CASES[bounds])
        assert all(moment == max(pair) for pair, moment in task.output_with_timestamps())


def test_a_snapshot_goes_on() -> None:
    """Flink's case: after watermark 3, a left 4 still finds the right 3."""
    with harness(-1, 1, "paged") as task, harness(-1, 1) as other:
        for moment in range(1, 4):
            for side in (0, 1):
                task.process(("key", moment), moment, input=side)
                task.advance_watermark(moment, input=side)
        assert sorted(task.output()) == [p for p in CASES[-1, 1] if max(p) < 4]
        other.restore(task.snapshot())
        give(other, left=[4], right=[4])
        assert other.output() == [(4, 3), (3, 4), (4, 4)]


def test_pairs_of_one_record_come_by_time_and_then_as_they_arrived() -> None:
    class Names(ProcessJoinFunction):
        def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
            return [right[1]]

    with harness(-10, 10, function=Names()) as task:
        for name, moment in [("c", 5), ("a", 1), ("d", 5), ("b", 3)]:
            task.process(("key", name), moment, input=1)
        task.process(("key", "left"), 4)
        assert task.output() == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("bounds", "after_one", "after_four"),
    [
        ((-1, 0), ([2, 3, 4, 5], [1, 2, 3, 4, 5]), ([5], [4, 5])),
        ((0, 1), ([1, 2, 3, 4, 5], [2, 3, 4, 5]), ([4, 5], [5])),
    ],
)
@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_what_a_touched_key_keeps(
    bounds: Pair, after_one: Any, after_four: Any, backend: Any
) -> None:
    """Flink's cases of what its timers leave. Here a key is cleared when it is touched."""
    with harness(*bounds, backend) as task:
        give(task, range(1, 6), range(1, 6))
        for watermark, left in ((1, after_one), (4, after_four)):
            task.advance_watermark(watermark)
            task.process(("key", 9), 9)
            assert kept(task) == ([*left[0], *[9] * (1 if watermark == 1 else 2)], left[1])
        assert len(task.timers()) == 1


@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_nothing_is_kept_once_the_watermark_has_passed(backend: Any) -> None:
    with harness(-2_000, 5_000, backend) as task:
        for number in range(300):
            task.process((number % 50, number), number * 10, input=number % 2)
        assert len(task.timers()) == len(task.keys()) == 50
        task.advance_watermark(2_990)
        # untouched keys may keep their records for longer, but never twice as long
        task.advance_watermark(2 * (2_990 + 5_000))
        assert (task.keys(), task.timers()) == ([], [])


def test_a_key_has_one_timer_however_many_records() -> None:
    with harness(0, 40_000) as task:
        for moment in range(0, 30_000, 500):
            give(task, [moment], [moment])
            task.advance_watermark(moment)
            assert len(task.timers()) == 1


@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_late_records(backend: Any) -> None:
    tags = {"left_late": LATE_LEFT.tag_id, "right_late": LATE_RIGHT.tag_id}
    with harness(-1, 1, backend, **tags) as task, harness(-1, 1, backend) as bare:
        for each in (task, bare):
            give(each, [3], [3])
            each.advance_watermark(3)
            give(each, left=[2, 3, 4], right=[1, 3])  # 3 is not late: as in Flink
            assert each.output() == [(3, 3), (3, 3), (4, 3), (3, 3), (3, 3), (4, 3)]
        assert task.side_output(LATE_LEFT) == [("key", 2)]
        assert task.side_output(LATE_RIGHT) == [("key", 1)]
        counts = [each.metrics.snapshot() for each in (task, bare)]
        assert [count.get("IntervalJoin.numLateRecordsDropped") for count in counts] == [None, 2]


def test_a_record_without_a_timestamp_is_refused() -> None:
    with harness(-1, 1) as task:
        for number, side in enumerate(("left", "right")):
            with pytest.raises(MissingWatermarksError, match=f"a record of its {side} stream"):
                task.process(("key", 1), None, input=number)


def test_side_outputs_and_state_of_the_function() -> None:
    class Counting(ProcessJoinFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count", None))

        def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            yield left[0], self.count.value()
            yield ASIDE, (left[1], right[1])

    with KeyedHarness(spec(-5, 5, function=Counting()), (0, 0), backend="paged") as task:
        for key in ("a", "b", "a"):
            task.process((key, 1), 1)
        task.process(("a", 2), 2, input=1)
        task.process(("b", 2), 2, input=1)
        assert task.output() == [("a", 1), ("a", 2), ("b", 1)]
        assert task.side_output(ASIDE) == [(1, 2)] * 3
        task.end_input()
        assert sorted(task.keys()) == ["a", "b"]  # the function's own state stays


def test_as_a_batch_it_keeps_no_more_than_a_stream() -> None:
    with KeyedHarness(spec(-2, 3), (0, 0), batch=True) as task:
        give(task, left=range(100, 0, -1), right=range(100))
        task.end_input()
        wanted = [(a, b) for a in range(1, 101) for b in range(100) if -2 <= b - a <= 3]
        assert sorted(task.output()) == wanted
        assert max(map(len, kept(task))) < 6
        assert task.watermark > MIN_WATERMARK


# However the records of the two streams meet, as long as they are on time.

BOUND_MS = 8
sides = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 6), st.integers(0, BOUND_MS)), max_size=14
)


def in_some_order(pieces: list[tuple[str, int, int]]) -> list[tuple[str, int]]:
    now, records = 100, []
    for key, step, back in pieces:
        now += step
        records.append((key, now - back))
    return records


def joined(
    env: StreamExecutionEnvironment, left: list[Any], right: list[Any], bounds: Pair
) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(BOUND_MS)
    ).with_timestamp_assigner(lambda value: value[1])
    first, second = (
        env.from_collection(records)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda value: value[0])
        for records in (left, right)
    )
    lower, upper = (Time.milliseconds(bound) for bound in bounds)
    return first.interval_join(second).between(lower, upper).process(Numbers())


@settings(max_examples=examples(6), deadline=None)
@given(
    sides.filter(bool),
    sides.filter(bool),
    st.tuples(st.integers(-9, 9), st.integers(0, 9)),
    st.lists(st.integers(1, 5), max_size=8),
    st.booleans(),
)
def test_brute_force(left: Any, right: Any, bounds: Pair, cuts: list[int], spread: bool) -> None:
    left, right = in_some_order(left), in_some_order(right)
    lower, upper = bounds[0], bounds[0] + bounds[1]
    wanted = Counter(
        (a, b) for key, a in left for other, b in right if key == other and lower <= b - a <= upper
    )
    ways: list[dict[str, Any]] = [{}, {"mode": "batch"}, {"cuts": cuts, "backends": "paged"}]
    for way in ways:
        if spread:
            way |= {"key_groups": 3, "parallelism": 2}
        found = run_pipeline(lambda env: joined(env, left, right, (lower, upper)), **way).only
        assert Counter(found) == wanted, way
