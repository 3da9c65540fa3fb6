"""Windows that another program kept otherwise are refused: nothing of them is lost in silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.common.time import Time
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.aggregates import Aggregates, Count, Max, Min, Sum
from headrace.datastream.data_stream import KeyedStream
from headrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headrace.errors import CheckpointError
from headrace.testing import run_pipeline
from tests.unit.operators.windowing import STRATEGY, Numbers, Total, plus, spec_of, windowed

Build = Callable[[KeyedStream], DataStream]


def tumbling(size_ms: int, offset_ms: int = 0) -> Any:
    return TumblingEventTimeWindows.of(Time.milliseconds(size_ms), Time.milliseconds(offset_ms))


def sliding(size_ms: int, slide_ms: int, offset_ms: int = 0) -> Any:
    return SlidingEventTimeWindows.of(*map(Time.milliseconds, (size_ms, slide_ms, offset_ms)))


def summed(assigner: Any) -> Build:
    return lambda keyed: keyed.window(assigner).reduce(plus)


def totalled(assigner: Any) -> Build:
    return lambda keyed: keyed.window(assigner).aggregate(Total())


OTHERS: list[tuple[Build, str]] = [
    (summed(tumbling(20)), "windows-of-20-ms"),
    (summed(tumbling(50)), "windows-of-50-ms"),
    (totalled(sliding(20, 5)), "panes-of-5-ms"),
    (totalled(sliding(20, 5, 2)), "panes-of-5-ms-from-2"),
    (summed(sliding(20, 5)), "windows-of-20-ms"),
    (lambda keyed: keyed.window(tumbling(20)).trigger(CountTrigger.of(2)).reduce(plus), "window"),
    (
        lambda keyed: keyed.window(tumbling(20)).evictor(CountEvictor.of(2)).reduce(plus),
        "evicting-window",
    ),
    (summed(EventTimeSessionWindows.with_gap(Time.milliseconds(5))), "reducing-sessions"),
    (
        lambda keyed: keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(5))).process(
            Numbers()
        ),
        "merging-window",
    ),
    (
        summed(TumblingProcessingTimeWindows.of(Time.milliseconds(20))),
        "processing-time-window",
    ),
    (lambda keyed: keyed.count_window(4).reduce(plus), "windows-of-4-records"),
    (lambda keyed: keyed.count_window(4, 2).reduce(plus), "windows-of-4-records-every-2"),
]


@pytest.mark.parametrize(("build", "kind"), OTHERS)
def test_the_kind_says_how_windows_are_kept(build: Build, kind: str) -> None:
    assert spec_of(build).kind == kind


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (tumbling(20), tumbling(50), "windows of 20 ms, but the program has windows of 50 ms"),
        (sliding(30, 10), sliding(30, 15), "a pane does not begin where one of the"),
        (sliding(30, 10), sliding(30, 10, 3), "a pane does not begin where one of the"),
    ],
)
def test_windows_of_another_size_are_refused(before: Any, after: Any, message: str) -> None:
    with windowed(totalled(before)) as task:
        task.process(("a", 1), 45)
        held = task.snapshot()
    with windowed(totalled(after)) as other, pytest.raises(CheckpointError, match=message):
        other.restore(held)
        other.advance_watermark(200)


def test_windows_at_another_offset_or_distance_go_on() -> None:
    with windowed(summed(tumbling(20))) as task:
        task.process(("a", 1), 45)
        held = task.snapshot()
    with windowed(summed(tumbling(20, 7))) as other:
        other.restore(held)
        other.process(("a", 2), 46)
        other.advance_watermark(200)
        assert other.output() == [("a", 2), ("a", 1)] or other.output() == [("a", 1), ("a", 2)]


def test_a_reduced_value_is_no_accumulator() -> None:
    with windowed(lambda keyed: keyed.window(tumbling(20)).reduce(plus), backend="paged") as task:
        task.process(("a", 1), 45)
        held = task.snapshot()
    totals = windowed(lambda keyed: keyed.window(tumbling(20)).aggregate(Total()), backend="paged")
    with totals as other, pytest.raises(CheckpointError, match="was stored as reducing"):
        other.restore(held)
        other.advance_watermark(200)


def test_a_program_with_windows_of_another_kind_does_not_go_on() -> None:
    def program(assigner: Any) -> Callable[[StreamExecutionEnvironment], DataStream]:
        def build(env: StreamExecutionEnvironment) -> DataStream:
            stream = env.from_collection([("a", 1), ("a", 2)])
            timed = STRATEGY.with_timestamp_assigner(lambda record: record[1])
            stream = stream.assign_timestamps_and_watermarks(timed)
            keyed = stream.key_by(lambda record: record[0])
            return keyed.window(assigner).reduce(plus).uid("sums")

        return build

    sessions = EventTimeSessionWindows.with_gap(Time.milliseconds(5))
    with pytest.raises(CheckpointError, match="of another kind than in the checkpoint"):
        run_pipeline(
            program(tumbling(20)),
            cuts=[1],
            backends="paged",
            restarts=True,
            successors=[program(sessions)],
        )


@pytest.mark.parametrize(
    "assigner",
    [tumbling(20), sliding(20, 5), EventTimeSessionWindows.with_gap(Time.milliseconds(5))],
)
@pytest.mark.parametrize("lateness_ms", [0, 10])
def test_accumulators_of_other_aggregates_are_refused(assigner: Any, lateness_ms: int) -> None:
    """They are tuples without names: read as others they give wrong results."""

    def after(restored: Aggregates) -> list[Any]:
        def build(function: Aggregates) -> Any:
            return windowed(
                lambda keyed: (
                    keyed.window(assigner).allowed_lateness(lateness_ms).aggregate(function)
                ),
                backend="paged",
            )

        with build(Aggregates(count=Count(), total=Sum(1))) as task:
            task.process(("a", 7), 45)
            held = task.snapshot()
        with build(restored) as other:
            other.restore(held)
            other.advance_watermark(46)
            other.process(("a", 5), 46)
            other.advance_watermark(200)
            return other.output()

    assert after(Aggregates(n=Count(), sum=Sum(1)))[-1].as_dict()["n"] in (1, 2)
    for function in (
        Aggregates(total=Sum(1), count=Count()),
        Aggregates(count=Count(), most=Max(1)),
        Aggregates(count=Count(), total=Sum(0)),
        Aggregates(count=Count(), total=Sum(1), least=Min(1)),
        Aggregates(count=Count()),
    ):
        with pytest.raises(CheckpointError, match=r"stored as .*AGGREGATES<count\(\), sum\(1"):
            after(function)
