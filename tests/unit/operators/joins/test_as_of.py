"""The as-of join: which record fits, when it is decided, late records, and what is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common import Duration, WatermarkStrategy
from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.datastream import (
    DataStream,
    OutputTag,
    ProcessJoinFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import MissingWatermarksError
from headrace.operators.joins.as_of import AsOfJoinSpec, Direction, match_finder
from headrace.operators.joins.base import LEFT, RIGHT
from headrace.runtime.state.time_buffer import TimeBuffer
from headrace.runtime.user_function import UserFunction
from headrace.testing import KeyedHarness, run_pipeline
from tests.effort import examples

LATE, ASIDE = OutputTag("late"), OutputTag("aside")
DIRECTIONS: tuple[Direction, ...] = ("backward", "forward", "nearest")


def numbers(left: Any, right: Any) -> Any:
    return left[1], None if right is None else right[1]


def spec(function: Any = None, **more: Any) -> AsOfJoinSpec:
    return AsOfJoinSpec(function or UserFunction(numbers), more.pop("call", "join"), **more)


def harness(backend: Any = "heap", **more: Any) -> KeyedHarness:
    return KeyedHarness(spec(**more), (0, 0), backend=backend)


def give(task: KeyedHarness, left: Iterable[int] = (), right: Iterable[int] = ()) -> None:
    for number, moments in enumerate((left, right)):
        for moment in moments:
            task.process(("key", moment), moment, input=number)


def kept(task: KeyedHarness) -> tuple[list[int], list[int]]:
    entry = task._backend().enter("key")
    left, right = ([time for time, _ in entry.get(side, ())] for side in (LEFT, RIGHT))
    return left, right


TIMES = [10, 20, 20, 30]


@pytest.mark.parametrize(
    ("direction", "moment", "exact", "inexact"),
    [
        ("backward", 9, -1, -1),
        ("backward", 20, 2, 0),
        ("backward", 25, 2, 2),
        ("backward", 36, -1, -1),
        ("forward", 4, -1, -1),
        ("forward", 11, -1, -1),
        ("forward", 16, 2, 2),
        ("forward", 20, 2, -1),
        ("forward", 31, -1, -1),
        ("nearest", 15, 0, 0),
        ("nearest", 16, 2, 2),
        ("nearest", 25, 2, 2),
        ("nearest", 20, 2, -1),
        ("nearest", 40, -1, -1),
    ],
)
def test_what_fits(direction: Direction, moment: int, exact: int, inexact: int) -> None:
    """Of equals the last; of two that are equally near the earlier; within the tolerance."""
    tolerance = 5 if direction != "backward" or moment == 36 else None
    for allowed, place in ((True, exact), (False, inexact)):
        find_match = match_finder(spec(direction=direction, tolerance_ms=tolerance, exact=allowed))
        found = find_match(TimeBuffer(TIMES, [*range(len(TIMES))]), moment)
        assert found == (None if place < 0 else (TIMES[place], place))


@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_it_waits_for_the_watermark_of_both(backend: Any) -> None:
    with harness(backend) as task:
        give(task, left=[5, 3], right=[1])
        task.advance_watermark(9, input=0)
        assert task.output() == []
        give(task, right=[4])
        task.advance_watermark(4, input=1)
        assert task.output_with_timestamps() == [((3, 1), 3)]
        task.advance_watermark(5, input=1)
        assert task.output_with_timestamps() == [((3, 1), 3), ((5, 4), 5)]


def test_looking_ahead_waits_for_the_tolerance() -> None:
    """Results have the time at which they are certain, so that they are on time downstream."""
    for direction, found in (("forward", 13), ("nearest", 9)):
        with harness(direction=direction, tolerance_ms=5) as task:
            give(task, left=[10], right=[9, 13])
            task.advance_watermark(14)
            assert task.output() == []
            task.advance_watermark(15)
            assert task.output_with_timestamps() == [((10, found), 15)]


def test_left_and_inner() -> None:
    for inner, wanted in ((False, [(3, None), (6, 5)]), (True, [(6, 5)])):
        with harness(inner=inner) as task:
            give(task, left=[3, 6], right=[5])
            task.end_input()
            assert task.output() == wanted


def test_of_equal_timestamps_the_last_that_arrived() -> None:
    with KeyedHarness(spec(UserFunction(lambda a, b: b[1])), (0, 0)) as task:
        for name in ("old", "new"):
            task.process(("key", name), 5, input=1)
        task.process(("key", "left"), 5)
        task.process(("key", "newest"), 5, input=1)
        task.end_input()
        assert task.output() == ["newest"]


@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_late_left_records(backend: Any) -> None:
    with harness(backend, late=LATE.tag_id) as task, harness(backend) as bare:
        for each in (task, bare):
            give(each, right=[1])
            each.advance_watermark(3)
            give(each, left=[3, 4], right=[2])  # a late right record is still the latest
            each.end_input()
            assert each.output() == [(4, 2)]
        assert task.side_output(LATE) == [("key", 3)]
        counts = [each.metrics.snapshot() for each in (task, bare)]
        assert [count["AsOfJoin.numLateRecordsDropped"] for count in counts] == [0, 1]


@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_without_a_tolerance_the_latest_right_record_is_kept(backend: Any) -> None:
    with harness(backend) as task:
        give(task, left=[250], right=range(0, 300, 10))
        assert kept(task) == ([250], [*range(0, 300, 10)])
        task.advance_watermark(100)
        give(task, right=[300])
        assert kept(task) == ([250], [*range(100, 301, 10)])
        task.advance_watermark(10_000)
        assert (kept(task), task.timers()) == (([], [300]), [])


@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_a_key_that_nothing_touches_again_keeps_one_right_record(backend: Any) -> None:
    with harness(backend) as task:
        give(task, right=[10, 20, 30])
        task.advance_watermark(100_000)
        assert (kept(task), task.timers()) == (([], [30]), [])


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_with_a_tolerance_nothing_is_kept_for_ever(direction: Direction, backend: Any) -> None:
    with harness(backend, direction=direction, tolerance_ms=1_000) as task:
        for number in range(300):
            task.process((number % 50, number), number * 10, input=number % 2)
        assert len(task.keys()) == len(task.timers()) == 50
        task.advance_watermark(10_000)
        assert (task.keys(), task.timers()) == ([], [])
        task.process((0, 1), 5_000, input=1)  # no left record to come is so near to it
        assert task.keys() == []
        assert task.metrics.snapshot()["AsOfJoin.numLateRecordsDropped"] == 1


def test_a_key_has_one_timer_however_many_records_wait() -> None:
    with harness() as task:
        give(task, left=range(100, 200), right=range(100, 200, 9))
        assert [timer.time_ms for timer in task.timers()] == [100]
        task.advance_watermark(150)
        assert [timer.time_ms for timer in task.timers()] == [151]
        give(task, left=[160])
        task.end_input()
        assert len(task.output()) == 101


def test_a_record_without_a_timestamp_is_refused() -> None:
    with harness() as task:
        for number, side in enumerate(("left", "right")):
            with pytest.raises(MissingWatermarksError, match=f"a record of its {side} stream"):
                task.process(("key", 1), None, input=number)


def test_a_function_with_a_context_and_state() -> None:
    class Timed(ProcessJoinFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count", None))

        def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            yield left[1], ctx.get_left_timestamp(), ctx.get_right_timestamp()
            yield ASIDE, (ctx.get_timestamp(), self.count.value())

    function = UserFunction(Timed(), "process_element")
    with KeyedHarness(spec(function, call="process"), (0, 0), backend="paged") as task:
        give(task, left=[3, 6], right=[5])
        task.end_input()
        assert task.output() == [(3, 3, None), (6, 6, 5)]
        assert task.side_output(ASIDE) == [(3, 1), (6, 2)]


def test_several_results_for_a_pair() -> None:
    function = UserFunction(lambda left, right: left[1] * [right and right[1]])
    with KeyedHarness(spec(function, call="flat_join"), (0, 0)) as task:
        give(task, left=[1, 3], right=[2])
        task.end_input()
        assert task.output() == [None, 2, 2, 2]


def test_as_a_batch_it_keeps_no_more_than_a_stream() -> None:
    with KeyedHarness(spec(), (0, 0), batch=True) as task:
        give(task, left=range(100, 0, -1), right=range(0, 100, 7))
        task.end_input()
        assert task.output() == [(a, a // 7 * 7 if a < 99 else 98) for a in range(1, 101)]
        assert kept(task) == ([], [98])
        assert task.watermark == MAX_WATERMARK


def test_in_a_batch_keys_that_nobody_touches_again_are_joined_as_time_passes() -> None:
    open_keys = []

    def count(left: Any, right: Any) -> None:
        open_keys.append(len([*task._backend().keys()]))

    with KeyedHarness(spec(UserFunction(count)), (0, 0), batch=True) as task:
        for number in range(1_500):
            task.process((number, number), number)
        task.end_input()
    assert len(open_keys) == 1_500
    assert max(open_keys) < 1_100


# However the records of the two streams meet, as long as they are on time.

BOUND_MS = 8
sides = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(1, 6), st.integers(0, BOUND_MS)),
    min_size=1,
    max_size=14,
)


def in_some_order(pieces: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Records (key, timestamp, number)."""
    now, records = 100, []
    for number, (key, step, back) in enumerate(pieces):
        now += step
        records.append((key, now - back, number))
    return records


