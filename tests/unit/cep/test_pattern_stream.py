"""What ``CEP.pattern`` and the methods of ``PatternStream`` take, and what they give."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.cep import (
    CEP,
    EventComparator,
    MalformedPatternError,
    Overflow,
    Pattern,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternStream,
    PatternTimeoutFunction,
    TimedOutPartialMatchHandler,
)
from headrace.common import Types, WatermarkStrategy
from headrace.datastream import DataStream, MapFunction, OutputTag, StreamExecutionEnvironment
from headrace.errors import PlanError, WrongFunctionError
from headrace.operators.patterns.operator import Limit
from headrace.testing import run_pipeline

OVER, LATE = OutputTag("over"), OutputTag("late")
TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda each: each[1])
EVENTS = [("a", 0), ("b", 4), ("a", 10), ("a", 11), ("c", 40), ("b", 41)]


def a_then_b() -> Pattern:
    return (
        Pattern.begin("first")
        .where(lambda event: event[0] == "a")
        .followed_by("second")
        .where(lambda event: event[0] == "b")
        .within(20)
    )


def in_stream(env: StreamExecutionEnvironment, events: list[Any] = EVENTS) -> PatternStream:
    stream = env.from_collection(events).assign_timestamps_and_watermarks(TIMES)
    return CEP.pattern(stream, a_then_b())


def run(make: Callable[[PatternStream], DataStream], side: OutputTag | None = None) -> Any:
    def program(env: StreamExecutionEnvironment) -> Any:
        found = make(in_stream(env))
        return {"found": found, **({"side": found.get_side_output(side)} if side else {})}

    return run_pipeline(program)


def times(match: Any) -> list[int]:
    return [event[1] for events in match.values() for event in events]


class Select(PatternSelectFunction):
    def open(self, runtime_context: Any) -> None:
        self.sign = 1

    def select(self, pattern: Any) -> Any:
        return [self.sign * each for each in times(pattern)]


class Timeout(PatternTimeoutFunction):
    def timeout(self, pattern: Any, timeout_timestamp: int) -> Any:
        return times(pattern), timeout_timestamp


class FlatSelect(PatternFlatSelectFunction):
    def flat_select(self, pattern: Any) -> Iterator[Any]:
        yield from times(pattern)


class FlatTimeout(PatternFlatTimeoutFunction):
    def timeout(self, pattern: Any, timeout_timestamp: int) -> Iterator[Any]:
        yield from (*times(pattern), timeout_timestamp)


class Process(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        yield times(match), ctx.timestamp()

    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        ctx.output(OVER, (times(match), ctx.timestamp()))
        return iter(())


@pytest.mark.parametrize(
    "arguments",
    [
        (Select(),),
        (times,),
        (times, Types.PICKLED_BYTE_ARRAY()),
        (OVER, Timeout(), Select()),
        (OVER, lambda match, time: (times(match), time), times),
        (OVER, Timeout(), Types.PICKLED_BYTE_ARRAY(), Select()),
    ],
)
def test_select(arguments: Any) -> None:
    side = OVER if arguments[0] is OVER else None
    results = run(lambda stream: stream.select(*arguments), side)
    assert results["found"] == [[0, 4]]
    if side:
        assert sorted(results["side"]) == [([10], 30), ([11], 31)]


def numbers(match: Any) -> Iterator[int]:
    yield from times(match)


@pytest.mark.parametrize(
    "arguments",
    [(FlatSelect(),), (numbers,), (times,), (OVER, FlatTimeout(), FlatSelect())],
)
def test_flat_select(arguments: Any) -> None:
    side = OVER if len(arguments) == 3 else None
    results = run(lambda stream: stream.flat_select(*arguments), side)
    assert results["found"] == [0, 4]
    if side:
        assert sorted(results["side"]) == [10, 11, 30, 31]


def test_process() -> None:
    results = run(lambda stream: stream.process(Process()), OVER)
    assert results["found"] == [([0, 4], 4)]
    assert sorted(results["side"]) == [([10], 30), ([11], 31)]


async def asynchronous(match: Any) -> Any:
    return match


class OtherFunction(MapFunction):
    def map(self, value: Any) -> Any:
        return value


class OnlyTimeouts(TimedOutPartialMatchHandler):
    def process_timed_out_match(self, match: Any, ctx: Any) -> None:
        return None


Call = Callable[[PatternStream], Any]
REFUSED: dict[str, tuple[Call, str]] = {
    "no function": (lambda stream: stream.select(), "it got 0 arguments"),
    "a tag and a function": (lambda stream: stream.select(OVER, times), "it got 2 arguments"),
    "no tag": (lambda stream: stream.select("over", times, times), "expected an OutputTag"),
    "a class": (lambda stream: stream.select(Select), r"make an object: Select\(\)"),
    "another function": (
        lambda stream: stream.select(FlatSelect()),
        "select.. takes a PatternSelectFunction or a plain function",
    ),
    "another timeout": (
        lambda stream: stream.select(OVER, FlatTimeout(), Select()),
        "select.. takes a PatternTimeoutFunction or a plain function",
    ),
    "an operator's function": (
        lambda stream: stream.flat_select(OtherFunction()),
        "flat_select.. takes a PatternFlatSelectFunction",
    ),
    "a generator": (lambda stream: stream.select(numbers), "generator function numbers"),
    "a coroutine": (lambda stream: stream.select(asynchronous), "asynchronous function"),
    "a plain function": (
        lambda stream: stream.process(times),  # type: ignore[arg-type]
        "process.. takes a PatternProcessFunction",
    ),
    "timeouts alone": (
        lambda stream: stream.process(OnlyTimeouts()),  # type: ignore[arg-type]
        "process.. takes a PatternProcessFunction",
    ),
    "a late tag": (
        lambda stream: stream.side_output_late_data("late"),  # type: ignore[arg-type]
        "expected an OutputTag",
    ),
    "no limit": (lambda stream: stream.limit_partial_matches(0), "int of 1 or more"),
    "a policy": (
        lambda stream: stream.limit_partial_matches(1, "fail"),  # type: ignore[arg-type]
        "expected an Overflow",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_arguments_are_refused(case: str) -> None:
    call, says = REFUSED[case]
    stream = in_stream(StreamExecutionEnvironment.get_execution_environment())
    with pytest.raises(PlanError, match=says):
        call(stream)


class ByName(EventComparator):
    def compare(self, first: Any, second: Any) -> int:
        return (first[0] > second[0]) - (first[0] < second[0])


def test_what_cep_pattern_takes() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(EVENTS)
    with pytest.raises(PlanError, match="expected a Pattern, not 'a'"):
        CEP.pattern(stream, "a")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="expected a DataStream"):
        CEP.pattern(EVENTS, a_then_b())  # type: ignore[arg-type]
    with pytest.raises(WrongFunctionError, match=r"CEP.pattern\(\) takes an Event"):
        CEP.pattern(stream, a_then_b(), 3)  # type: ignore[arg-type]
    with pytest.raises(MalformedPatternError, match="two stages") as raised:
        CEP.pattern(stream, a_then_b().next("first"))
    assert "test_pattern_stream.py:" in raised.value.where["built at"]


@pytest.mark.parametrize("comparator", [ByName(), lambda a, b: ByName().compare(a, b)])
def test_a_comparator_orders_events_of_one_time(comparator: Any) -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        stream = env.from_collection([("b", 1), ("a", 1)]).assign_timestamps_and_watermarks(TIMES)
        return CEP.pattern(stream, a_then_b(), comparator).select(
            lambda match: "".join(events[0][0] for events in match.values())
        )

    assert run_pipeline(program).only == ["ab"]


def test_later_stages_of_the_pattern_are_not_seen() -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        pattern = a_then_b()
        stream = env.from_collection(EVENTS).assign_timestamps_and_watermarks(TIMES)
        found = CEP.pattern(stream, pattern)
        pattern.where(lambda event: False)
        return found.select(times)

    assert run_pipeline(program).only == [[0, 4]]


def test_side_outputs_of_late_events_need_event_time() -> None:
    stream = in_stream(StreamExecutionEnvironment.get_execution_environment())
    late = stream.side_output_late_data(LATE).in_processing_time()
    with pytest.warns(UserWarning, match="no event is late") as noted:
        late.select(times)
    assert [each.filename for each in noted] == [__file__]
    with pytest.warns(UserWarning, match="no event is late") as noted:
        late.process(Process())
    assert [each.filename for each in noted] == [__file__]


def raising(event: Any) -> bool:
    return bool(event[2])


@pytest.mark.parametrize("is_event_time", [True, False])
def test_a_condition_that_raises_has_operator_key_and_event_in_its_notes(
    is_event_time: bool,
) -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        stream = env.from_collection(EVENTS[:1]).assign_timestamps_and_watermarks(TIMES)
        keyed = stream.key_by(lambda event: event[0])
        found = CEP.pattern(keyed, Pattern.begin("x").where(raising))
        return (found if is_event_time else found.in_processing_time()).select(times)

    with pytest.raises(IndexError) as raised:
        run_pipeline(program)
    (note,) = raised.value.__notes__
    assert re.search(r"operator: Pattern .*test_pattern_stream.py:\d+", note)
    assert "key:      'a'" in note and "record:   ('a', 0)" in note


def test_the_limit_of_partial_matches_is_the_operators() -> None:
    stream = in_stream(StreamExecutionEnvironment.get_execution_environment())
    limited = stream.limit_partial_matches(3, Overflow.DROP_OLDEST)
    specs: list[Any] = [
        each.select(times)._edges[0].source.spec  # type: ignore[union-attr]
        for each in (stream, limited, limited.limit_partial_matches(5))
    ]
    assert [each.limit for each in specs] == [
        Limit(10_000, Overflow.FAIL),
        Limit(3, Overflow.DROP_OLDEST),
        Limit(5, Overflow.FAIL),
    ]
