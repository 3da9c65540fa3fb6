"""``python -m bench.measure.checkpoint_growth MICRO_BATCHES``: a checkpoint's files as a job runs.

The job is a running total of 1,000 keys, in two partitions, with 20 records a micro-batch. A line
for each 50 micro-batches: their number, and the files and bytes below the checkpoint's folder.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from headrace.common import Configuration, Types
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.state import ValueStateDescriptor

RECORDS, KEYS, EVERY = 20, 1_000, 50


class Totals(KeyedProcessFunction):
    """A running total by key."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.total.update((self.total.value() or 0) + value)
        yield self.total.value()


def drop(values: list[Any]) -> None:
    """Take results, and do nothing with them."""


def sizes(folder: str) -> tuple[int, int]:
    """Return the number of files below a folder, and their bytes."""
    count = size_bytes = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                size_bytes += os.stat(os.path.join(parent, name)).st_size
                count += 1
            except FileNotFoundError:
                continue  # it was removed meanwhile
    return count, size_bytes


def growth(micro_batches: int, folder: str) -> Iterator[tuple[int, int, int]]:
    """Run the job; yield micro-batches, files and bytes."""
    settings = {
        "execution.checkpointing.dir": folder,
        "parallelism.default": "2",
        "headrace.source.max-records-per-batch": str(RECORDS),
        "headrace.source.min-records-per-batch": str(RECORDS),
    }
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    numbers = env.from_sequence(0, RECORDS * micro_batches - 1).uid("numbers")
    totals = numbers.key_by(lambda v: v % KEYS).process(Totals(), Types.LONG()).uid("totals")
    totals.sink_to(FunctionSink(drop)).uid("nowhere")
    client = env.execute_async("growth")
    end = client.get_job_execution_result()
    reached = 0
    while not end.done():
        count = int(client.get_accumulators().result().get("microBatches") or 0)
        if count >= reached + EVERY:
            reached = count
            yield count, *sizes(folder)
        time.sleep(0.1)
    end.result()


def main() -> None:
    """Print a line for each 50 micro-batches."""
    with tempfile.TemporaryDirectory() as folder:
        for count, files, size_bytes in growth(int(sys.argv[1]), folder):
            print(f"{count:5}  {files:6,} files  {size_bytes / 1e6:6.2f} MB", flush=True)


if __name__ == "__main__":
    main()
