"""Clocks on Spark: processing time, and sources that fall silent."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Duration, Time, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.datastream.window import TumblingProcessingTimeWindows
from headrace.runtime.savepoint.folder import StoredSavepoint
from headrace.runtime.savepoint.records import decode
from tests.connectors.sqlite_log import SqliteLogSink, SqliteLogSource
from tests.connectors.test_sqlite_log import content, make_log

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


class TwoTimers(KeyedProcessFunction):
    """Says of each record that it has come, and twice that a time has passed since then."""

    DELAYS_MS = (5_000, 12_000)

    def process_element(self, value: int, ctx: Any) -> Any:
        timers = ctx.timer_service()
        for delay_ms in self.DELAYS_MS:
            timers.register_processing_time_timer(timers.current_processing_time() + delay_ms)
        yield [ctx.get_current_key(), 0]

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        late = ctx.timer_service().current_processing_time() >= timestamp
        yield [ctx.get_current_key(), timestamp if late else -1]


@pytest.mark.timeout(240)
def test_pending_timers_fire_once_after_a_savepoint(tmp_path: Path) -> None:
    """From Spark to the local runner, and back to Spark with other key groups."""
    keys, taken = 6, tmp_path / "taken.db"
    make_log(tmp_path / "given.db", range(keys))
    make_log(taken)
    savepoint = None
    rounds = (("spark", 2, 128, 1), ("local", 1, 128, 2), ("spark", 3, 7, 3))
    for number, (target, parallelism, key_groups, outputs) in enumerate(rounds):
        settings = {
            "execution.target": target,
            "parallelism.default": str(parallelism),
            "pipeline.max-parallelism": str(key_groups),
            "execution.checkpointing.dir": str(tmp_path / f"checkpoints {number}"),
        }
        if savepoint is not None:
            settings["execution.state-recovery.path"] = savepoint
        env = StreamExecutionEnvironment(Configuration.from_dict(settings))
        source = SqliteLogSource(str(tmp_path / "given.db"), bounded=False)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "log").uid("log")
        timed = numbers.key_by(lambda number: number).process(TwoTimers()).uid("timers")
        timed.sink_to(SqliteLogSink(str(taken))).uid("out")
        client = env.execute_async("timers")
        deadline = time.monotonic() + 60
        while len(content(taken)) < keys * outputs:
            assert time.monotonic() < deadline and not client.get_job_execution_result().done()
            time.sleep(0.05)
        savepoint = client.stop_with_savepoint(False, str(tmp_path / "saved")).result()
        stored = StoredSavepoint(savepoint)
        groups = range(stored.manifest.max_parallelism)
        parts = (stored.read(f"timers/timers/{group}") for group in groups)
        pending = [(decode(timer.key), timer.time_ms) for timers in parts for timer in timers]
        fired = [(key, time_ms) for key, time_ms in content(taken) if time_ms]
        assert len({*pending, *fired}) == len(pending) + len(fired) == 2 * keys
    assert not pending and sorted(key for key, _ in fired) == sorted([*range(keys)] * 2)
    assert all(time_ms > 0 for _, time_ms in fired)