def fitting(left: Any, right: list[Any], how: AsOfJoinSpec) -> Any:
    """What pandas would find: by looking at all of them."""
    found = []
    for at, other in enumerate(right):
        away = other[1] - left[1]
        if other[0] != left[0] or (away == 0 and not how.exact):
            continue
        if how.tolerance_ms is not None and abs(away) > how.tolerance_ms:
            continue
        if (how.direction == "backward" and away > 0) or (how.direction == "forward" and away < 0):
            continue
        found.append((-abs(away), away <= 0, at, other))
    return max(found)[-1] if found else None


def joined(
    env: StreamExecutionEnvironment, left: list[Any], right: list[Any], how: AsOfJoinSpec
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
    join = first.as_of_join(
        second,
        direction=how.direction,
        tolerance=how.tolerance_ms,
        allow_exact_matches=how.exact,
        how="inner" if how.inner else "left",
    )
    return join.apply(lambda left, right: (left, right))


@settings(max_examples=examples(6), deadline=None)
@given(
    sides,
    sides,
    st.sampled_from(DIRECTIONS),
    st.integers(0, 9),
    st.booleans(),
    st.booleans(),
    st.lists(st.integers(1, 5), max_size=8),
    st.booleans(),
)
def test_brute_force(
    left: Any,
    right: Any,
    direction: Direction,
    tolerance_ms: int | None,
    exact: bool,
    inner: bool,
    cuts: list[int],
    spread: bool,
) -> None:
    if direction == "backward" and tolerance_ms == 9:
        tolerance_ms = None
    how = spec(direction=direction, tolerance_ms=tolerance_ms, exact=exact, inner=inner)
    left, right = in_some_order(left), in_some_order(right)
    pairs = [(each, fitting(each, right, how)) for each in left]
    wanted = Counter(pair for pair in pairs if pair[1] is not None or not inner)
    ways: list[dict[str, Any]] = [{}, {"mode": "batch"}, {"cuts": cuts, "backends": "paged"}]
    for way in ways:
        if spread:
            way |= {"key_groups": 3, "parallelism": 2}
        found = run_pipeline(lambda env: joined(env, left, right, how), **way).only
        assert Counter(found) == wanted, way
