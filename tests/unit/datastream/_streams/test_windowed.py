"""Windowed streams as programs see them, by the local runner."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from headrace.common._output_tag import OutputTag
from headrace.common.time import Duration, Time
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import (
    AggregateFunction,
    DataStream,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.functions import AllWindowFunction, ProcessAllWindowFunction
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    NeverTrigger,
    PurgingTrigger,
    TumblingEventTimeWindows,
)
from headrace.errors import (
    MissingWatermarksError,
    PlanError,
    TypeMismatchError,
    UnpicklableFunctionError,
    WrongFunctionError,
)
from headrace.testing import run_pipeline

RECORDS = [("a", 1, 1_000), ("b", 2, 1_500), ("a", 3, 2_999), ("a", 5, 3_000), ("b", 8, 4_000)]
TUMBLING = TumblingEventTimeWindows.of(Time.seconds(3))


def timed(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    return env.from_collection(RECORDS).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda record: record[2])
    )


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + int(value[1])

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Described(ProcessWindowFunction[Any, Any, str, Any]):
    def process(self, key: str, context: Any, elements: Any) -> Any:
        yield key, str(context.window()), list(elements)


def test_reduce() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        windows = timed(env).key_by(lambda record: record[0]).window(TUMBLING)
        return windows.reduce(lambda one, other: (one[0], one[1] + other[1], other[2]))

    expected = [("a", 4, 2_999), ("a", 5, 3_000), ("b", 2, 1_500), ("b", 8, 4_000)]
    for how in [{}, {"mode": "batch"}, {"cuts": [1] * 9, "backends": "paged", "restarts": True}]:
        assert sorted(run_pipeline(program, **how).only) == expected  # type: ignore[arg-type]


def test_aggregate_and_a_window_function() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        keyed = timed(env).key_by(lambda record: record[0])
        return keyed.window(TUMBLING).aggregate(Sum(), Described())

    assert sorted(run_pipeline(program).only) == [
        ("a", "TimeWindow(start=0, end=3000)", [4]),
        ("a", "TimeWindow(start=3000, end=6000)", [5]),
        ("b", "TimeWindow(start=0, end=3000)", [2]),
        ("b", "TimeWindow(start=3000, end=6000)", [8]),
    ]


def test_process() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        return timed(env).key_by(lambda record: record[0]).window(TUMBLING).process(Described())

    found = run_pipeline(program, cuts=[2, 1], key_groups=5, parallelism=2).only
    assert sorted(found)[0] == (
        "a",
        "TimeWindow(start=0, end=3000)",
        [("a", 1, 1_000), ("a", 3, 2_999)],
    )


class All(ProcessAllWindowFunction[Any, Any, Any]):
    def process(self, context: Any, elements: Any) -> Any:
        seen = context.global_state().get_state(ValueStateDescriptor("seen", Types.INT()))
        seen.update((seen.value() or 0) + len(elements))
        yield context.window().start, sorted(one[1] for one in elements), seen.value()


class Applied(AllWindowFunction[Any, Any, Any]):
    def apply(self, window: Any, inputs: Any) -> Any:
        return [(str(window), [one[1] for one in inputs])]


HOWS: list[dict[str, Any]] = [
    {},
    {"mode": "batch"},
    {"mode": "batch", "key_groups": 4, "parallelism": 3},
    {"cuts": [1] * 9, "backends": "paged", "restarts": True},
    {"cuts": [2, 1], "key_groups": 3, "parallelism": 2, "restarts": "savepoint"},
]


@pytest.mark.parametrize("how", HOWS)
def test_windows_of_all_records(how: dict[str, Any]) -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        return timed(env).window_all(TUMBLING).process(All())

    assert run_pipeline(program, **how).only == [(0, [1, 2, 3], 3), (3000, [5, 8], 5)]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda windows: windows.reduce(add_numbers), [("a", 6, 0), ("a", 13, 0)]),
        (lambda windows: windows.reduce(add_numbers, Applied()), [
            ("TimeWindow(start=0, end=3000)", [6]), ("TimeWindow(start=3000, end=6000)", [13]),
        ]),
        (lambda windows: windows.aggregate(Sum()), [6, 13]),
        (lambda windows: windows.aggregate(Sum(), All2()), [(0, [6]), (3000, [13])]),
        (lambda windows: windows.sum(1), [("a", 6, 1_000), ("a", 13, 3_000)]),
        (lambda windows: windows.min(1), [("a", 1, 1_000), ("a", 5, 3_000)]),
        (lambda windows: windows.max(1), [("a", 3, 1_000), ("a", 8, 3_000)]),
        (lambda windows: windows.min_by(1), [("a", 1, 1_000), ("a", 5, 3_000)]),
        (lambda windows: windows.max_by(1), [("a", 3, 2_999), ("b", 8, 4_000)]),
    ],
)  # fmt: skip
def test_folds_of_all_records(call: Any, expected: list[Any]) -> None:
    assert run_pipeline(lambda env: call(timed(env).window_all(TUMBLING))).only == expected


def add_numbers(one: Any, other: Any) -> Any:
    return (one[0], one[1] + other[1], 0)


class All2(ProcessAllWindowFunction[Any, Any, Any]):
    def process(self, context: Any, elements: Any) -> Any:
        return [(context.window().start, list(elements))]


def test_of_equal_records_the_first_or_the_last() -> None:
    def program(first: bool) -> Any:
        def build(env: StreamExecutionEnvironment) -> DataStream:
            pairs = env.from_collection([("a", 1, "x"), ("a", 1, "y"), ("a", 0, "z")])
            keyed = pairs.key_by(lambda pair: pair[0])
            least = keyed.count_window(3).min_by(1, first)
            return least.union(keyed.count_window(2).max_by(1, first=first))

        return build

    assert sorted(run_pipeline(program(True)).only) == [("a", 0, "z"), ("a", 1, "x")]
    assert sorted(run_pipeline(program(False)).only) == [("a", 0, "z"), ("a", 1, "y")]


def test_counted_windows_of_all_records() -> None:
    class Pairs(AllWindowFunction[Any, Any, Any]):
        def apply(self, window: Any, inputs: Any) -> Any:
            yield [one[1] for one in inputs]

    assert run_pipeline(lambda env: timed(env).count_window_all(2).apply(Pairs())).only == [
        [1, 2],
        [3, 5],
    ]
    found = run_pipeline(lambda env: timed(env).count_window_all(3, 2).apply(Pairs())).only
    assert found == [[1, 2], [2, 3, 5]]


def test_late_records_are_a_stream() -> None:
    late = OutputTag("late", Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()]))

    def program(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
        records = [("a", 1, 1_000), ("a", 2, 9_000), ("a", 3, 2_000)]
        monotonous = WatermarkStrategy.for_monotonous_timestamps()
        stream = env.from_collection(records).assign_timestamps_and_watermarks(
            monotonous.with_timestamp_assigner(lambda record: record[2])
        )
        windows = stream.key_by(lambda record: record[0]).window(TUMBLING)
        summed = windows.side_output_late_data(late).sum(1)
        return {"sums": summed, "late": summed.get_side_output(late)}

    found = run_pipeline(program, cuts=[1, 1, 1])
    assert found == {
        "sums": [("a", 1, 1_000), ("a", 2, 9_000)],
        "late": [("a", 3, 2_000)],
    }


def test_a_window_after_a_window() -> None:
    """Results have the last timestamp of their window, so another window takes them."""

    def program(env: StreamExecutionEnvironment) -> DataStream:
        sums = timed(env).key_by(lambda record: record[0]).window(TUMBLING).sum(1)
        return sums.window_all(TUMBLING).max_by(1)

    for how in HOWS:
        assert run_pipeline(program, **how).only == [("a", 4, 1_000), ("b", 8, 4_000)]


def test_names_and_types() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = timed(env).key_by(lambda record: record[0])
    summed = keyed.window(TUMBLING).sum(1)
    assert summed.get_name() == "TumblingEventTimeWindows"
    node = (
        keyed.window(TUMBLING)
        .aggregate(Sum(), Described(), output_type=Types.LONG())
        ._configurable_operator
    )
    assert node is not None
    assert node.description == (
        "Window(TumblingEventTimeWindows(3000, 0), EventTimeTrigger, Sum, Described)"
    )
    of_all = timed(env).window_all(TUMBLING).process(All())
    assert of_all._configurable_operator is not None
    assert of_all._configurable_operator.description == (
        "AllWindow(TumblingEventTimeWindows(3000, 0), EventTimeTrigger, All)"
    )
    assert (
        of_all._configurable_operator.parallelism
        == of_all._configurable_operator.max_parallelism
        == 1
    )
    typed = env.from_collection([(1,)], Types.TUPLE([Types.INT()])).key_by(lambda one: one[0])
    windows = typed.count_window(2)
    assert windows.get_input_type() == Types.TUPLE([Types.INT()])
    assert windows.get_execution_environment() is env
    assert windows.reduce(lambda one, other: one).get_type() == Types.TUPLE([Types.INT()])
    assert windows.aggregate(Sum(), output_type=Types.LONG()).get_type() == Types.LONG()
    assert windows.aggregate(Sum()).get_type() == Types.PICKLED_BYTE_ARRAY()


def test_the_type_of_an_accumulator_holds() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        keyed = timed(env).key_by(lambda record: record[0])
        return keyed.window(TUMBLING).aggregate(Sum(), accumulator_type=Types.STRING())

    with pytest.raises(TypeMismatchError, match="an accumulator of state"):
        run_pipeline(program)


def test_watermarks_are_needed_for_event_time_only() -> None:
    def program(assigner: Any) -> Any:
        def build(env: StreamExecutionEnvironment) -> DataStream:
            keyed = env.from_collection(RECORDS).key_by(lambda record: record[0])
            return keyed.window(assigner).trigger(CountTrigger.of(2)).sum(1)

        return build

    with pytest.raises(MissingWatermarksError, match="'TumblingEventTimeWindows' needs event time"):
        run_pipeline(program(TUMBLING))
    assert run_pipeline(program(GlobalWindows.create())).only == [
        ("a", 4, 1_000),
        ("b", 10, 1_500),
    ]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda keyed: keyed.window(5), "expected a WindowAssigner, not an int"),
        (lambda keyed: keyed.window(TUMBLING).trigger(CountTrigger), "expected a Trigger"),
        (lambda keyed: keyed.window(TUMBLING).evictor(3), "expected an Evictor"),
        (
            lambda keyed: keyed.window(TUMBLING).side_output_late_data("late"),
            "expected an OutputTag",
        ),
        (lambda keyed: keyed.window(TUMBLING).allowed_lateness(-1), "at least 0 ms"),
        (lambda keyed: keyed.count_window(0), "the size of a count window"),
        (lambda keyed: keyed.count_window(2, -1), "the slide of a count window"),
        (lambda keyed: keyed.window(TUMBLING).process(Applied()), "a ProcessWindowFunction, not"),
        (lambda keyed: keyed.window(TUMBLING).process(lambda *all: []), "ProcessWindowFunction"),
        (lambda keyed: keyed.window(TUMBLING).apply(Described()), "apply() takes a WindowFunction"),
        (lambda keyed: keyed.window(TUMBLING).aggregate(sum), "an AggregateFunction, not"),
        (lambda keyed: keyed.window(TUMBLING).reduce(Sum()), "a ReduceFunction or a plain"),
        (lambda keyed: keyed.window(TUMBLING).reduce(add_numbers, sum), "takes a WindowFunction"),
        (lambda keyed: keyed.window_all(TUMBLING).process(Described()), "ProcessAllWindowFunction"),
        (lambda keyed: keyed.window_all(TUMBLING).reduce(add_numbers, Described()), "AllWindowFun"),
        (lambda keyed: keyed.window(TUMBLING).aggregate(Sum(), None, "INT"), "the type given to"),
        (lambda keyed: keyed.window(TUMBLING).sum(1.5), "a field is given by its position"),
    ],
)
def test_what_cannot_work_is_reported_when_it_is_written(wrong: Any, said: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(PlanError) as raised:
        wrong(timed(env).key_by(lambda record: record[0]))
    assert said in str(raised.value)


class _SaysNothingOfMerging(NeverTrigger):
    def can_merge(self) -> bool:
        return False

    def on_merge(self, window: Any, ctx: Any) -> None:
        """There is no state to merge."""


def test_without_keys_a_trigger_must_say_that_it_can_merge_as_in_pyflink() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    sessions = EventTimeSessionWindows.with_gap(Time.seconds(1))
    keyed = timed(env).key_by(lambda record: record[0])
    keyed.window(sessions).trigger(PurgingTrigger.of(_SaysNothingOfMerging()))
    with pytest.raises(WrongFunctionError, match="merge"):
        timed(env).window_all(sessions).trigger(_SaysNothingOfMerging())


def test_an_assigner_that_cannot_be_sent_is_reported() -> None:
    class Locked(TumblingEventTimeWindows):
        def __init__(self) -> None:
            super().__init__(5, 0)
            self.lock = threading.Lock()

    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = timed(env).key_by(lambda record: record[0])
    with pytest.raises(UnpicklableFunctionError, match="'Locked', given to sum"):
        keyed.window(Locked()).sum(1)


def test_each_task_has_its_own_functions() -> None:
    class Counting(TumblingEventTimeWindows):
        calls = 0

        def assign_windows(self, element: Any, timestamp: int, context: Any) -> Any:
            self.calls += 1
            return super().assign_windows(element, timestamp, context)

    assigner, function = Counting(3000, 0), Sum()
    spec = windowed_spec(assigner, function)
    copy = spec.copied()
    assert copy.assigner.target is not assigner and copy.trigger.target is not spec.trigger.target
    assert copy.contents.functions[0].target is not function
    keyed_twice = run_pipeline(
        lambda env: timed(env).key_by(lambda record: record[0]).window(assigner).sum(1)
    )
    assert len(keyed_twice.only) == 4 and assigner.calls == 0


def windowed_spec(assigner: Any, function: Any) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    node = (
        timed(env)
        .key_by(lambda record: record[0])
        .window(assigner)
        .aggregate(function)
        ._configurable_operator
    )
    assert node is not None
    return node.spec
