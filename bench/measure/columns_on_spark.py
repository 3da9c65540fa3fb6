"""Jobs on Spark with columns and without: ``python -m bench.measure.columns_on_spark``.

Each job reads generated columns with 10,000 keys as a stream, and gives its results to a sink that
takes columns and drops them, or to Parquet files. Columns are turned off by
``headrace.columns.enabled``. The two ways take turns, each run in a process of its own. A rate is
the slope between two sizes; the ratio of the rates is printed for each round.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.processes import processor_seconds
from headrace.common import Configuration, Time, Types, WatermarkStrategy
from headrace.common.changelog_mode import ChangelogMode
from headrace.connector import (
    ColumnChunk,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.datastream import DataStream, JoinFields, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.formats.parquet import ParquetBulkWriters
from headrace.datastream.window import TumblingEventTimeWindows

KEYS = 10_000
NAMES = ("user", "group", "amount", "at")
RECORDS_PER_MS = 20
"""A window of a second has two records of each key and side."""


class _Drops(SinkWriter, Committer):
    def write(self, values: Any, timestamps: Any) -> None:
        """Drop records."""

    def write_columns(self, chunk: ColumnChunk) -> None:
        """Drop columns."""

    def prepare_commit(self) -> None:
        """Nothing is to be committed."""

    def commit(self, batch_id: int, committables: Any) -> None:
        """Nothing is to be committed."""


@dataclass(frozen=True)
class Dropped(Sink):
    """Takes columns, and drops them."""

    @property
    def takes_columns(self) -> bool:
        return True

    @property
    def accepts(self) -> ChangelogMode | None:
        return None

    def writer(self, context: WriterContext) -> SinkWriter:
        return _Drops()

    def committer(self, context: CommitterContext) -> Committer:
        return _Drops()


def records(multiplier: int) -> Callable[[Any], dict[str, Any]]:
    """Columns of records by their numbers."""

    def columns(indexes: Any) -> dict[str, Any]:
        users = indexes * multiplier % KEYS
        made = (users, indexes * 40_503 % KEYS, indexes % 101, indexes // RECORDS_PER_MS)
        return dict(zip(NAMES, made, strict=True))

    return columns


def stream(
    env: StreamExecutionEnvironment, count: int, multiplier: int, timed: bool = False
) -> DataStream:
    """One input."""
    times = WatermarkStrategy.no_watermarks()
    if timed:
        times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("at")
    return env.from_source(DataGeneratorSource.of_columns(records(multiplier), count), times, "s")


def sums(env: StreamExecutionEnvironment, count: int, folder: str) -> None:
    """Source, sum, another key, sum."""
    users = stream(env, count, 7919).key_by("user").sum("amount")
    users.key_by("group").sum("amount").sink_to(Dropped())


def join(env: StreamExecutionEnvironment, count: int, folder: str) -> None:
    """Two inputs, joined in windows of a second."""
    first, second = (stream(env, count // 2, by, timed=True) for by in (7919, 104_729))
    windows = TumblingEventTimeWindows.of(Time.seconds(1))
    pairs = first.join(second).where("user").equal_to("user").window(windows)
    pairs.apply(JoinFields(["user", "amount"], {"other": "amount"})).sink_to(Dropped())


def parquet(env: StreamExecutionEnvironment, count: int, folder: str) -> None:
    """Source, Parquet files."""
    rows = Types.ROW_NAMED([*NAMES], [Types.LONG()] * len(NAMES))
    files = FileSink.for_bulk_format(folder, ParquetBulkWriters.for_row_type(rows))
    stream(env, count, 7919).sink_to(files.build())


JOBS = {each.__name__: each for each in (sums, join, parquet)}
SIZES = {"sums": (1, 3), "join": (1, 4), "parquet": (2, 8)}
"""Millions of records without columns."""
MORE_WITH_COLUMNS = {"sums": 8, "join": 4, "parquet": 4}
"""So many times as many records are read as columns: with few the slope is lost in the noise."""


def one(job: str, columns: bool, count: int) -> dict[str, float]:
    """Seconds of one run in this process, on the clock and of processors."""
    settings = {"headrace.columns.enabled": str(columns).lower(), "parallelism.default": "2"}
    configuration = Configuration.from_dict(settings)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    folder = tempfile.mkdtemp(prefix="headrace-bench-")
    try:
        JOBS[job](env, count, f"{folder}/out")
        used, started = processor_seconds(os.getpid()), time.perf_counter()
        env.execute()
        seconds = time.perf_counter() - started
        after = processor_seconds(os.getpid())
    finally:
        shutil.rmtree(folder)
    return {"seconds": seconds, "processor": sum(after.values()) - sum(used.values())}


def slope(job: str, columns: bool) -> tuple[float, float]:
    """Records per second, by the clock and by processor time, of two runs."""
    times = MORE_WITH_COLUMNS[job] if columns else 1
    counts = [size * times * 1_000_000 for size in SIZES[job]]
    found = []
    for count in counts:
        command = [sys.executable, "-m", "bench.measure.columns_on_spark", "--one", job]
        command += [str(columns), str(count)]
        run = subprocess.run(
            command, check=True, capture_output=True, text=True, start_new_session=True
        )
        found.append(json.loads(run.stdout.splitlines()[-1]))
    small, large = found
    more = counts[1] - counts[0]
    return more / (large["seconds"] - small["seconds"]), more / (
        large["processor"] - small["processor"]
    )


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("jobs", nargs="*", default=[*JOBS], help=", ".join(JOBS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--one", nargs=3, metavar=("JOB", "COLUMNS", "RECORDS"))
    chosen = parser.parse_args()
    if chosen.one:
        job, columns, count = chosen.one
        print(json.dumps(one(job, columns == "True", int(count))))
        return
    for job in chosen.jobs:
        ratios = []
        for _ in range(chosen.runs):
            with_columns, without = slope(job, True), slope(job, False)
            ratios.append((with_columns[0] / without[0], with_columns[1] / without[1]))
            print(
                f"{job:<8} {with_columns[0]:>12,.0f} /s with columns {without[0]:>12,.0f} /s"
                f" without: {ratios[-1][0]:.1f}, by processor time {ratios[-1][1]:.1f}",
                flush=True,
            )
        by_clock, by_processor = (median(each) for each in zip(*ratios, strict=True))
        print(f"{job:<8} median {by_clock:.1f}, by processor time {by_processor:.1f}", flush=True)


if __name__ == "__main__":
    main()
