"""A source has ended, and a later version of the program reads another one beside it.

What the first one fed has come to the end of time. The records of the second are taken all the
same, also after several stages, and with watermarks of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common.time import Duration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.functions import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
)
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.testing import run_pipeline

LATE = OutputTag("late")
TIMES = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_millis(5)
).with_timestamp_assigner(lambda value: value[1])
MORE = [(0, 1000 + 30 * number) for number in range(8)]


class Passed(KeyedProcessFunction):
    """Records as they are."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value


class NotEnded(ProcessFunction):
    """Records as they are, before the end of time."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        assert ctx.timer_service().current_watermark() < ctx.timestamp()
        yield value


def same(value: Any) -> Any:
    return value


def restamped(stream: DataStream) -> DataStream:
    return stream.assign_timestamps_and_watermarks(TIMES)


def parted(stream: DataStream) -> DataStream:
    return stream.map(same).union(stream.map(same).filter(lambda value: False)).map(same)


def version(joined: bool, *between: Any) -> Any:
    """A program of two stages. ``joined``: the second source feeds them as well."""

    def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
        first, second = (
            env.from_collection(records).assign_timestamps_and_watermarks(TIMES)
            for records in ([(0, 1000)] * 2, MORE)
        )
        stream = first.union(second) if joined else first
        stream = stream.key_by(lambda value: value[0]).process(Passed()).uid("first")
        for change in between:
            stream = change(stream)
        windows = stream.key_by(lambda value: value[0]).window(TumblingEventTimeWindows.of(10))
        sums = windows.side_output_late_data(LATE).sum(1).uid("windows")
        late, other = sums.get_side_output(LATE), second.map(same)
        return {"sums": sums, "late": late, "other": other}

    return build


@pytest.mark.parametrize("restarts", [True, "savepoint"])
@pytest.mark.parametrize(
    "between",
    [
        (),
        (parted,),
        (restamped, parted),
        (parted, restamped, lambda stream: stream.process(NotEnded())),
    ],
)
def test_what_had_ended_goes_on(between: Any, restarts: Any) -> None:
    found = run_pipeline(
        version(False, *between),
        cuts=[4, 2, 2, 2],
        backends="paged",
        restarts=restarts,
        successors=[version(True, *between)] * 9,
    )
    assert found["other"] == MORE and not found["late"]
    assert found["sums"] == [(0, 2000), *MORE[2:]], "two were read before"


class NeverLate(KeyedCoProcessFunction):
    """Records of the second input, which the first one is far ahead of."""

    def process_element1(self, value: Any, ctx: Any) -> None:
        """Its watermark is all that counts."""

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        assert ctx.timer_service().current_watermark() < ctx.timestamp()
        yield value


def test_an_input_that_had_ended_holds_back_again() -> None:
    ahead = [(0, at if number < 2 else at + 9_000) for number, (_, at) in enumerate(MORE)]

    def build(joined: bool) -> Any:
        def made(env: StreamExecutionEnvironment) -> DataStream:
            first, second, third = (
                env.from_collection(records).assign_timestamps_and_watermarks(TIMES)
                for records in ([(0, 1000)] * 2, MORE, ahead)
            )
            second.map(same).sink_to(FunctionSink(len))
            stream = first.union(second) if joined else first
            keyed = stream.key_by(lambda value: value[0]).process(Passed()).uid("first")
            both = third.key_by(lambda value: value[0]).connect(keyed.key_by(lambda v: v[0]))
            return both.process(NeverLate()).uid("both")

        return made

    found = run_pipeline(
        build(False),
        cuts=[6, 2, 2, 2],
        backends="paged",
        restarts=True,
        successors=[build(True)] * 9,
    )
    assert found.only == [(0, 1000)] * 2 + MORE[2:]
