"""Starts a job with one keyed stage and says when its first output came.

Cold and local count from the start of this process, its imports included; warm counts from the call
of ``execute`` for a second job on the session of a first one.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import jobs, workload
from bench.peers.protocol import options

RECORDS, KEYS = 1_000, 100


class FirstTimes:
    """A sink that writes down when records came."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, values: list[Any]) -> None:
        with (self._folder / f"at-{time.time_ns()}").open("w") as file:
            file.write(str(len(values)))

    def first(self) -> float:
        """When the first record came; every record is there by now.

        Raises:
            RuntimeError: some record has not come.
        """
        paths = sorted(self._folder.glob("at-*"))
        count = sum(int(path.read_text()) for path in paths)
        if count != RECORDS:
            raise RuntimeError(f"{count} outputs instead of {RECORDS}")
        return min(int(path.name.removeprefix("at-")) for path in paths) / 1e9


def first_output(settings: dict[str, str]) -> tuple[float, float]:
    """When ``execute`` was called, and when the first output came."""
    from headrace.common import Configuration
    from headrace.datastream import StreamExecutionEnvironment
    from headrace.datastream.connectors.datagen import DataGeneratorSource
    from headrace.datastream.connectors.function import FunctionSink

    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        times = FirstTimes(Path(name))
        if settings.get("execution.target") != "local":
            settings = {**settings, "execution.checkpointing.dir": f"{name}/checkpoints"}
        configuration = Configuration.from_dict(settings)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        source = DataGeneratorSource(workload.record_function(KEYS), count=RECORDS)
        passing = jobs.count_and_sum(jobs.Api("headrace"), lambda key: key)
        keyed = env.from_source(source, None, "records").key_by(lambda record: record[0])
        keyed.process(passing).sink_to(FunctionSink(times))
        called = time.time()
        env.execute("start")
        return called, times.first()


def main() -> None:
    chosen = options()
    settings = {"parallelism.default": "2"}
    if chosen["mode"] == "local":
        settings = {"execution.target": "local"}
    called, first = first_output(settings)
    since = float(chosen["since"])
    if chosen["mode"] == "warm":
        since, first = first_output(settings)
        called = since
    values = {"first_output_seconds": first - since, "from_execute_seconds": first - called}
    print("\n" + json.dumps(values))


if __name__ == "__main__":
    main()
