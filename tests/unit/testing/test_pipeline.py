"""Whole programs in this process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.common import Configuration, WatermarkStrategy
from headrace.common._output_tag import OutputTag
from headrace.connector import (
    Budget,
    Progress,
    Source,
    SplitEnumerator,
    SplitRange,
    SplitReader,
)
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors._indexed import IndexedReader
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import JobError, PlanError
from headrace.testing import ManualClock, PipelineResults, run_pipeline

ODD = OutputTag("odd")


class Count(KeyedProcessFunction):
    """Yields how many there were; in an attribute too, which no restart keeps."""

    def __init__(self) -> None:
        self.calls = 0

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.calls += 1
        self.count.update((self.count.value() or 0) + 1)
        if value % 2:
            yield ODD, value
        yield self.count.value(), self.calls


def counting(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_sequence(1, 6).key_by(lambda n: "all").process(Count())


def test_a_stream_a_dictionary_and_a_function() -> None:
    env = StreamExecutionEnvironment()
    numbers = env.from_collection([1, 2, 3])
    assert run_pipeline(numbers).only == [1, 2, 3]
    doubled = numbers.map(lambda n: n * 2)
    assert run_pipeline({"one": numbers, "two": doubled}) == {"one": [1, 2, 3], "two": [2, 4, 6]}
    assert [count for count, _ in run_pipeline(counting).only] == [1, 2, 3, 4, 5, 6]
    assert run_pipeline(lambda env: {"n": env.from_collection([7])})["n"] == [7]


def test_side_outputs_are_streams() -> None:
    def program(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
        counted = counting(env)
        return {"counts": counted, "odd": counted.get_side_output(ODD)}

    results = run_pipeline(program)
    assert results["odd"] == [1, 3, 5]
    assert list(results) == ["counts", "odd"]
    with pytest.raises(PlanError, match="several streams: counts, odd"):
        _ = results.only


def test_results_are_a_mapping() -> None:
    results = PipelineResults({"a": [1]}, micro_batches=3)
    assert results == {"a": [1]}
    assert results != {"a": [2]}
    assert (len(results), dict(results), "b" in results) == (1, {"a": [1]}, False)


@pytest.mark.parametrize(
    ("cuts", "micro_batches"), [(None, 1), ([1, 2], 3), ([1] * 9, 6), ([2, 100], 2)]
)
def test_cuts_say_how_much_a_micro_batch_takes(cuts: Any, micro_batches: int) -> None:
    results = run_pipeline(counting, cuts=cuts)
    assert results.micro_batches == micro_batches
    assert [count for count, _ in results.only] == [1, 2, 3, 4, 5, 6]


def test_a_restart_keeps_state_and_nothing_else() -> None:
    calls = run_pipeline(counting, cuts=[2, 2, 2], backends="paged").only
    assert calls == [(n, n) for n in range(1, 7)]
    calls = run_pipeline(counting, cuts=[2, 2, 2], backends="paged", restarts=True).only
    assert calls == [(1, 1), (2, 2), (3, 1), (4, 2), (5, 1), (6, 2)]


class Watermarks(KeyedProcessFunction):
    """Yields each record with the watermark that it met."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timer_service().current_watermark()


@pytest.mark.parametrize("backends", ["heap", "paged"])
@pytest.mark.parametrize("regroup", [[], [(5, 2), (1, 1), (2, 3)]])
def test_a_restart_from_a_savepoint_keeps_state_and_watermarks(
    backends: Any, regroup: list[tuple[int, int]]
) -> None:
    def watermarks(env: StreamExecutionEnvironment) -> DataStream:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda n: n
        )
        stream = env.from_sequence(1, 40).assign_timestamps_and_watermarks(strategy)
        return stream.key_by(lambda n: n % 7).process(Watermarks())

    cuts = {"cuts": [4] * 10, "key_groups": 3}
    from_savepoint = {"restarts": "savepoint", "regroup": regroup, "backends": backends}
    calls = run_pipeline(counting, **cuts, **from_savepoint).only
    assert [count for count, _ in calls] == [*range(1, 7)]
    assert [made for _, made in calls] == [1, 2, 3, 4, 1, 2]
    whole = run_pipeline(watermarks, **cuts).only
    assert len({watermark for _, watermark in whole}) > 5
    assert sorted(run_pipeline(watermarks, **cuts, **from_savepoint).only) == sorted(whole)


def test_a_batch_gives_final_results() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        return env.from_sequence(1, 4).key_by(lambda n: n % 2).reduce(lambda a, b: a + b)

    assert run_pipeline(program).only == [1, 2, 4, 6]
    assert sorted(run_pipeline(program, "batch").only) == [4, 6]


