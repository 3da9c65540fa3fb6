"""Watermark alignment: sources of one group wait for the slowest, in every job."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Duration, WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.table import StreamTableEnvironment
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


OPTIONS = {
    "scan.watermark.alignment.group": "group",
    "scan.watermark.alignment.max-drift": f"{DRIFT_MS} ms",
    "scan.watermark.alignment.update-interval": "1 s",
}


def tables(folder: Path, where: str) -> Callable[[Any], DataStream]:
    """The same with two tables of files; ``where``: the options of alignment are given."""
    begin = datetime.datetime(2026, 1, 2)
    for name, step_ms in (("fast", 10_000), ("slow", 100)):
        times = (begin + datetime.timedelta(milliseconds=n * step_ms) for n in range(RECORDS))
        rows = (json.dumps({"at": at.isoformat(" ", "milliseconds")}) for at in times)
        (folder / name).write_text("".join(f"{row}\n" for row in rows), "utf-8")
    options = ", ".join(f"'{key}' = '{value}'" for key, value in OPTIONS.items())
    hint = f"/*+ OPTIONS({options}) */" if where == "hint" else ""

    def made(env: StreamExecutionEnvironment) -> DataStream:
        t_env = StreamTableEnvironment.create(env)
        for name in ("fast", "slow"):
            t_env.execute_sql(
                f"CREATE TABLE {name} (`at` TIMESTAMP(3), WATERMARK FOR `at` AS `at`) WITH"
                f" ('connector' = 'filesystem', 'path' = '{folder / name}', 'format' = 'json'"
                f"{', ' + options if where == 'WITH' else ''})"
            )
        both = " UNION ALL ".join(
            f"SELECT '{name}', `at` FROM {name} {hint}" for name in ("fast", "slow")
        )
        return t_env.to_data_stream(t_env.sql_query(both))

    return made


@pytest.mark.parametrize("where", ["WITH", "hint", "nowhere"])
def test_the_fast_table_waits_for_the_slow_one(where: str, tmp_path: Path) -> None:
    results = run_pipeline(tables(tmp_path, where), cuts=[10] * 20, micro_batches=20)
    reached: dict[str, Any] = {}
    for name, at in results.only:
        reached[name] = max(reached.get(name, at), at)
    ahead = (reached["fast"] - reached["slow"]) / datetime.timedelta(milliseconds=1)
    if where == "nowhere":
        assert ahead > 20 * DRIFT_MS
    else:
        assert ahead <= DRIFT_MS + 10 * 10_000
