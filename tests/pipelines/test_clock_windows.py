"""Windows of processing time, by a clock that the test moves."""

from __future__ import annotations

from itertools import count

import pytest

from headrace.common import Time, WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.window import TumblingProcessingTimeWindows
from headrace.testing import run_pipeline


@pytest.mark.beam("When/Processing-time triggers", "Unbounded SDF/Base", runners="local")
def test_windows_of_processing_time_fire_as_the_clock_moves() -> None:
    """Ten records a second; micro-batches every 200 ms, windows of 600 ms."""
    batches = count()

    def program(env: StreamExecutionEnvironment) -> DataStream:
        source = DataGeneratorSource(lambda index: index, rate_per_second=10)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        keyed = numbers.map(lambda number: (number % 2, number)).key_by(lambda pair: pair[0])
        windows = keyed.window(TumblingProcessingTimeWindows.of(Time.milliseconds(600)))
        return windows.reduce(lambda one, two: (one[0], one[1] + two[1]))

    sums = run_pipeline(program, clock=lambda: next(batches) * 200, micro_batches=9).only
    assert sums == [(0, 0), (1, 1), (0, 12), (1, 15), (0, 30), (1, 33)]