def test_the_mode_is_that_of_the_call() -> None:
    env = StreamExecutionEnvironment().set_runtime_mode(RuntimeExecutionMode.BATCH)
    total = env.from_sequence(1, 3).key_by(lambda n: 0).reduce(lambda a, b: a + b)
    assert run_pipeline(total).only == [1, 3, 6]


class Subtask(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_number_of_parallel_subtasks()
        self.index = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> Any:
        return self.index, self.count


@pytest.mark.parametrize(("given", "expected"), [(None, 3), (2, 2)])
def test_parallelism_is_the_environments_unless_given(given: int | None, expected: int) -> None:
    env = StreamExecutionEnvironment(Configuration().set_string("parallelism.default", "3"))
    spread = env.from_sequence(1, 6).rebalance().map(Subtask())
    results = run_pipeline(spread, parallelism=given, key_groups=4).only
    assert sorted(set(results)) == [(index, expected) for index in range(expected)]


def test_parallelism_is_one_where_nobody_says() -> None:
    results = run_pipeline(lambda env: env.from_sequence(1, 6).rebalance().map(Subtask()))
    assert set(results.only) == {(0, 1)}


@pytest.mark.parametrize("key_groups", [None, 1, 7])
@pytest.mark.parametrize("backends", ["heap", "paged"])
def test_keys_spread_over_groups(key_groups: int | None, backends: Any) -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        return env.from_sequence(0, 39).key_by(lambda n: n % 10).process(Count())

    how: Any = {"key_groups": key_groups, "backends": backends}
    counts = sorted(count for count, _ in run_pipeline(program, cuts=[7], **how).only)
    assert counts == sorted([1, 2, 3, 4] * 10)


class Later(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        now_ms = timers.current_processing_time()
        timers.register_processing_time_timer(now_ms + 250)
        yield value, now_ms

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield "timer", timestamp


def test_the_clock_moves_once_a_micro_batch() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        return env.from_sequence(1, 4).key_by(lambda n: 0).process(Later())

    clock = itertools.count(0, 100).__next__
    assert run_pipeline(program, cuts=[1] * 4, clock=clock).only == [
        (1, 100),
        (2, 200),
        (3, 300),
        ("timer", 350),
        (4, 400),
    ]
    assert run_pipeline(program, clock=ManualClock(5)).only == [(n, 5) for n in range(1, 5)]


def unending(env: StreamExecutionEnvironment) -> DataStream:
    source = DataGeneratorSource(lambda n: n, None, rate_per_second=10.0)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "generated")


def test_input_without_an_end_needs_a_number_of_micro_batches() -> None:
    with pytest.raises(PlanError, match=r"is unbounded\n.*micro_batches"):
        run_pipeline(unending)
    clock = itertools.count(0, 1000).__next__
    results = run_pipeline(unending, micro_batches=3, clock=clock)
    assert results.micro_batches == 3
    assert results.only == list(range(len(results.only)))
    assert len(results.only) >= 20


def test_waiting_for_a_clock_that_stands_still_is_an_error() -> None:
    with pytest.raises(JobError, match="pass a clock that moves"):
        run_pipeline(unending, micro_batches=3)


def test_sinks_beside_the_streams_are_run(capsys: pytest.CaptureFixture[str]) -> None:
    env = StreamExecutionEnvironment()
    numbers = env.from_source(
        NumberSequenceSource(1, 2), WatermarkStrategy.no_watermarks(), "numbers"
    )
    numbers.map(lambda n: n * 10).print()
    assert run_pipeline(numbers).only == [1, 2]
    assert capsys.readouterr().out == "10\n20\n"
    assert run_pipeline(numbers).only == [1, 2]
    assert capsys.readouterr().out == ""  # a sink is run once, as with execute()


def test_counters_can_be_read() -> None:
    class Counting(MapFunction):
        def open(self, runtime_context: Any) -> None:
            self.seen = runtime_context.get_metrics_group().counter("seen")

        def map(self, value: Any) -> Any:
            self.seen.inc()
            return value

    results = run_pipeline(lambda env: env.from_sequence(1, 6).map(Counting()).name("count"))
    assert results.counters["count.seen"] == 6


def test_an_exception_comes_out_and_functions_are_closed() -> None:
    closed = []

    class Failing(MapFunction):
        def map(self, value: Any) -> Any:
            return 1 / (value - 2)

        def close(self) -> None:
            closed.append(True)

    function = Failing()
    with pytest.raises(ZeroDivisionError) as raised:
        run_pipeline(lambda env: env.from_sequence(1, 3).map(function).name("failing"))
    assert raised.value.__notes__[0].startswith("operator: failing")
    assert closed == [True]


def stop(value: Any, *_: Any) -> Any:
    raise StopIteration(value)


def timed(numbers: Any) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return numbers.assign_timestamps_and_watermarks(strategy).key_by(lambda n: 0)


class StopsAtTimer(KeyedProcessFunction):
    """Returns no generator, so that Python leaves its StopIteration alone."""

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(0)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        raise StopIteration("timer")


class StopsInOpen(MapFunction):
    def open(self, runtime_context: Any) -> None:
        raise StopIteration("open")

    def map(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize("mode", ["streaming", "batch"])
@pytest.mark.parametrize(
    ("build", "note"),
    [
        (lambda numbers: numbers.map(stop).name("stops"), "record:   1"),
        (lambda numbers: numbers.map(StopsInOpen()).name("stops"), "operator: stops"),
        (lambda numbers: numbers.key_by(stop).reduce(max), "record:   1"),
        (lambda numbers: numbers.key_by(lambda n: n % 1).map(stop).name("stops"), "record:   1"),
        (lambda numbers: timed(numbers).process(StopsAtTimer()), "key:      0"),
    ],
    ids=["map", "open", "key selector", "keyed map", "timer"],
)
def test_a_stop_iteration_of_the_users_stays_one(build: Any, note: str, mode: str) -> None:
    """Python makes a RuntimeError of one that passes a generator of ours."""
    with pytest.raises(StopIteration) as raised:
        run_pipeline(lambda env: build(env.from_sequence(1, 3)), mode=mode)
    assert note in raised.value.__notes__[0]


def test_a_generators_own_stop_iteration_is_what_python_says() -> None:
    def lazily(value: Any) -> Any:
        yield next(iter([]))

    with pytest.raises(RuntimeError, match="generator raised StopIteration") as raised:
        run_pipeline(lambda env: env.from_sequence(1, 3).flat_map(lazily).name("lazy"))
    assert "operator: lazy" in raised.value.__notes__[0]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"mode": "batch", "cuts": [1]}, "without cuts"),
        ({"restarts": True}, "only paged state"),
    ],
)
def test_what_contradicts_itself_is_refused(how: Any, says: str) -> None:
    with pytest.raises(PlanError, match=says):
        run_pipeline(counting, **how)


