"""A job of the local runner that goes on until the test lets it end."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.common import Configuration, Duration, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import MapFunction, RuntimeContext
from headrace.datastream.window import Time, TumblingEventTimeWindows

FLINKS = "org.apache.flink.metrics"
RECORDS = 600
HELD_AT = 500
"""The record at which the job waits."""


class Reading(MapFunction):
    """Passes readings on, and waits at one of them until a file is there."""

    def __init__(self, go_on: Path) -> None:
        self._go_on = go_on

    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group()
        self.read = group.add_group("sensors").counter("readings")
        self.hot = group.add_group("room", "cellar 1").meter("hot")
        self.values = group.distribution("degrees")
        group.add_group("1st = key", 'a"b,\\ c=\n').counter("größe, in %").inc()
        group.gauge("ratio", lambda: 0.5 if self.read.get_count() > 100 else 1)

    def map(self, value: int) -> int:
        if value == HELD_AT:
            until = time.monotonic() + 120
            while not self._go_on.exists() and time.monotonic() < until:
                time.sleep(0.02)
        self.read.inc()
        self.values.update(value % 40)
        if value % 40 > 30:
            self.hot.mark_event()
        return value


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        return int(value) * 1000


@contextmanager
def running(**keys: str) -> Iterator[Any]:
    """The job, held in the middle; it goes on at the end of the block."""
    text = {key.replace("__", "."): value for key, value in keys.items()}
    configuration = Configuration.from_dict(
        {
            "execution.target": "local",
            "headrace.source.max-records-per-batch": "50",
            **{f"metrics.reporter.{key}": value for key, value in text.items()},
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2))
    with tempfile.TemporaryDirectory() as folder:
        go_on = Path(folder, "go-on")
        timed = (
            env.from_collection([*range(RECORDS), 3])
            .name("readings, all")
            .map(Reading(go_on))
            .name("reading")
            .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Second()))
        )
        summed = timed.key_by(lambda n: n % 7).window(TumblingEventTimeWindows.of(Time.seconds(60)))
        summed.reduce(lambda a, b: a + b).name("sums").print()
        client = env.execute_async("readings")
        try:
            yield client
        finally:
            go_on.touch()
            client.get_job_execution_result().result()
