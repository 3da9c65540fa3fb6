"""What a record of job (a) costs in each layer, without Spark: ``python -m bench.layers``.

A micro-batch goes through the layers one after the other, in this process, over a page store in
memory. Each figure is the least of several micro-batches, and also given as a ratio to a loop of
plain Python that does the job's work on a dictionary in the same run: a machine that is slow today
is slow for both. Beside it plain pickling is measured, for which other parts of a machine count:
encoding was 0.6 plain loops on one machine and 1.2 on another.
"""

from __future__ import annotations

import argparse
import gc
import io
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from bench import workload
from bench.environments import OWN, versions
from bench.jobs import Api, keyed_job
from bench.throughput import Plan, Row
from headrace.common import Configuration
from headrace.connector import SplitRange, WriterContext
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.function import FunctionSink
from headrace.graph.stream_graph import StreamGraph
from headrace.metrics.metricbase import MetricGroup
from headrace.runners.launch import program_of
from headrace.runners.sinks import SinkWriting
from headrace.runners.spark.query import wire
from headrace.runners.spark.query.packets import MemoryContent, envelopes_in, payload_of
from headrace.runners.spark.query.wire import pack
from headrace.runtime.block import Block, Envelope, pickle_immutable
from headrace.runtime.context import TaskInfo
from headrace.runtime.program import JobProgram
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.runtime.tasks.keyed_task import KeyedTask, TaskInput
from headrace.runtime.tasks.source_task import (
    NEW_SPLIT,
    SourceTask,
    SourceTaskInput,
    SplitState,
    SplitWork,
)

RECORDS = 200_000
TASKS = 2
RANGE = 8_192
SPLIT = "generator"
WARM_UP = 2

PARTS = ("page read", "page write")
"""Parts of the stage in pages."""

SMALL = ("sink", *PARTS)
"""Next to nothing with few keys and one output in a hundred."""

PLAIN = ("plain loop", "plain dumps", "plain loads")
"""What Python alone takes: for the job's work on a dictionary; to pickle the records that the
source tasks send, and to read them back."""

BESIDE = (*PLAIN, "source alone", "stage on the heap", *PARTS)
"""Figures that are not part of the sum, as they are part of others."""

KEYS = (10_000, 1_000_000)

Layers = dict[str, float]
"""Microseconds of processor time per record, by layer; ``plain loop`` first."""


def measure(keys: int = 10_000, batches: int = 8) -> Layers:
    """The least that each layer took in any micro-batch after the first two."""
    desk = _Desk(keys)
    runs = [desk.batch(number) for number in range(WARM_UP + batches)][WARM_UP:]
    return {layer: min(run[layer] for run in runs) for layer in runs[0]}


def contender(keys: int) -> str:
    """The name under which the layers with so many keys stand in the results."""
    return f"{keys:,} keys"


def rows_of(plan: Plan) -> list[Row]:
    """One row for each number of keys and layer; the plan's sizes are not for this."""
    rows: list[Row] = []
    for keys in KEYS:
        layers = measure(keys)
        print(table(layers), file=sys.stderr)
        row: Row = {"case": "layers", "contender": contender(keys), "versions": versions(OWN)}
        for layer, took in layers.items():
            values = {"us_per_record": took, "to_plain_loop": took / layers["plain loop"]}
            rows.append({**row, "point": layer, "values": values})
    return rows