def test_what_is_no_program_is_refused() -> None:
    for wrong in ({}, {"a": 1}, lambda env: None):
        with pytest.raises(PlanError, match="not a stream"):
            run_pipeline(wrong)  # type: ignore[arg-type]
    streams = {name: StreamExecutionEnvironment().from_collection([1]) for name in "ab"}
    with pytest.raises(PlanError, match="different environments"):
        run_pipeline(streams)


class Slow(SplitEnumerator):
    """Finds its end at the third look."""

    def initial(self, now_ms: int) -> dict[str, Any]:
        return {"split": 0}

    def advance(self, positions: Any, budget: Budget, now_ms: int, paused: Any) -> Progress:
        if positions["split"] == 2:
            return Progress({}, frozenset({"split"}), ended=True)
        return Progress({"split": positions["split"] + 1})

    def ranges(self, start: Any, end: Any, finished: Any) -> list[SplitRange]:
        first, last = start.get("split", 0), end.get("split", 3)
        return [SplitRange("split", n, n + 1) for n in range(first, last)]


@dataclass(frozen=True)
class SlowSource(Source):
    """Three records: 0, 1, 2."""

    bounded = True

    def enumerator(self, directory: str) -> SplitEnumerator:
        return Slow()

    def reader(self) -> SplitReader:
        return IndexedReader(lambda split_range, start, end: list(range(start, end)))


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_a_source_may_take_several_looks_to_end(mode: Any) -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        return env.from_source(SlowSource(), WatermarkStrategy.no_watermarks(), "slow")

    results = run_pipeline(program, mode)
    assert results.only == [0, 1, 2]
    assert results.micro_batches == (1 if mode == "batch" else 3)


class Late(KeyedProcessFunction):
    """Says which records come after their time."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        if ctx.timestamp() <= ctx.timer_service().current_watermark():
            yield value


def test_a_changed_program_waits_for_the_inputs_that_it_waited_for() -> None:
    """One source is far ahead of the other, which has nothing in the first micro-batch after."""
    ahead = [("a", 1_000 + at) for at in range(20)]
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v[1])

    def version(spread: bool) -> Any:
        def build(env: StreamExecutionEnvironment) -> DataStream:
            quick = env.from_collection(ahead).assign_timestamps_and_watermarks(times)
            numbers = DataGeneratorSource(lambda at: ("a", at), count=5, rate_per_second=1.0)
            slow = env.from_source(numbers, times, "slow")
            both = quick.union(slow)
            if spread:
                both = both.rebalance().map(lambda value: value)
            return both.key_by(lambda value: value[0]).process(Late()).uid("late")

        return build

    for first, then in ((False, True), (True, False)):
        moments = itertools.chain([0] * 5, itertools.repeat(10_000))
        results = run_pipeline(
            version(first),
            cuts=[8] * 5,
            clock=moments.__next__,
            backends="paged",
            restarts=True,
            successors=[version(then)],
        )
        assert results.only == []
