"""The job of ``bench.soak``: ``python -m bench.soak_job FOLDER RECORDS_PER_SECOND``.

Running sums by key, and sums of ten-second windows. The record with the number n has key n % KEYS
and value n, and its time is that at which the rate makes it available.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from headrace.common import Configuration, Encoder, Time, Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows

KEYS, WINDOW_SECONDS, NAME = 1_000, 10, "soak"


class Totals(KeyedProcessFunction):
    """A running sum by key, and one timer of event time at a time."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.armed = runtime_context.get_state(ValueStateDescriptor("armed", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[str]:
        total = (self.total.value() or 0) + value[1]
        self.total.update(total)
        if self.armed.value() is None:
            due = ctx.timestamp() + 1_000
            self.armed.update(due)
            ctx.timer_service().register_event_time_timer(due)
        yield f"{value[1]},{total}"

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        self.armed.clear()
        yield from ()


def main() -> None:
    folder, rate = sys.argv[1], int(sys.argv[2])
    settings = {
        "parallelism.default": "2",
        "execution.checkpointing.dir": f"{folder}/checkpoint",
        "headrace.ui.terminal": "lines",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    source = DataGeneratorSource(lambda n: (n % KEYS, n), rate_per_second=rate)
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda pair: pair[1] * 1000 // rate
    )
    pairs = env.from_source(source, times, "numbers").uid("numbers").key_by(lambda pair: pair[0])
    totals = pairs.process(Totals(), Types.STRING()).uid("totals")
    window = TumblingEventTimeWindows.of(Time.seconds(WINDOW_SECONDS))
    sums = pairs.window(window).reduce(lambda a, b: (a[0], a[1] + b[1])).uid("sums")
    for name, lines in ("totals", totals), ("sums", sums.map(_line, Types.STRING()).uid("lines")):
        sink = FileSink.for_row_format(f"{folder}/{name}", Encoder.simple_string_encoder())
        lines.sink_to(sink.build()).uid(f"{name}-out")
    env.execute(NAME)


def _line(pair: tuple[int, int]) -> str:
    return f"{pair[0]},{pair[1]}"


if __name__ == "__main__":
    main()
