"""The dataflow that Bytewax's processes import; ``BENCH_FLOW`` holds its parameters."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition

from bench import workload
from bench.peers import bytewax_windows
from bench.tally import Tally

PARAMETERS: dict[str, Any] = json.loads(os.environ["BENCH_FLOW"])
RECORDS, KEYS, BATCH = PARAMETERS["records"], PARAMETERS["keys"], PARAMETERS["batch"]
WINDOWED = PARAMETERS["job"] == "wt"
PARTITIONS = 1 if WINDOWED else 2
Value = tuple[int, int]


class Part(StatefulSourcePartition[tuple[str, Value], int]):
    """Every second batch of records; what it remembers is the next index."""

    def __init__(self, at: int) -> None:
        self._at = at
        self._make = workload.record_function(KEYS, PARAMETERS["distribution"])

    def next_batch(self) -> Iterable[tuple[str, Value]]:
        """Records as pairs with a text key, as Bytewax wants them."""
        if self._at >= RECORDS:
            raise StopIteration
        at, self._at = self._at, self._at + PARTITIONS * BATCH
        made = map(self._make, range(at, min(at + BATCH, RECORDS)))
        return [(str(key), (key, value)) for key, value, _ in made]

    def snapshot(self) -> int:
        """Where to go on."""
        return self._at


class TimedPart(Part):
    """The same with event times."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self._make = workload.timed_record_function(PARAMETERS["job"], KEYS)

    def next_batch(self) -> Iterable[tuple[str, Any]]:
        """Whole records, by text keys."""
        if self._at >= RECORDS:
            raise StopIteration
        at, self._at = self._at, self._at + PARTITIONS * BATCH
        made = map(self._make, range(at, min(at + BATCH, RECORDS)))
        return [(str(record[0]), record) for record in made]


class Records(FixedPartitionedSource[tuple[str, Value], int]):
    """Two partitions, one for each worker; one where they would have to be at the same time."""

    def list_parts(self) -> list[str]:
        """The names of the partitions."""
        return [str(number) for number in range(PARTITIONS)]

    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> Part:
        """A partition, from where it had come to."""
        at = int(for_part) * BATCH if resume_state is None else resume_state
        return TimedPart(at) if WINDOWED else Part(at)


class Sink(StatelessSinkPartition[tuple[str, tuple[int, int, int]]]):
    """Counts outputs in batches."""

    def __init__(self) -> None:
        self._tally = Tally(PARAMETERS["job"], PARAMETERS["folder"])

    def write_batch(self, items: list[tuple[str, tuple[int, int, int]]]) -> None:
        """Count outputs."""
        self._tally([item[1] for item in items])


class CountingSink(DynamicSink[tuple[str, tuple[int, int, int]]]):
    """A sink per worker."""

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Sink:
        """The sink of one worker."""
        return Sink()


def count_and_sum(state: Value | None, record: Value) -> tuple[Value, Iterable[tuple[int, ...]]]:
    """Job (a) for one record."""
    key, value = record
    count, total = state or (0, 0)
    count, total = count + 1, total + value
    if (key + count) % workload.OUTPUT_EVERY == 0:
        return (count, total), ((key, count, total),)
    return (count, total), ()


def count_and_sum_or_none(
    state: Value | None, record: Value
) -> tuple[Value, tuple[int, int, int] | None]:
    """The same for the operator that gives out something for every record."""
    key, value = record
    count, total = state or (0, 0)
    count, total = count + 1, total + value
    chosen = (key + count) % workload.OUTPUT_EVERY == 0
    return (count, total), (key, count, total) if chosen else None


class CountAndSum(StatefulBatchLogic[Value, tuple[int, int, int], Value]):
    """The same for all of a key's records in a batch of the source."""

    def __init__(self, state: Value | None) -> None:
        self._state = state or (0, 0)

    def on_batch(self, values: list[Value]) -> tuple[list[tuple[int, int, int]], bool]:
        """Count one key's records; the key is kept."""
        count, total = self._state
        outputs = []
        for key, value in values:
            count, total = count + 1, total + value
            if (key + count) % workload.OUTPUT_EVERY == 0:
                outputs.append((key, count, total))
        self._state = count, total
        return outputs, False

    def snapshot(self) -> Value:
        """What recovery keeps of a key."""
        return self._state


flow = Dataflow("bench")
records = op.input("records", flow, Records())
if WINDOWED:
    outputs = bytewax_windows.windows(records)
elif PARAMETERS["operator"] == "flat_map":
    outputs = op.stateful_flat_map("count", records, count_and_sum)
elif PARAMETERS["operator"] == "batch":
    outputs = op.stateful_batch("count", records, CountAndSum)
else:
    every = op.stateful_map("count", records, count_and_sum_or_none)
    outputs = op.filter("chosen", every, lambda item: item[1] is not None)
op.output("outputs", outputs, CountingSink())
