"""Broadcast state on Spark: a worker is killed while rules change, and the job goes on."""

from __future__ import annotations

import ast
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Encoder, WatermarkStrategy
from headrace.common.typeinfo import Types
from headrace.datastream import (
    KeyedBroadcastProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor

pytestmark = pytest.mark.spark

RATES = MapStateDescriptor("rates", Types.LONG(), Types.INT())
WAITING = MapStateDescriptor("waiting")
SEEN = ValueStateDescriptor("seen", Types.BOOLEAN())
CHANGED = OutputTag("changed")
REACHED = OutputTag("reached")
BY_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v[-1])
RECORDS = [(f"key {n % 9}", n, 1_000 + 10 * n) for n in range(120)]
CHANGES = [(n * n, 1_005 + 30 * n) for n in range(40)]
"""More than a micro-batch takes, so that all keys are known before the last."""
FATAL = CHANGES[23]


class Rated(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Multiplies a number by the rate of its time. One worker dies of one rate, once."""

    def __init__(self, died: Path) -> None:
        self.died = died

    def open(self, runtime_context: Any) -> None:
        self.waiting = runtime_context.get_map_state(WAITING)
        self.seen = runtime_context.get_state(SEEN)

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.seen.update(True)
        self.waiting.put(ctx.timestamp(), value)
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RATES).put(ctx.timestamp(), value[0])
        if value == FATAL and not self.died.exists():
            self.died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield CHANGED, value
        if value == CHANGES[-1]:
            keys: list[str] = []
            ctx.apply_to_keyed_state(SEEN, lambda key, state: keys.append(key))
            yield from ((REACHED, key) for key in keys)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        rates = ctx.get_broadcast_state(RATES).items()
        _, rate = max(((at, rate) for at, rate in rates if at <= timestamp), default=(0, 0))
        yield (*self.waiting.get(timestamp), rate)
        self.waiting.remove(timestamp)


def lines(folder: Path) -> list[Any]:
    files = [path for path in folder.rglob("part-*") if path.is_file()]
    return [ast.literal_eval(line) for path in files for line in path.read_text().splitlines()]


def restarting(folder: Path, name: str) -> StreamExecutionEnvironment:
    """An environment of two tasks with small micro-batches, whose job is restarted once."""
    return StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "execution.checkpointing.dir": str(folder / "checkpoint"),
                "headrace.source.max-records-per-batch": "30",
                "parallelism.default": "2",
                "pipeline.max-parallelism": "8",
                "pipeline.name": name,
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.attempts": "1",
                "restart-strategy.fixed-delay.delay": "1 ms",
            }
        )
    )


def test_a_killed_worker_loses_no_rule(tmp_path: Path) -> None:
    env = restarting(tmp_path, "rates")
    records, rates = (
        env.from_collection(values).name(name).assign_timestamps_and_watermarks(BY_TIME)
        for name, values in (("records", RECORDS), ("rates", CHANGES))
    )
    rated = (
        records.key_by(lambda record: record[0])
        .connect(rates.broadcast(RATES))
        .process(Rated(tmp_path / "died"))
    )
    streams = {
        "rated": rated,
        "changed": rated.get_side_output(CHANGED),
        "reached": rated.get_side_output(REACHED).map(repr),
    }
    for name, stream in streams.items():
        files = FileSink.for_row_format(str(tmp_path / name), Encoder.simple_string_encoder())
        stream.sink_to(files.build()).uid(name)
    env.execute("rates")
    assert (tmp_path / "died").exists()
    assert Counter(lines(tmp_path / "changed")) == {
        change: 2 for change in CHANGES
    }  # once per task
    assert Counter(lines(tmp_path / "reached")) == {f"key {n}": 1 for n in range(9)}
    assert sorted(lines(tmp_path / "rated"), key=lambda result: result[1]) == [
        (*record, max((rate for rate, at in CHANGES if at <= record[-1]), default=0))
        for record in RECORDS
    ]
