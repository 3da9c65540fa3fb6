"""The job whose checkpoint is kept: state of several kinds, timers, watermarks, held-back files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.common import Configuration, Duration, Encoder, Row, Types, WatermarkStrategy
from headrace.connector import Source
from headrace.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

NAME = "golden"
RECORDS, KEYS, PER_BATCH, FAILS_AT, SPAN_MS = 160, 5, 40, 130, 50


class Tally(KeyedProcessFunction):
    """What came so far, in state of four kinds; and a timer at the end of each span of time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.INT()))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))
        self.spans = runtime_context.get_map_state(MapStateDescriptor("spans"))
        self.most = runtime_context.get_reducing_state(
            ReducingStateDescriptor("most", max, Types.INT())
        )

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        key, number = value
        total = (self.total.value() or 0) + number
        self.total.update(total)
        self.seen.add(number)
        self.most.add(number)
        span = number // SPAN_MS
        before = self.spans.get(span)
        self.spans.put(span, Row(span=span, records=1 if before is None else before["records"] + 1))
        ctx.timer_service().register_event_time_timer((span + 1) * SPAN_MS)
        spans = sorted((row["span"], row["records"]) for row in self.spans.values())
        yield _line(key, total, len([*self.seen.get()]), self.most.get(), spans)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"{ctx.get_current_key()} until {timestamp}"


def _line(key: int, total: int, seen: int, most: int, spans: list[tuple[int, int]]) -> str:
    return f"{key} {total} {seen} {most} {spans}"


def expected() -> Counter[str]:
    """All that the job writes, as plain Python has it."""
    lines: Counter[str] = Counter()
    for key in range(KEYS):
        numbers = range(key, RECORDS, KEYS)
        for at, number in enumerate(numbers, 1):
            spans = Counter(each // SPAN_MS for each in numbers[:at])
            total = sum(numbers[:at])
            lines[_line(key, total, at, number, sorted(spans.items()))] += 1
        lines.update(f"{key} until {(s + 1) * SPAN_MS}" for s in {n // SPAN_MS for n in numbers})
    return lines


def written(folder: Path) -> Counter[str]:
    """The lines that are published in a folder."""
    files = [path for path in folder.rglob("part-*") if path.is_file()]
    return Counter(line for path in files for line in path.read_text().splitlines())


def watched(folder: str) -> Source:
    """A source that watches a folder of texts."""
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), folder)
    return lines.monitor_continuously(Duration.of_millis(100)).build()


def run(folder: Path) -> None:
    """Run it with its checkpoint and its output in a folder; it fails while ``fails`` is there."""
    fails = str(folder / "fails")

    def pair(number: int) -> tuple[int, int]:
        if number >= FAILS_AT and os.path.exists(fails):
            raise OSError("not now")
        return number % KEYS, number

    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "pipeline.max-parallelism": "4",
                "headrace.source.max-records-per-batch": str(PER_BATCH),
                "execution.checkpointing.dir": str(folder / "checkpoint"),
            }
        )
    )
    times = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10))
    timed = times.with_timestamp_assigner(lambda value, before: value[1])
    numbers = env.from_sequence(0, RECORDS - 1).uid("numbers").map(pair)
    tallies = numbers.assign_timestamps_and_watermarks(timed).key_by(lambda value: value[0])
    files = FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder()).build()
    tallies.process(Tally(), Types.STRING()).uid("tally").sink_to(files).uid("files")
    env.execute(NAME)