class _Desk:
    """Job (a), taken apart."""

    def __init__(self, keys: int) -> None:
        self.record = workload.record_function(keys)
        self.program = _program(self.record, keys)
        self.sums: dict[int, tuple[int, int]] = {}
        self.split: SplitState = NEW_SPLIT
        self.vertex = self.program.stages[0][0]
        self.stores = [MemoryPages() for _ in range(self.vertex.groups)]
        self.heaps = [HeapBackend() for _ in range(self.vertex.groups)]
        task_info, metrics = TaskInfo(parallelism=TASKS), MetricGroup()
        self.source = SourceTask(self.program, task_info, metrics)
        self.on_pages = KeyedTask(self.vertex, self.program, task_info, metrics)
        self.on_heap = KeyedTask(self.vertex, self.program, task_info, metrics)

    def batch(self, number: int) -> Layers:
        """One micro-batch through every layer."""
        took: Layers = {}

        def timed(layer: str, work: Callable[[], Any]) -> Any:
            gc.collect()
            start = time.process_time()
            found = work()
            took[layer] = (time.process_time() - start) / RECORDS * 1e6
            return found

        start = number * RECORDS
        timed("plain loop", lambda: self.plain(start))
        timed("source alone", lambda: self.read(start))
        sent = timed("source and chain", lambda: self.sent(number))
        dumped = timed(
            "plain dumps", lambda: [dumps(each.payload) for task in sent for each in task]
        )
        timed("plain loads", lambda: [pickle.loads(each) for each in dumped])
        rows = timed("encode", lambda: [list(pack(task, TASKS)) for task in sent])
        groups = timed("decode", lambda: self.received(row for task in rows for row in task))
        heaps, pages_of = self.heaps.__getitem__, self.pages
        found = timed("stage on the heap", lambda: self.run(self.on_heap, groups, heaps))
        paged = timed("stage in pages", lambda: self.run(self.on_pages, groups, pages_of))
        came = timed("sink", lambda: self.sunk(paged))
        if not count(found) == count(paged) == came:
            raise AssertionError(f"{count(found)} outputs on the heap, {count(paged)}, {came}")
        pages = [
            data
            for store in self.stores
            for name, data in store.records.items()
            if name.startswith("p")
        ]
        read = timed("page read", lambda: [pickle.loads(data) for data in pages])
        timed(
            "page write",
            lambda: [pickle_immutable(page, islice(page[2].items(), 1)) for page in read],
        )
        return took

    def plain(self, start: int) -> None:
        """The job in plain Python."""
        record, sums = self.record, self.sums
        for index in range(start, start + RECORDS):
            key, value, _ = record(index)
            count, total = sums.get(key) or (0, 0)
            sums[key] = count + 1, total + value

    def read(self, start: int) -> None:
        """The source's reader alone."""
        reader = self.program.sources[0].reader
        for split_range in _ranges(start, start + RECORDS):
            for _ in reader.read(split_range):
                pass

    def sent(self, number: int) -> list[list[Envelope]]:
        """What the source tasks of a micro-batch send."""
        half = RECORDS // TASKS
        sent = []
        for sender in range(TASKS):
            start = number * RECORDS + sender * half
            ranges = tuple(_ranges(start, start + half))
            source = self.program.sources[0].id
            work = SplitWork(source, SPLIT, ranges, announce=number == 0, state=self.split)
            sent.append(list(self.source.run(SourceTaskInput(sender, number, 0, (work,)))))
        states = sent[-1].pop().payload[1]
        del sent[0][-1]
        self.split = states[source, SPLIT]
        return sent

    def received(self, rows: Iterator[wire.Row]) -> dict[int, list[Block]]:
        """Blocks by key group, from packets."""
        groups: dict[int, list[Block]] = {}
        for row in rows:
            for envelope in envelopes_in(MemoryContent(row.payload), row.stage):
                block = payload_of(envelope)
                groups.setdefault(envelope.group, []).append(block)
        return groups

    def pages(self, group: int) -> StateBackend:
        """The paged state of a group."""
        return PagedBackend(self.stores[group], self.vertex.groups)

    def run(
        self,
        task: KeyedTask,
        groups: dict[int, list[Block]],
        backend: Callable[[int], StateBackend],
    ) -> list[Envelope]:
        """The keyed stage."""
        return [
            envelope
            for group, blocks in groups.items()
            for envelope in task.advance(TaskInput(group, blocks, 0), backend(group))
        ]

    def sunk(self, outputs: list[Envelope]) -> int:
        """What the stage gave out goes to the sink; gives how many records came there."""
        received = [
            envelope
            for row in pack(outputs, TASKS)
            for envelope in envelopes_in(MemoryContent(row.payload), row.stage)
        ]
        sink = self.program.sinks[0]
        before = sink.sink.target.records
        blocks = map(payload_of, received)
        with SinkWriting(sink, WriterContext("sink", "a", 0, 0, "bench")) as writing:
            for block in blocks:
                writing.write(block)
            writing.prepare_commit()
        return sink.sink.target.records - before


def dumps(block: Block) -> bytes:
    """The records of a block, pickled in the way that is fastest for texts and numbers."""
    out = io.BytesIO()
    pickler = pickle.Pickler(out, pickle.HIGHEST_PROTOCOL)
    pickler.fast = True
    pickler.dump((block.keys, block.values, block.timestamps))
    return out.getvalue()


class Counted:
    """What the sink calls: counts records."""

    def __init__(self) -> None:
        self.records = 0

    def __call__(self, values: list[Any]) -> None:
        self.records += len(values)


def count(outputs: list[Envelope]) -> int:
    """The records in what a stage gave out."""
    return sum(len(envelope.payload.values) for envelope in outputs)


def _program(record: Callable[[int], workload.Record], keys: int) -> JobProgram:
    api = Api("headrace")
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": str(TASKS)})
    )
    records = env.from_source(DataGeneratorSource(record), None, "records")
    keyed_job(api, "a", records, keys).sink_to(FunctionSink(Counted()))
    return program_of(StreamGraph.of(env._take_sinks()), env._configuration, "a")


def _ranges(start: int, end: int) -> Iterator[SplitRange]:
    for at in range(start, end, RANGE):
        to = min(at + RANGE, end)
        yield SplitRange(SPLIT, at, to, None, to - at)


def table(layers: Layers) -> str:
    """The layers as a Markdown table."""
    plain = layers["plain loop"]
    lines = [["layer", "µs/record", "to a plain loop"], ["---", "---:", "---:"]]
    lines += [[layer, f"{took:.2f}", f"{took / plain:.2f}"] for layer, took in layers.items()]
    total = sum(took for layer, took in layers.items() if layer not in BESIDE)
    lines.append(["sum", f"{total:.2f}", f"{total / plain:.2f}"])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--batches", type=int, default=8)
    chosen = parser.parse_args()
    print(table(measure(chosen.keys, chosen.batches)))


if __name__ == "__main__":
    main()
