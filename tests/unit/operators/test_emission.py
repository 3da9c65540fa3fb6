"""Results of functions: iterables are iterated, a single result is emitted as one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from headrace.common import Configuration, Row
from headrace.common._output_tag import OutputTag
from headrace.common.time import Duration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import (
    DataStream,
    FlatMapFunction,
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.errors import MissingWatermarksError, TypeMismatchError
from headrace.operators import emission

TAG = OutputTag("side")


class Pair(NamedTuple):
    left: int
    right: int


class FlatMapping(FlatMapFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def flat_map(self, value: Any) -> Any:
        return self.result


class KeptFlatMapping(FlatMapping):
    def open(self, runtime_context: Any) -> None:
        """With it the function runs under its key."""


class Processing(ProcessFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.result


class KeyedProcessing(KeyedProcessFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.result


class OnTimer(KeyedProcessing):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(5)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        return self.result


def one_record() -> DataStream:
    settings = Configuration()
    settings.set_string("execution.target", "local")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    return env.from_collection([7])


def timed() -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    assigned = strategy.with_timestamp_assigner(lambda value: 1)
    return one_record().assign_timestamps_and_watermarks(assigned)


CALLS = {
    "flat_map": lambda result: one_record().flat_map(lambda value: result),
    "FlatMapFunction": lambda result: one_record().flat_map(FlatMapping(result)),
    "keyed flat_map": lambda result: (
        one_record().key_by(lambda value: value).flat_map(KeptFlatMapping(result))
    ),
    "process": lambda result: one_record().process(Processing(result)),
    "keyed process": lambda result: (
        one_record().key_by(lambda value: value).process(KeyedProcessing(result))
    ),
    "on_timer": lambda result: timed().key_by(lambda value: value).process(OnTimer(result)),
}


def collected(stream: DataStream) -> list[Any]:
    with stream.execute_and_collect() as results:
        return list(results)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "result",
    ["text", b"bytes", {"a": 1}, Row(1, 2), Pair(1, 2)],
    ids=lambda result: type(result).__name__,
)
def test_a_result_that_was_returned_and_not_yielded_is_reported_once(
    call: str, result: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emission, "_warned", set())
    with pytest.warns(UserWarning, match="each part is a result") as caught:
        assert collected(CALLS[call](result)) == [*result]  # as in PyFlink
        assert collected(CALLS[call](result)) == [*result]
    assert len([one for one in caught if "each part" in str(one.message)]) == 1
    assert "yield it, or return [result]" in str(caught[0].message)
    where = r"a function of .+, built at .*test_emission\.py:\d+, returned"
    assert re.match(where, str(caught[0].message))


@pytest.mark.parametrize("call", CALLS)
def test_a_tag_that_was_returned_and_not_yielded_is_refused(call: str) -> None:
    with pytest.raises(TypeMismatchError, match="returned an OutputTag and a value") as caught:
        collected(CALLS[call]((TAG, 5)))
    assert "yield the pair" in str(caught.value)
    (note,) = caught.value.__notes__
    assert "operator: " in note and "7" in note


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ((1, 2), [1, 2]),
        ((), []),
        ([1, "text"], [1, "text"]),
        (["text"], ["text"]),
        ({3}, [3]),
        (range(2), [0, 1]),
        ([Pair(1, 2)], [(1, 2)]),
        ([], []),
        (None, []),
    ],
    ids=repr,
)
def test_every_other_iterable_is_gone_through(call: str, result: Any, expected: list[Any]) -> None:
    assert collected(CALLS[call](result)) == expected


class ByItsTimestamp(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp


def test_a_timer_by_the_time_of_a_record_that_has_none_is_refused() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = one_record().assign_timestamps_and_watermarks(strategy).key_by(lambda value: value)
    with pytest.raises(MissingWatermarksError, match="the record has no timestamp") as caught:
        collected(stream.process(ByItsTimestamp()))
    assert ".with_timestamp_assigner(" in str(caught.value)
    assert "operator: KeyedProcess" in caught.value.__notes__[0]


def test_a_timer_by_a_records_own_field_needs_no_timestamp() -> None:
    class ByValue(ByItsTimestamp):
        def process_element(self, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(value)

    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = one_record().assign_timestamps_and_watermarks(strategy).key_by(lambda value: value)
    assert collected(stream.process(ByValue())) == [7]
    assert collected(timed().key_by(lambda value: value).process(ByItsTimestamp())) == [11]
