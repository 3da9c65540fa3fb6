"""``join`` and ``co_group``: the examples of Flink's documentation, and what they refuse."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from headrace.common import Duration, Row, Types, WatermarkStrategy
from headrace.common.time import Time
from headrace.datastream import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFields,
    JoinFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream._streams.tagged import TaggedUnion
from headrace.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    Evictor,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.errors import PlanError, WrongFunctionError
from headrace.testing import run_pipeline

BY_TIME = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_millis(5)
).with_timestamp_assigner(lambda value: value if isinstance(value, int) else value[-1])
TWO_MS = TumblingEventTimeWindows.of(Time.milliseconds(2))


def streams(env: StreamExecutionEnvironment, *sides: list[Any]) -> Any:
    return [env.from_collection(each).assign_timestamps_and_watermarks(BY_TIME) for each in sides]


def everything(value: Any) -> str:
    return "all"


@pytest.mark.parametrize(
    ("assigner", "orange", "green", "joined"),
    [
        (
            TWO_MS,
            [*range(8)],
            [0, 1, 3, 4],
            ["0,0", "0,1", "1,0", "1,1", "2,3", "3,3", "4,4", "5,4"],
        ),
        (
            SlidingEventTimeWindows.of(Time.milliseconds(2), Time.milliseconds(1)),
            [*range(5)],
            [0, 3, 4],
            ["0,0", "0,0", "1,0", "2,3", "3,3", "3,3", "3,4", "4,3", "4,4", "4,4"],
        ),
        (
            EventTimeSessionWindows.with_gap(Time.milliseconds(1)),
            [1, 2, 5, 6, 8, 9],
            [0, 4, 5],
            ["1,0", "2,0", "5,4", "5,5", "6,4", "6,5"],
        ),
    ],
)
@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_the_examples_of_flinks_documentation(
    assigner: Any, orange: list[int], green: list[int], joined: list[str], mode: Any
) -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        first, second = streams(env, orange, green)
        keyed = first.join(second).where(everything).equal_to(everything)
        return keyed.window(assigner).apply(lambda a, b: f"{a},{b}", Types.STRING())

    assert sorted(run_pipeline(program, mode).only) == joined


class Groups(CoGroupFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.ready = True

    def co_group(self, first: Any, second: Any) -> Any:
        assert self.ready
        yield tuple(first), tuple(second)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"mode": "batch"},
        {"cuts": [1] * 30, "backends": "paged", "restarts": True},
        {"cuts": [3] * 9, "restarts": "savepoint", "key_groups": 3, "parallelism": 2},
    ],
)
def test_groups_of_both_streams_by_keys_of_their_own(how: Any) -> None:
    """The key of a sale is its second field, that of a visit its first; one side may be empty."""
    sales = [(number, "ab"[number % 2], number) for number in range(0, 12)]
    visits = [("abc"[number % 3], number) for number in range(1, 12, 2)]

    def program(env: StreamExecutionEnvironment) -> Any:
        first, second = streams(env, sales, visits)
        keyed = first.co_group(second).where(1, Types.STRING()).equal_to(0, Types.STRING())
        return keyed.window(TumblingEventTimeWindows.of(Duration.of_millis(4))).apply(Groups())

    wanted = []
    for start in (0, 4, 8):
        for key in "abc":
            one = tuple(s for s in sales if s[1] == key and start <= s[-1] < start + 4)
            two = tuple(v for v in visits if v[0] == key and start <= v[-1] < start + 4)
            wanted += [(one, two)] if one or two else []
    assert Counter(run_pipeline(program, **how).only) == Counter(wanted)


def test_functions_of_a_join() -> None:
    class One(JoinFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.between = ","

        def join(self, first: Any, second: Any) -> Any:
            return f"{first}{self.between}{second}"

    class Several(FlatJoinFunction):
        def join(self, first: Any, second: Any) -> Any:
            return None if first == 2 else [first, second]

    def program(env: StreamExecutionEnvironment) -> Any:
        first, second = streams(env, [1, 2, 3], [1, 3])
        windows = first.join(second).where(everything).equal_to(everything).window(TWO_MS)
        return {"one": windows.apply(One()), "several": windows.apply(Several())}

    assert run_pipeline(program) == {"one": ["1,1", "2,3", "3,3"], "several": [1, 1, 3, 3]}


def test_a_trigger_and_an_evictor_see_the_records_of_both() -> None:
    class WithoutFirst(Evictor):  # type: ignore[type-arg]
        def evict_before(self, elements: Any, size: int, window: Any, context: Any) -> Any:
            for element in [*elements]:
                record = element.get_value() if hasattr(element, "get_value") else element
                assert isinstance(record, TaggedUnion)
                assert (record.is_one(), record.is_two()) == (record.value > 0, record.value < 0)
                assert record.value in (record.get_one(), record.get_two())
            return None

        def evict_after(self, elements: Any, size: int, window: Any, context: Any) -> Any:
            return None

    def program(env: StreamExecutionEnvironment) -> Any:
        first, second = env.from_collection([1, 2]), env.from_collection([-1, -2])
        windows = first.co_group(second).where(everything).equal_to(everything)
        windows = windows.window(GlobalWindows.create()).trigger(
            PurgingTrigger.of(CountTrigger.of(4))
        )
        return windows.evictor(WithoutFirst()).apply(lambda a, b: [(sorted(a), sorted(b))])

    assert run_pipeline(program).only == [([1, 2], [-2, -1])]


def test_allowed_lateness() -> None:
    """The 1 comes when its window has fired, which fires again."""

    def program(env: StreamExecutionEnvironment) -> Any:
        first, second = streams(env, [0, 100, 1, 200], [0, 100, 200])
        windows = first.join(second).where(everything).equal_to(everything).window(TWO_MS)
        again = windows.allowed_lateness(Time.milliseconds(1_000))
        return {
            "never": windows.apply(lambda a, b: (a, b)),
            "again": again.apply(lambda a, b: (a, b)),
        }

    found = run_pipeline(program, cuts=[2, 2, 1, 9])
    assert sorted(found["never"]) == [(0, 0), (100, 100), (200, 200)]
    assert sorted(found["again"]) == [(0, 0), (0, 0), (1, 0), (100, 100), (200, 200)]


def test_results_go_to_side_outputs_and_downstream() -> None:
    tag = OutputTag("pairs")

    class Aside(CoGroupFunction):
        def co_group(self, first: Any, second: Any) -> Any:
            yield tag, (len(first), len(second))
            yield len(first) + len(second)

    def program(env: StreamExecutionEnvironment) -> Any:
        first, second = streams(env, [0, 1, 2], [3])
        grouped = first.co_group(second).where(everything).equal_to(everything)
        counts = grouped.window(TWO_MS).apply(Aside(), Types.INT())
        total = counts.key_by(everything).window(TumblingEventTimeWindows.of(Time.milliseconds(4)))
        return {"total": total.sum(), "aside": counts.get_side_output(tag)}

    assert run_pipeline(program) == {"total": [4], "aside": [(2, 0), (1, 1)]}


def test_what_is_refused() -> None:
    env = StreamExecutionEnvironment()
    first, second = streams(env, [1], [2])
    join = first.join(second)
    with pytest.raises(PlanError, match=r"equal_to\(\) comes after where"):
        join.equal_to(everything)
    with pytest.raises(PlanError, match=r"window\(\) comes after equal_to"):
        join.where(everything).window(TWO_MS)
    with pytest.raises(PlanError, match=r"apply\(\) comes after window"):
        join.where(everything).equal_to(everything).apply(max)
    with pytest.raises(PlanError, match="have different types: STRING and INT"):
        join.where(everything, Types.STRING()).equal_to(everything, Types.INT())
    windows = join.where(everything).equal_to(everything).window(TWO_MS)
    with pytest.raises(WrongFunctionError, match=r"apply\(\) takes a JoinFunction"):
        windows.apply(Groups())
    groups = first.co_group(second).where(everything).equal_to(everything)
    with pytest.raises(WrongFunctionError, match="expected a WindowAssigner"):
        groups.window("two").apply(Groups())  # type: ignore[arg-type]
    for call in (first.join, first.co_group):
        with pytest.raises(PlanError, match=r"\(\) takes a stream, not an int"):
            call(7)
        with pytest.raises(PlanError, match="of one environment"):
            call(StreamExecutionEnvironment().from_collection([1]))


# JoinFields


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"user": "ann", "n": 1}, {"user": "ann", "clicks": 7}),
        (Row(user="ann", n=1), Row(user="ann", clicks=7)),
    ],
)
def test_fields_of_both_records_become_a_row(first: Any, second: Any) -> None:
    function = JoinFields(["user"], {"number": "clicks"})
    assert function.join(first, second) == Row(user="ann", number=7)
    assert function.join(first, None) == Row(user="ann", number=None)
    assert JoinFields("user").join(first, None) == Row(user="ann")
    assert repr(function) == "JoinFields({'user': 'user'}, {'number': 'clicks'})"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (((), ()), "has no field"),
        ((["user"], ["user"]), "two fields of a join are called 'user'"),
        ((["user", "user"], ()), "two fields of a join are called 'user'"),
        (([0], ()), "takes names of fields, not 0"),
        (((), {"n": 1}), "takes names of fields, not 1"),
    ],
)
def test_fields_of_a_join_that_are_refused(fields: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        JoinFields(*fields)


@pytest.mark.parametrize(
    "windows",
    [
        TWO_MS,
        SlidingEventTimeWindows.of(Time.milliseconds(4), Time.milliseconds(2)),
        EventTimeSessionWindows.with_gap(Time.milliseconds(2)),
    ],
)
def test_fields_can_be_joined_in_windows_of_any_kind(windows: Any) -> None:
    def pairs(function: Any) -> Counter[Any]:
        env = StreamExecutionEnvironment()
        first, second = (
            env.from_collection(
                [{"k": n % 2, name: n, "at": n} for n in range(9)]
            ).assign_timestamps_and_watermarks(
                WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("at")
            )
            for name in ("a", "b")
        )
        join = first.join(second).where("k").equal_to("k").window(windows)
        return Counter(map(repr, run_pipeline(join.apply(function)).only))

    found = pairs(JoinFields(["k", "a"], ["b"]))
    assert found == pairs(lambda one, two: Row(k=one["k"], a=one["a"], b=two["b"])) and found
