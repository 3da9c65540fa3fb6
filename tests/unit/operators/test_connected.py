"""Functions of two connected streams: in a harness, then in programs however they are run."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from headrace.common import WatermarkStrategy
from headrace.common._time_domain import TimeDomain
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    KeyedCoProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from headrace.errors import NotKeyedError, TypeMismatchError
from headrace.operators import emission
from headrace.testing import KeyedHarness, ProcessHarness, run_pipeline

ASIDE = OutputTag("aside")
BY_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v[1])


def first(pair: Any) -> Any:
    return pair[0]


class Map(CoMapFunction):
    """Keeps the greatest number of a key, of both streams."""

    def open(self, runtime_context: Any) -> None:
        self.most = runtime_context.get_state(ValueStateDescriptor("most", Types.INT()))

    def map1(self, value: Any) -> Any:
        self.most.update(max(value[1], self.most.value() or 0))

    def map2(self, value: Any) -> Any:
        self.map1(value)
        return value, self.most.value()


class Doubled(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value * 2

    def map2(self, value: Any) -> Any:
        return None if value == 3 else (ASIDE, value)


class Repeated(CoFlatMapFunction):
    def open(self, runtime_context: Any) -> None:
        self.times = runtime_context.get_map_state(MapStateDescriptor("times"))

    def flat_map1(self, value: Any) -> Any:
        yield from [value] * (self.times.get("times") or 1)

    def flat_map2(self, value: Any) -> Any:
        self.times.put("times", value[1])


class Reporting(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()
        yield ASIDE, value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        return ["second", ctx.timer_service().current_processing_time()]


class Paired(KeyedCoProcessFunction):
    """Pairs the records of both streams with one time; what is alone after it goes aside."""

    def open(self, runtime_context: Any) -> None:
        self.sides = [
            runtime_context.get_list_state(ListStateDescriptor(name)) for name in ("one", "two")
        ]

    def process_element1(self, value: Any, ctx: Any) -> Any:
        self.sides[0].add(value)
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def process_element2(self, value: Any, ctx: Any) -> Any:
        self.sides[1].add(value)
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        one, two = ([v for v in side.get() if v[1] == timestamp] for side in self.sides)
        for side in self.sides:
            side.update([v for v in side.get() if v[1] != timestamp])
        if one and two:
            yield ctx.get_current_key(), timestamp, len(one), len(two)
        else:
            yield ASIDE, (ctx.get_current_key(), timestamp, ctx.timestamp())


@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_both_methods_share_the_state_of_a_key(backend: Any) -> None:
    with KeyedHarness(Map(), key_by=first, backend=backend) as task:
        task.process(("a", 3))
        task.process(("b", 9))
        task.process(("a", 1), input=1)
        task.process(("b", 2), input=1)
        assert task.output() == [(("a", 1), 3), (("b", 2), 9)]
        assert task.state("most", "a") == 3
        with pytest.raises(TypeMismatchError, match="'most'"):
            task.process(("a", 4.5), input=0)
    with KeyedHarness(Repeated(), key_by=(first, 0)) as task:
        for value, number in ((("a", 1), 0), (("a", 2), 1), (("a", 3), 0)):
            task.process(value, input=number)
        assert task.output() == [("a", 1), ("a", 3), ("a", 3)]


def test_without_keys() -> None:
    with ProcessHarness(Doubled()) as task:
        for number, value in ((0, 1), (1, 2), (1, 3)):
            task.process(value, input=number)
        assert task.output() == [2]  # as in PyFlink, None is no record
        assert task.side_output(ASIDE) == [2]
    with ProcessHarness(Reporting()) as task:
        task.process("a", 5)
        task.advance_watermark(7, input=1)
        task.process("b", 8, input=1)
        task.advance_watermark(6, input=0)
        task.process("c")
        assert task.output_with_timestamps() == [
            (("a", 5, MIN_WATERMARK), 5),
            ("second", 8),
            (task.clock(), 8),
            (("c", MIN_WATERMARK, 6), None),
        ]
        assert task.side_output(ASIDE) == ["a", "c"]
        assert task.watermarks() == [6]


def test_timers_follow_the_least_watermark() -> None:
    with KeyedHarness(Paired(), key_by=first) as task:
        task.process(("a", 10), 10)
        task.process(("a", 10), 10, input=1)
        task.process(("a", 11), 11)
        task.advance_watermark(50, input=0)
        assert (task.output(), task.watermark) == ([], MIN_WATERMARK)
        task.advance_watermark(10, input=1)
        assert task.output() == [("a", 10, 1, 1)]
        task.mark_idle(1)
        assert task.side_output(ASIDE) == [("a", 11, 11)]
        assert task.watermark == 50


def test_a_function_without_keys_can_be_run_with_them() -> None:
    class Counted(CoProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count"))

        def process_element1(self, value: Any, ctx: Any) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            ctx.timer_service().register_processing_time_timer(5)

        def process_element2(self, value: Any, ctx: Any) -> Any:
            return self.process_element1(value, ctx)

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield ctx.get_current_key(), self.count.value()

    with KeyedHarness(Counted(), key_by=first) as task:
        task.process(("a", 1))
        task.process(("a", 2), input=1)
        task.advance_processing_time(task.clock() + 10)
        assert task.output() == [("a", 2)]


class Careless(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        getattr(ctx.timer_service(), f"register_{value}_time_timer")(1)

    def process_element2(self, value: Any, ctx: Any) -> Any:
        return value


def test_a_timer_without_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emission, "_warned", set())
    with (
        ProcessHarness(Careless()) as task,
        pytest.raises(NotKeyedError, match="not keyed") as error,
    ):
        task.process("event")
    assert any("Co-Process" in note for note in error.value.__notes__)
    with ProcessHarness(Careless()) as task, pytest.warns(UserWarning, match="each part"):
        task.process({"a": 1}, input=1)
    with pytest.raises(NotKeyedError, match="KeyedCoProcessFunction needs a keyed stream"):
        ProcessHarness(Paired())


ONES = [("abcd"[n % 4], 100 + n // 4) for n in range(24)]
TWOS = [("bcde"[n % 4], 101 + n // 4) for n in range(20)]
PAIRS = sorted(
    (key, at, count, Counter(TWOS)[key, at])
    for (key, at), count in Counter(ONES).items()
    if (key, at) in TWOS
)
ALONE = sorted({*ONES} ^ {*TWOS})


def paired(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    one, two = (
        env.from_collection(values).assign_timestamps_and_watermarks(BY_TIME)
        for values in (ONES, TWOS)
    )
    half = one.filter(lambda v: v[0] < "c").union(one.filter(lambda v: v[0] >= "c"))
    pairs = half.connect(two).key_by(first, first).process(Paired())
    return {"pairs": pairs, "aside": pairs.get_side_output(ASIDE)}


SPREAD = {"key_groups": 5, "parallelism": 2}


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"mode": "batch", **SPREAD},
        {"cuts": [3, 1, 4, 1, 5, 9], "restarts": True, "backends": "paged", **SPREAD},
        {"cuts": [20, 10], "restarts": "savepoint", "regroup": [(3, 1), (4, 2)], **SPREAD},
    ],
    ids=["at once", "batch", "cut and begun anew", "spread otherwise"],
)
def test_two_streams_are_paired_however_they_are_run(how: dict[str, Any]) -> None:
    results = run_pipeline(paired, **how)
    assert sorted(results["pairs"]) == PAIRS
    assert [(key, at) for key, at, _ in sorted(results["aside"])] == ALONE


def test_a_stream_connected_with_itself() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        numbers = env.from_collection([1, 2, 3])
        return numbers.connect(numbers).map(Doubled(), Types.INT())

    assert Counter(run_pipeline(program).only) == Counter([2, 4, 6])

    def keyed(env: StreamExecutionEnvironment) -> DataStream:
        pairs = env.from_collection([("a", 1), ("b", 2)]).key_by(first)
        return pairs.connect(pairs).flat_map(Repeated())

    assert len(run_pipeline(keyed, **SPREAD).only) >= 2


def test_equal_keys_of_one_keyed_stream_go_to_one_subtask() -> None:
    class Subtask(CoMapFunction):
        def open(self, runtime_context: Any) -> None:
            self.index = runtime_context.get_index_of_this_subtask

        def map1(self, value: Any) -> Any:
            return value[0], self.index()

        def map2(self, value: Any) -> Any:
            return "all", self.index()

    def program(env: StreamExecutionEnvironment) -> DataStream:
        keyed = env.from_collection(ONES).key_by(first)
        return keyed.connect(env.from_collection([0]).broadcast()).map(Subtask())

    found = Counter(run_pipeline(program, parallelism=3, key_groups=2).only)
    of_keys = {key: index for key, index in found if key != "all"}
    assert {pair: n for pair, n in found.items() if pair[0] != "all"} == {
        (key, index): 6 for key, index in of_keys.items()
    }
    assert len({*of_keys.values()}) > 1
    assert [found["all", index] for index in range(3)] == [1, 1, 1]


def test_in_a_batch_timers_that_wait_for_the_clock_fire_at_the_end() -> None:
    class Waiting(KeyedCoProcessFunction):
        def process_element1(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_processing_time_timer(2**50)

        def process_element2(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_processing_time_timer(2**50)

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield ctx.get_current_key(), ctx.time_domain()

    def program(env: StreamExecutionEnvironment) -> DataStream:
        one, two = env.from_collection([("a", 1)]), env.from_collection([("a", 1), ("b", 1)])
        return one.connect(two).key_by(first, first).process(Waiting())

    domain = TimeDomain.PROCESSING_TIME
    assert sorted(run_pipeline(program, mode="batch").only) == [("a", domain), ("b", domain)]
