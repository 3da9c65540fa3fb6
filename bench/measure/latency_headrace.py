"""Headrace's side of the latency: a source at a rate, a keyed count, a sink that knows the time."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import jobs, workload
from bench.measure.latency import KEYS, RATE, SECONDS, WARM_UP_SECONDS, summary
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.function import FunctionSink


def indexed(index: int) -> tuple[int, int, int]:
    """A record whose value is its index."""
    return index * workload.MULTIPLIER % workload.MODULUS % KEYS, index, 0


class Arrivals:
    """A sink that writes down when which records came."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, values: list[Any]) -> None:
        now = time.time_ns()
        line = json.dumps([now // 1_000, [value[1] for value in values]])
        (self._folder / f"came-{now}-{values[0][1]}").write_text(line)

    def read(self) -> list[tuple[int, float]]:
        """Pairs of a record's index and the ms at which it came."""
        found = []
        for path in self._folder.glob("came-*"):
            now_us, indexes = json.loads(path.read_text())
            found += [(index, now_us / 1_000) for index in indexes]
        return found


def positions(checkpoints: Path) -> list[tuple[int, int]]:
    """Where a source with a rate stood after each micro-batch, from Spark's log of offsets.

    As (index of the next record, ms at which the source began).

    Raises:
        RuntimeError: no position was found.
    """
    found = []
    paths = [path for path in checkpoints.rglob("offsets/*") if path.name.isdigit()]
    for path in sorted(paths, key=lambda path: int(path.name)):
        for line in path.read_text().splitlines():
            sources = json.loads(line).get("sources", {}) if line.startswith("{") else {}
            for source in sources.values():
                found += [(int(at), int(began)) for at, began in source["positions"].values()]
    if not found:
        raise RuntimeError(f"no offset with a position below {checkpoints}")
    return found


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        arrivals = Arrivals(folder)
        settings = {
            "parallelism.default": "2",
            "execution.checkpointing.dir": str(folder / "checkpoints"),
        }
        configuration = Configuration.from_dict(settings)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        source = DataGeneratorSource(indexed, count=RATE * SECONDS, rate_per_second=RATE)
        passing = jobs.count_and_sum(jobs.Api("headrace"), lambda key: key)
        keyed = env.from_source(source, None, "records").key_by(lambda record: record[0])
        keyed.process(passing).sink_to(FunctionSink(arrivals))
        env.execute("latency")
        _, start_ms = positions(folder / "checkpoints")[0]
        came = arrivals.read()
    if len(came) != RATE * SECONDS:
        raise RuntimeError(f"{len(came)} records came instead of {RATE * SECONDS}")
    warm = [(i, at) for i, at in came if i >= RATE * WARM_UP_SECONDS]
    print("\n" + json.dumps(summary([at - start_ms - 1000 * i / RATE for i, at in warm])))


if __name__ == "__main__":
    main()
