"""Clocks on Spark: processing time, and sources that fall silent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Duration, Time, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.datastream.window import TumblingProcessingTimeWindows

pytestmark = pytest.mark.spark


def environment() -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({"parallelism.default": "2"})
    return StreamExecutionEnvironment.get_execution_environment(configuration)


class HalfASecondLater(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 500)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), ctx.timer_service().current_processing_time() - timestamp


@pytest.mark.beam("When/Timers", "When/Processing-time triggers", runners="streaming")
def test_processing_time_timers_fire_without_new_records(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3\n")
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    source = lines.monitor_continuously(Duration.of_millis(100)).build()
    lines = environment().from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    keyed = lines.key_by(lambda line: line)
    windows = keyed.window(TumblingProcessingTimeWindows.of(Time.milliseconds(300)))
    counted = windows.reduce(max).map(lambda line: (line, "window"))
    fired = keyed.process(HalfASecondLater()).union(counted).execute_and_collect(limit=6)
    assert sorted(key for key, _ in fired) == ["1", "1", "2", "2", "3", "3"]
    assert sum(late == "window" for _, late in fired) == 3
    assert all(late == "window" or late >= 0 for _, late in fired)


class AtTheTimestamp(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield timestamp


def test_a_silent_source_does_not_hold_up_event_time(tmp_path: Path) -> None:
    env = environment()
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(int)
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    silent = env.from_source(
        lines.monitor_continuously(Duration.of_millis(100)).build(),
        times.with_idleness(Duration.of_seconds(1)),
        "silent",
    )
    (tmp_path / "a.txt").write_text("1\n")
    steady = env.from_source(
        DataGeneratorSource(lambda index: (index + 1) * 10, rate_per_second=20), times, "steady"
    )
    stream = silent.map(int).union(steady).key_by(lambda value: 0).process(AtTheTimestamp())
    assert stream.execute_and_collect(limit=5) == [1, 10, 20, 30, 40]


@pytest.mark.beam(
    "Unbounded SDF/Base", "Unbounded SDF/SDF-initiated Checkpointing", runners="streaming"
)
def test_a_watched_folder_gives_each_file_once(tmp_path: Path) -> None:
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    source = lines.monitor_continuously(Duration.of_millis(100)).build()
    (tmp_path / "0.txt").write_text("0\n")
    stream = environment().from_source(source, WatermarkStrategy.no_watermarks(), "folder")
    found: list[str] = []
    with stream.execute_and_collect() as results:  # type: ignore[union-attr]
        for line in results:
            found.append(line)
            if len(found) == 6:
                break
            aside = tmp_path / f".{len(found)}"
            aside.write_text(f"{len(found)}\n")
            aside.rename(tmp_path / f"{len(found)}.txt")
    assert found == ["0", "1", "2", "3", "4", "5"]
