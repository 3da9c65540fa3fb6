"""The calls that join two keyed streams: what they build, and what they refuse."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from headrace.common import Duration, Types, WatermarkStrategy
from headrace.common.time import Time
from headrace.datastream import (
    DataStream,
    FlatJoinFunction,
    JoinFunction,
    OutputTag,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from headrace.errors import (
    MissingWatermarksError,
    NotKeyedError,
    PlanError,
    TypeMismatchError,
    UnsupportedError,
    WrongFunctionError,
)
from headrace.operators.joins.as_of import AsOfJoinSpec
from headrace.operators.joins.interval import IntervalJoinSpec
from headrace.testing import run_pipeline

BY_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda at: at)
LATE = OutputTag("late", Types.INT())


class Commas(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield f"{left},{right}"


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def numbers(env: StreamExecutionEnvironment, *found: int) -> Any:
    stream = env.from_collection([*found]).assign_timestamps_and_watermarks(BY_TIME)
    return stream.key_by(lambda number: "all")


def spec_of(stream: DataStream) -> Any:
    (edge,) = stream._edges
    return edge.source.spec


def test_the_example_of_flinks_documentation(env: StreamExecutionEnvironment) -> None:
    """The numbers of the figure in Flink's page on joins."""
    orange, green = numbers(env, 0, 2, 3, 4, 5, 7), numbers(env, 0, 1, 6, 7)
    joined = orange.interval_join(green).between(Time.milliseconds(-2), Time.milliseconds(1))
    found = run_pipeline(joined.process(Commas(), Types.STRING())).only
    assert sorted(found) == ["0,0", "0,1", "2,0", "2,1", "3,1", "5,6", "7,6", "7,7"]


def test_bounds(env: StreamExecutionEnvironment) -> None:
    join = numbers(env, 1).interval_join(numbers(env, 1)).in_event_time()
    for lower, upper in (
        (Time.seconds(-2), Time.seconds(1)),
        (Duration.of_seconds(-2), Duration.of_seconds(1)),
        (timedelta(seconds=-2), timedelta(seconds=1)),
    ):
        bounded = join.between(lower, upper)
        spec = spec_of(bounded.process(Commas()))
        assert isinstance(spec, IntervalJoinSpec)
        assert (spec.lower_ms, spec.upper_ms) == (-2_000, 1_000)
        inner = bounded.lower_bound_exclusive().upper_bound_exclusive().process(Commas())
        assert (spec_of(inner).lower_ms, spec_of(inner).upper_ms) == (-1_999, 999)
    with pytest.raises(PlanError, match=r"lower bound \(2 ms\) is above the upper bound \(1 ms\)"):
        join.between(Time.milliseconds(2), Time.milliseconds(1))
    with pytest.raises(TypeMismatchError, match="the upper bound is 'a day'"):
        join.between(Time.milliseconds(2), "a day")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="by event time only"):
        join.in_processing_time().between(Time.seconds(-1), Time.seconds(1))


def test_late_data_of_either_side(env: StreamExecutionEnvironment) -> None:
    other = OutputTag("other", Types.INT())
    left, right = numbers(env, 1_000, 1, 2_000), numbers(env, 1_000, 2_000, 3)
    joined = (
        left.interval_join(right)
        .between(Time.milliseconds(0), Time.milliseconds(0))
        .side_output_left_late_data(LATE)
        .side_output_right_late_data(other)
        .process(Commas())
    )
    aside = {"left": joined.get_side_output(LATE), "right": joined.get_side_output(other)}
    found = run_pipeline({"main": joined, **aside}, cuts=[2] * 9)
    assert sorted(found["main"]) == ["1000,1000", "2000,2000"]
    assert (found["left"], found["right"]) == ([1], [3])
    with pytest.raises(PlanError, match="expected an OutputTag"):
        left.interval_join(right).between(0, 0).side_output_left_late_data("late")


