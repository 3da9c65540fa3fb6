"""Watermark alignment: sources of one group wait for the slowest, in every job."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Duration, WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.testing import run_pipeline

RECORDS = 200
DRIFT_MS = 10_000


def program(env: StreamExecutionEnvironment, keyed: bool) -> DataStream:
    """Event time runs a hundred times as fast in one source as in the other."""

    def read(name: str, step_ms: int) -> DataStream:
        strategy = (
            WatermarkStrategy.for_monotonous_timestamps()
            .with_timestamp_assigner(lambda value, _: value * step_ms)
            .with_watermark_alignment("group", Duration.of_millis(DRIFT_MS))
        )
        source = NumberSequenceSource(0, RECORDS - 1)
        stream = env.from_source(source, strategy, name)
        return stream.map(lambda value: (name, value * step_ms))

    both = read("fast", 10_000).union(read("slow", 100))
    return both.key_by(lambda pair: pair[0]).map(lambda pair: pair) if keyed else both


@pytest.mark.parametrize("keyed", [False, True], ids=["no exchange", "exchange"])
def test_the_fast_source_waits_for_the_slow_one(keyed: bool) -> None:
    results = run_pipeline(lambda env: program(env, keyed), cuts=[10] * 20, micro_batches=20)
    reached: dict[str, Any] = {"fast": 0, "slow": 0}
    for name, time_ms in results.only:
        reached[name] = max(reached[name], time_ms)
    # What one micro-batch takes of the fast source: 5 records.
    assert reached["slow"] == (20 * 5 - 1) * 100
    assert reached["fast"] <= reached["slow"] + DRIFT_MS + 5 * 10_000
