"""Fills one tumbling window for each of many keys; the end of the input fires all of them.

Filling counts from the first record made to the first result, firing from there to the last output.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import jobs, workload
from bench.measure.firing import RECORDS_PER_KEY
from bench.peers.protocol import options


class Moments:
    """When things happened, in as many processes as there are; ``number`` is added up by name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, name: str, number: int = 0) -> None:
        """Now."""
        (self._folder / f"{name}-{time.time_ns()}").write_text(str(number))

    def of(self, name: str) -> tuple[float, float, int]:
        """The first and the last time in seconds, and the sum of the numbers."""
        paths = [*self._folder.glob(f"{name}-*")]
        times = [int(path.name.removeprefix(f"{name}-")) / 1e9 for path in paths]
        return min(times), max(times), sum(int(path.read_text()) for path in paths)


def records(keys: int, count: int, moments: Moments) -> Any:
    """The function that makes the records, all of one window, each key as often as the others."""
    make = workload.record_function(keys, "each")

    def record(index: int) -> workload.Record:
        if not index:
            moments.note("begun")
        key, value, _ = make(index)
        return key, value, workload.BASE_MS + index * workload.TUMBLING_MS // count

    return record


def reporting(api: jobs.Api, moments: Moments) -> Any:
    """Job (wt)'s sums, which note when the first result is wanted of them."""

    class Reporting(type(jobs.aggregation(api))):  # type: ignore[misc]
        fired = False

        def get_result(self, accumulator: Any) -> Any:
            if not self.fired:
                self.fired = True
                moments.note("fired")
            return accumulator

    return Reporting()


def run(keys: int, runner: str, folder: Path) -> dict[str, float]:
    """Run the job and give its seconds.

    Raises:
        RuntimeError: not every key gave one result.
    """
    from bench.peers.headrace_peer import RUNNERS
    from headrace.common import Configuration
    from headrace.datastream import StreamExecutionEnvironment
    from headrace.datastream.connectors.datagen import DataGeneratorSource
    from headrace.datastream.connectors.function import FunctionSink

    moments, api, count = Moments(folder), jobs.Api("headrace"), keys * RECORDS_PER_KEY
    settings = dict(RUNNERS[runner])
    if runner != "local":
        settings |= {
            "parallelism.default": "2",
            "execution.checkpointing.dir": str(folder / "checkpoints"),
        }
    configuration = Configuration.from_dict(settings)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    source = DataGeneratorSource(records(keys, count, moments), count=count)
    stream = env.from_source(source, None, "records")
    outputs = jobs.window_job(api, "wt", stream, reporting(api, moments))
    outputs.sink_to(FunctionSink(lambda values: moments.note("out", len(values))))
    env.execute("firing")
    (begun, _, _), (fired, _, _), (_, ended, found) = map(moments.of, ("begun", "fired", "out"))
    if found != keys:
        raise RuntimeError(f"{found} results of {keys} keys")
    return {"fill_seconds": fired - begun, "fire_seconds": ended - fired}


def main() -> None:
    chosen = options()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        values = run(int(chosen["keys"]), chosen["runner"], Path(folder))
    print("\n" + json.dumps(values))


if __name__ == "__main__":
    main()
