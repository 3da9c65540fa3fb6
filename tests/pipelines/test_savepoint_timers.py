"""Timers of processing time that are pending when a job continues from a savepoint."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common import WatermarkStrategy
from headrace.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.testing import run_pipeline

STEP_MS, DELAY_MS = 100, 500
READ, BATCHES = 12, 30
"""The last timers are due many micro-batches after the last record is read."""


class Later(KeyedProcessFunction):
    """Sets two timers for each record, one of them twice, and deletes a third."""

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        now_ms = timers.current_processing_time()
        yield "set", value, now_ms
        if value >= READ:
            return
        for _ in range(2):
            timers.register_processing_time_timer(now_ms + DELAY_MS)
        timers.register_processing_time_timer(now_ms + 2 * DELAY_MS + value)
        timers.register_processing_time_timer(now_ms + DELAY_MS + 1)
        timers.delete_processing_time_timer(now_ms + DELAY_MS + 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        late = ctx.timer_service().current_processing_time() >= timestamp
        yield "fired", ctx.get_current_key(), timestamp, late


def later(env: StreamExecutionEnvironment) -> DataStream:
    source = DataGeneratorSource(lambda index: index)
    read = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    return read.key_by(lambda number: number).process(Later()).uid("later")


@pytest.mark.parametrize("backends", ["heap", "paged"])
@pytest.mark.parametrize("regroup", [(), [(5, 2), (1, 1), (7, 3)]], ids=["as it was", "regrouped"])
def test_each_pending_timer_fires_once(backends: Any, regroup: Any) -> None:
    """A savepoint is taken after each micro-batch, and the next one begins from it."""
    times = itertools.count(1_000_000, STEP_MS)
    results = run_pipeline(
        later,
        cuts=[1] * BATCHES,
        micro_batches=BATCHES,
        backends=backends,
        clock=lambda: next(times),
        restarts="savepoint",
        regroup=regroup,
        key_groups=3 if regroup else None,
    ).only
    due: Counter[Any] = Counter()
    for kind, number, now_ms, *_ in results:
        if kind == "set" and number < READ:
            due["fired", number, now_ms + DELAY_MS, True] += 1
            due["fired", number, now_ms + 2 * DELAY_MS + number, True] += 1
    fired = Counter(each for each in results if each[0] == "fired")
    assert len(due) == 2 * READ and fired == due