def test_what_cannot_be_joined(env: StreamExecutionEnvironment) -> None:
    keyed = numbers(env, 1)
    for call in ("interval_join", "as_of_join"):
        with pytest.raises(NotKeyedError, match=rf"{call}\(\) takes a keyed stream"):
            getattr(keyed, call)(env.from_collection([1]))
        with pytest.raises(PlanError, match=rf"{call}\(\) takes a stream, not an int"):
            getattr(keyed, call)(7)
        with pytest.raises(PlanError, match="of one environment"):
            getattr(keyed, call)(numbers(StreamExecutionEnvironment(), 1))
    wanted = r"process\(\) takes a ProcessJoinFunction, not a function"
    bounded = keyed.interval_join(keyed).between(Time.seconds(-1), Time.seconds(1))
    with pytest.raises(WrongFunctionError, match=wanted):
        bounded.process(lambda left, right: left)
    with pytest.raises(WrongFunctionError, match=wanted):
        keyed.as_of_join(keyed).process(lambda left, right: left)


def test_event_time_is_needed(env: StreamExecutionEnvironment) -> None:
    bare = env.from_collection([1]).key_by(lambda number: number)
    for stream in (
        bare.interval_join(numbers(env, 1)).between(0, 0).process(Commas()),
        numbers(env, 1).as_of_join(bare).apply(lambda left, right: left),
    ):
        with pytest.raises(MissingWatermarksError, match="by event time, but a record of its"):
            run_pipeline(stream)


def test_arguments_of_an_as_of_join(env: StreamExecutionEnvironment) -> None:
    keyed = numbers(env, 1)
    spec = spec_of(
        keyed.as_of_join(
            keyed, direction="nearest", tolerance=timedelta(seconds=2), allow_exact_matches=False
        )
        .side_output_late_data(LATE)
        .process(Commas())
    )
    assert isinstance(spec, AsOfJoinSpec)
    assert (spec.direction, spec.tolerance_ms, spec.exact) == ("nearest", 2_000, False)
    assert (spec.inner, spec.late, spec.call) == (False, "late", "process")
    with pytest.raises(PlanError, match=r"one of backward, forward, nearest, not 'up'"):
        keyed.as_of_join(keyed, direction="up")
    with pytest.raises(PlanError, match=r"how .* one of left, inner, not 'outer'"):
        keyed.as_of_join(keyed, how="outer")
    with pytest.raises(PlanError, match="looks forward needs a tolerance"):
        keyed.as_of_join(keyed, direction="forward")
    with pytest.raises(PlanError, match="the tolerance is"):
        keyed.as_of_join(keyed, tolerance=Time.seconds(-1))


def test_functions_of_an_as_of_join(env: StreamExecutionEnvironment) -> None:
    class One(JoinFunction):
        def join(self, first: Any, second: Any) -> Any:
            return first, second

    class Twice(FlatJoinFunction):
        def join(self, first: Any, second: Any) -> Any:
            yield first
            yield second

    left, right = numbers(env, 3, 5), numbers(env, 4)
    found = run_pipeline(
        {
            "plain": left.as_of_join(right).apply(lambda left, right: (left, right)),
            "one": left.as_of_join(right).apply(One()),
            "flat": left.as_of_join(right, how="inner").apply(Twice()),
            "process": left.as_of_join(right).process(Commas()),
        }
    )
    pairs = [(3, None), (5, 4)]
    assert found == {"plain": pairs, "one": pairs, "flat": [5, 4], "process": ["3,None", "5,4"]}


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_a_stream_is_joined_with_itself(mode: Any) -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        keyed = numbers(env, 1, 2, 4)
        near = keyed.interval_join(keyed).between(Time.milliseconds(1), Time.milliseconds(2))
        before = keyed.as_of_join(keyed, allow_exact_matches=False)
        return {"near": near.process(Commas()), "before": before.process(Commas())}

    found = run_pipeline(program, mode)
    assert sorted(found["near"]) == ["1,2", "2,4"]
    assert sorted(found["before"]) == ["1,None", "2,1", "4,2"]


def test_a_failure_names_the_operator_and_the_record() -> None:
    class Fails(ProcessJoinFunction):
        def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
            raise ZeroDivisionError

    env = StreamExecutionEnvironment()
    near = numbers(env, 1).interval_join(numbers(env, 2)).between(0, 5).process(Fails())
    latest = numbers(env, 2).as_of_join(numbers(env, 1)).process(Fails())
    for stream, name, time in ((near, "IntervalJoin", "[12]"), (latest, "AsOfJoin", "2")):
        with pytest.raises(ZeroDivisionError) as caught:
            run_pipeline(stream)
        (note,) = caught.value.__notes__
        for part in (rf"operator: {name} ", "key:      'all'", rf"time:     {time} ms"):
            assert re.search(part, note)
