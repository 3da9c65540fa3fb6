"""What a micro-batch gives out, however much, leaves in pieces: workers hold a bounded part."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.function import FunctionSink
from tests.faults.processes import python_workers

pytestmark = pytest.mark.spark


class Peak:
    """The most memory that a worker held while the block ran, beyond what it began with (bytes)."""

    def __init__(self) -> None:
        self.bytes = 0
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Peak:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watch.join()

    def _look(self) -> None:
        while not self._over.wait(0.02):
            for worker in python_workers(os.getpid()):
                try:
                    lines = Path(f"/proc/{worker.pid}/status").read_text().splitlines()
                except OSError:
                    continue  # it has ended
                of = [int(line.split()[1]) for line in lines if line.startswith("RssAnon:")]
                self.bytes = max([self.bytes, *(kib * 1024 for kib in of)])


class FanOut(KeyedProcessFunction):
    """A record (calls, results, size): so many timers, or a call, that give so many results each.

    A result is a text of ``size`` characters.
    """

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        timers, results, size = value
        if timers:
            for number in range(timers):
                ctx.timer_service().register_event_time_timer(number)
        else:
            yield from self._results(results, size)
        self.timer_results = results, size

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield from self._results(*self.timer_results)

    def _results(self, results: int, size: int) -> Iterator[Any]:
        for number in range(results):
            yield str(number).zfill(size)


class Counted:
    """Counts what a sink is given, and writes the count and the sum of lengths to a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = self._length = 0

    def invoke(self, value: str) -> None:
        self._count += 1
        self._length += len(value)

    def flush(self) -> None:
        (self._folder / str(os.getpid())).write_text(f"{self._count} {self._length}")


def give_out(
    folder: Path, timers: int, results: int, size: int, mode: str, again: bool = False
) -> Peak:
    """A job of one record that gives out so many; every one must come to the sink."""
    settings = {"parallelism.default": "2", "execution.runtime-mode": mode}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: 0
    )
    stream: Any = env.from_collection([(timers, results, size)])
    given = (
        stream.assign_timestamps_and_watermarks(strategy).key_by(lambda _: "one").process(FanOut())
    )
    if again:
        given = given.key_by(lambda text: text[-2:]).map(lambda text: text)
    given.sink_to(FunctionSink(Counted(folder)))
    with Peak() as peak:
        env.execute("fan out")
    counts = [path.read_text().split() for path in folder.iterdir()]
    expected = results * max(timers, 1)
    assert sum(int(count) for count, _ in counts) == expected
    return peak


MIB = 1 << 20


@pytest.mark.parametrize(
    ("timers", "results", "size", "mode", "again"),
    [
        (0, 40_000, 10_000, "STREAMING", False),
        (400, 100, 10_000, "STREAMING", False),
        (0, 40_000, 10_000, "STREAMING", True),
        (0, 40_000, 10_000, "BATCH", False),
    ],
    ids=["call", "timers", "two stages", "batch"],
)
def test_400_mb_pass_through_workers_that_hold_less(
    tmp_path: Path, timers: int, results: int, size: int, mode: str, again: bool
) -> None:
    peak = give_out(tmp_path, timers, results, size, mode, again)
    assert peak.bytes < 350 * MIB, f"{peak.bytes / MIB:.0f} MiB"
