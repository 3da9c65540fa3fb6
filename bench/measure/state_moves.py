"""What moving much state takes: ``python -m bench.measure.state_moves``.

A job on Spark keeps one text of 200 characters for each key, and changes keys without a limit on
its rate. Meanwhile a savepoint is taken, then the job is rescaled from two tasks to three and back,
stopped with a savepoint, and another one begins from it. Printed are the time that each took, the
rates before, during and after the savepoint, how long the job waited for it, and the longest time
without a micro-batch. The savepoint is asked for by the command, which the driver sees within half
a second.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from headrace.common import Configuration, JobClient, Types
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.state import ValueStateDescriptor

_VALUE_CHARS = 200
_POLL_SECONDS = 0.01
_BATCH_RECORDS = 100_000


class Texts(KeyedProcessFunction):
    """Keeps a text for each key, and emits nothing."""

    def open(self, runtime_context: Any) -> None:
        self.text = runtime_context.get_state(ValueStateDescriptor("text", Types.STRING()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.text.update(f"{value:0{_VALUE_CHARS}}")
        return iter(())


class Watch:
    """Notes when the number of completed micro-batches grew."""

    def __init__(self, client: JobClient) -> None:
        self._client, self.moments = client, [time.monotonic()]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        known = None
        while not self._ended.wait(_POLL_SECONDS):
            found = self._client.get_accumulators().result().get("microBatches")
            if found != known:
                known = found
                self.moments.append(time.monotonic())

    def wait_for(self, batches: int) -> None:
        """Wait for so many micro-batches more."""
        wanted = len(self.moments) + batches
        while len(self.moments) < wanted:
            time.sleep(_POLL_SECONDS)

    def gap_s(self, since: float) -> float:
        """The longest time between two micro-batches of which the later one ends after a moment."""
        pairs = zip(self.moments, self.moments[1:], strict=False)
        return max((b - a for a, b in pairs if b >= since), default=0.0)

    def rate(self, since: float, until: float) -> float:
        """Micro-batches per second between two moments."""
        return sum(since <= at < until for at in self.moments) / (until - since)

    def close(self) -> None:
        """End."""
        self._ended.set()
        self._thread.join()


def start(folder: Path, keys: int, name: str, **settings: str) -> tuple[JobClient, Watch]:
    """Start the job."""
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "execution.checkpointing.dir": str(folder / name),
                "headrace.source.max-records-per-batch": str(_BATCH_RECORDS),
                "headrace.source.min-records-per-batch": str(_BATCH_RECORDS),
                **settings,
            }
        )
    )
    numbers = env.from_sequence(0, 1 << 50).uid("numbers")
    texts = numbers.map(lambda n: n % keys, Types.LONG()).key_by(lambda k: k, Types.LONG())
    texts.process(Texts()).uid("texts").sink_to(FunctionSink(lambda values: None)).uid("none")
    client = env.execute_async("texts")
    return client, Watch(client)


def timed(act: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long something took, in seconds, and its result."""
    began = time.monotonic()
    result = act()
    return time.monotonic() - began, result


def measure(megabytes: int, folder: Path) -> None:
    """Measure with so many megabytes of values, and print it."""
    from typer.testing import CliRunner

    from headrace.cli import app

    keys = megabytes * 1_000_000 // _VALUE_CHARS
    client, watch = start(folder, keys, "first")
    watch.wait_for(2 * keys // _BATCH_RECORDS + 10)
    pauses = [b - a for a, b in zip(watch.moments[-9:], watch.moments[-8:], strict=False)]
    print(f"{megabytes} MB in {keys:,} keys; a micro-batch takes {statistics.median(pauses):.2f} s")
    before = time.monotonic()
    time.sleep(10)
    asked = time.monotonic()
    place = ["texts", "--dir", str(folder / "first")]
    asking = ["savepoint", *place, "--to", str(folder / "saved"), "--json"]
    took, answer = timed(lambda: CliRunner().invoke(app, asking, catch_exceptions=False))
    pause_ms = json.loads(answer.stdout)["pause-ms"]
    done = time.monotonic()
    time.sleep(10)
    rates = watch.rate(before, asked), watch.rate(asked, done), watch.rate(done, done + 10)
    print(f"savepoint: {took:.1f} s; micro-batches/s before, during, after: {_texts(rates)}")
    print(f"  the job waited {pause_ms:,} ms for it")
    print(f"  the longest time between two micro-batches: {watch.gap_s(asked):.2f} s")
    for parallelism in (3, 2):
        began = time.monotonic()
        changing = ["rescale", *place, "-p", str(parallelism)]
        took, answer = timed(lambda changing=changing: CliRunner().invoke(app, changing))
        if answer.exception is not None:
            raise answer.exception
        watch.wait_for(2)
        print(f"rescale to {parallelism}: {took:.1f} s; no micro-batch {watch.gap_s(began):.2f} s")
    stopped = client.stop_with_savepoint(False, str(folder / "saved"))
    took, savepoint = timed(stopped.result)
    watch.close()
    print(f"stop with a savepoint: {took:.1f} s")
    restore = {"execution.state-recovery.path": savepoint}

    def restored() -> None:
        client, watch = start(folder, keys, "second", **restore)
        watch.wait_for(1)
        watch.close()
        client.cancel().result()

    print(f"restore, up to the end of the first micro-batch: {timed(restored)[0]:.1f} s")


def _texts(rates: tuple[float, ...]) -> str:
    return ", ".join(f"{rate:.2f}" for rate in rates)


def main() -> None:
    """Measure for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("megabytes", type=int, nargs="*", default=[100])
    for megabytes in parser.parse_args().megabytes:
        with tempfile.TemporaryDirectory(prefix="headrace-state-") as folder:
            measure(megabytes, Path(folder))


if __name__ == "__main__":
    main()
