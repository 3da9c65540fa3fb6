"""Headrace under an input whose rate doubles and halves again."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from bench import jobs
from bench.measure.doubling import KEYS, PHASE_SECONDS, RATES, SETTLED_SECONDS, due, due_ms
from bench.measure.latency_headrace import indexed, positions
from headrace.common import Configuration
from headrace.connector import SplitEnumerator
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors._indexed import IndexedEnumerator
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.function import FunctionSink

RECORDS = sum(RATES) * PHASE_SECONDS


class PhasedEnumerator(IndexedEnumerator):
    """Plans what is due by a rate that changes."""

    def due(self, elapsed_ms: int) -> int:
        """The records that are due by a time since the start."""
        return due(elapsed_ms)


@dataclass(frozen=True)
class PhasedSource(DataGeneratorSource):
    """A generator whose rate changes."""

    def enumerator(self, directory: str) -> SplitEnumerator:
        """Its enumerator; the rate only says that there is one."""
        return PhasedEnumerator("generator", self.count, lambda start, end: None, RATES[0])


class Ages:
    """A sink that writes down the oldest record of each call, its age and how many came."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, values: list[Any]) -> None:
        now = time.time_ns()
        oldest = min(value[1] for value in values)
        (self._folder / f"came-{now}-{oldest}").write_text(
            json.dumps([now // 1_000_000, oldest, len(values)])
        )


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        settings = {
            "parallelism.default": "2",
            "execution.checkpointing.dir": str(folder / "checkpoints"),
            # all offsets are read in the end
            "headrace.spark.conf.spark.sql.streaming.minBatchesToRetain": "2000",
        }
        configuration = Configuration.from_dict(settings)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        passing = jobs.count_and_sum(jobs.Api("headrace"), lambda key: key)
        source = PhasedSource(spread, count=RECORDS, rate_per_second=RATES[0])
        keyed = env.from_source(source, None, "records").key_by(lambda record: record[0])
        keyed.process(passing).sink_to(FunctionSink(Ages(folder)))
        env.execute("doubling")
        stood = positions(folder / "checkpoints")
        came = [json.loads(path.read_text()) for path in folder.glob("came-*")]
    if sum(count for _, _, count in came) != RECORDS:
        raise RuntimeError(f"{sum(count for _, _, count in came)} records came, not {RECORDS}")
    began = stood[0][1]
    sizes = [
        (start, end - start)
        for start, end in pairwise([0, *(at for at, _ in stood)])
        if end > start
    ]
    phases = {}
    for number, rate in enumerate(RATES):
        first, last = number * PHASE_SECONDS + SETTLED_SECONDS, (number + 1) * PHASE_SECONDS
        here = [n for start, n in sizes if first <= due_ms(start) / 1000 < last]
        ages = [
            at - began - due_ms(oldest)
            for at, oldest, _ in came
            if first <= due_ms(oldest) / 1000 < last
        ]
        phases[f"{number + 1}: {rate:,} records/s"] = {
            "records_per_batch": median(here),
            "batches": len(here),
            "oldest_median_ms": round(median(ages)),
            "oldest_max_ms": round(max(ages)),
        }
    print("\n" + json.dumps({"phases": phases}))


def spread(index: int) -> tuple[int, int, int]:
    """A record whose value is its index, over more keys than the latency has."""
    key, value, moment = indexed(index)
    return (key * 20 + index % 20) % KEYS, value, moment


if __name__ == "__main__":
    main()
