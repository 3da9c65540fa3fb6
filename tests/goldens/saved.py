"""``python -m tests.goldens.saved spark`` (or ``local``): a savepoint as a user has it.

It is kept as ``savepoints/<format>-<runner>``. When the format of savepoints has changed, write one
of each runner before the release; those of earlier formats stay as they are.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from headrace.common import Configuration, Duration, Types, WatermarkStrategy
from headrace.datastream import BroadcastProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.state import MapStateDescriptor
from headrace.runtime.savepoint.manifest import FORMAT
from tests.goldens import HERE
from tests.goldens.job import KEYS, NAME, PER_BATCH, RECORDS, Tally, expected

SAVED_AT = 100
"""The number of records that were read when it was taken."""
LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.INT())
SAVED = HERE / "savepoints"


class Limited(BroadcastProcessFunction):
    """Adds the limits that it knows to each line."""

    def process_element(
        self, value: str, ctx: BroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[str]:
        limits = ctx.get_broadcast_state(LIMITS)
        yield f"{value} limits {[limits.get(name) for name in ('a', 'b')]}"

    def process_broadcast_element(
        self, value: tuple[str, int], ctx: BroadcastProcessFunction.Context
    ) -> None:
        ctx.get_broadcast_state(LIMITS).put(*value)


def build(env: StreamExecutionEnvironment, folder: Path) -> None:
    """The job of ``job.py`` with broadcast rules; a function writes what it emits."""
    waits, out = folder / "waits", folder / "out"

    def pair(number: int) -> tuple[int, int]:
        while number >= SAVED_AT - 1 and waits.exists():
            time.sleep(0.01)
        return number % KEYS, number

    def write(lines: Sequence[str]) -> None:
        (out / f"part-{uuid.uuid4().hex}").write_text("".join(f"{line}\n" for line in lines))

    out.mkdir()
    times = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10))
    timed = times.with_timestamp_assigner(lambda value, before: value[1])
    numbers = env.from_sequence(0, RECORDS - 1).uid("numbers").map(pair)
    tallies = numbers.assign_timestamps_and_watermarks(timed).key_by(lambda value: value[0])
    lines = tallies.process(Tally(), Types.STRING()).uid("tally")
    limits = env.from_collection([("a", 1), ("b", 2)]).uid("limits").broadcast(LIMITS)
    limited = lines.connect(limits).process(Limited()).uid("limited")
    limited.sink_to(FunctionSink(write)).uid("function")


def environment(parallelism: int, **settings: str) -> StreamExecutionEnvironment:
    """An environment in which the job reads ``PER_BATCH`` records in a micro-batch."""
    own = {
        "parallelism.default": str(parallelism),
        "pipeline.max-parallelism": "4",
        "headrace.source.max-records-per-batch": str(PER_BATCH),
    }
    return StreamExecutionEnvironment(Configuration.from_dict({**own, **settings}))


def expected_after() -> Counter[str]:
    """All that the job writes once it has begun from the savepoint.

    The numbers that were read before it have brought the watermark to 88.
    """
    found: Counter[str] = Counter()
    for line, count in expected().items():
        fields = line.split()
        moment = int(fields[2 if fields[1] == "until" else 3])
        if moment >= (SAVED_AT - 11 if fields[1] == "until" else SAVED_AT):
            found[f"{line} limits [1, 2]"] += count
    return found


def main(target: str) -> None:
    """Write it with this version, anew."""
    place = SAVED / f"{FORMAT}-{target}"
    shutil.rmtree(place, ignore_errors=True)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "waits").touch()
        settings = {
            "execution.target": target,
            "execution.checkpointing.dir": str(folder / "checkpoints"),
        }
        env = environment(1, **settings)
        build(env, folder)
        client = env.execute_async(NAME)
        time.sleep(10)  # the job waits, in its second micro-batch
        stopped = client.stop_with_savepoint(False, str(folder / "saved"))
        time.sleep(1)
        (folder / "waits").unlink()
        shutil.copytree(stopped.result(), place)
        for file in place.rglob("*"):
            assert file.is_dir() or str(folder).encode() not in file.read_bytes(), file


if __name__ == "__main__":
    main(*sys.argv[1:])
