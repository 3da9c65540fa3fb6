"""A watched folder, silent now and then and read by several tasks, beside a steady source."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from headrace.common import WatermarkStrategy
from headrace.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.testing import run_pipeline

TICK_MS = 200
TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(int)


class Alarm(KeyedProcessFunction):
    """A timer at the time of each record."""

    def process_element(self, value: int, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(value)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[int]:
        yield timestamp


def test_a_folder_that_woke_for_late_records_only_goes_idle_again(tmp_path: Path) -> None:
    arriving = {0: ["1000"], 5: ["500", "600"]}
    """Files by the micro-batch before which they appear; those of one are read by two tasks."""
    batches = iter(range(100))

    def clock() -> int:
        batch = next(batches)
        for number, line in enumerate(arriving.get(batch, [])):
            (tmp_path / f"{batch}-{number}.txt").write_text(f"{line}\n")
        return batch * TICK_MS

    def program(env: StreamExecutionEnvironment) -> DataStream:
        lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
        folder = env.from_source(
            lines.monitor_continuously(timedelta(milliseconds=1)).build(),
            TIMES.with_idleness(timedelta(milliseconds=2 * TICK_MS)),
            "folder",
        )
        steady = env.from_source(
            DataGeneratorSource(lambda index: (index + 1) * 1000, rate_per_second=5),
            TIMES,
            "steady",
        )
        return folder.map(int).union(steady).key_by(lambda value: 0).process(Alarm())

    fired = run_pipeline(program, clock=clock, parallelism=2, key_groups=1, micro_batches=12).only
    # one record of a second each; the last one's timer waits for the next
    assert fired[-1] == 10_000
