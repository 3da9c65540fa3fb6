"""A job whose record tests look at."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from headrace.common import Configuration, Duration, WatermarkStrategy
from headrace.common.time import Time
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import MapFunction, OutputTag, StreamExecutionEnvironment
from headrace.datastream._build.execution import _build_graph
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.runners.launch import start
from headrace.runners.observers import JobObserver
from headrace.runners.ui.record import JobRecord

BEGAN_MS = 1_700_000_000_000


class Clock:
    """A clock that tests set; it also ticks a little with every reading."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 0.001
        return self.seconds


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return BEGAN_MS + value * 1000


class CountedUp(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.counter = runtime_context.get_metrics_group().counter("seen")

    def map(self, value: Any) -> Any:
        self.counter.inc()
        return value


def watch(
    *others: JobObserver,
    function: Callable[[int], int] = lambda n: n,
    values: Sequence[int] = tuple(range(100)),
    clock: Clock | None = None,
    record: JobRecord | None = None,
    **settings: str,
) -> JobRecord:
    """Run a small job on the local runner to its end, and return its record."""
    record = record or JobRecord("clicks", clock or Clock(), lambda: BEGAN_MS + 200_000)
    keys = {
        "execution.target": "local",
        "headrace.ui.terminal": "off",
        "headrace.source.max-records-per-batch": "10",
    }
    configuration = Configuration.from_dict({**keys, **settings})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    numbers = env.from_collection([*values]).name("numbers").uid("numbers")
    timed = numbers.map(function).name("mapped").map(CountedUp()).name("counted")
    timed = timed.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Stamps()))
    late = OutputTag("late")
    windows = (
        timed.key_by(lambda n: n % 3)
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .side_output_late_data(late)
        .reduce(lambda a, b: a + b)
        .name("sums")
        .uid("sums")
    )
    windows.sink_to(FunctionSink(len)).name("written")
    windows.get_side_output(late).sink_to(FunctionSink(len)).name("too late")
    graph = _build_graph(env._take_sinks(), configuration)
    job = start(graph, configuration, "clicks", observers=[*others, record])
    with contextlib.suppress(ArithmeticError, ValueError):
        job.wait()
    return record
