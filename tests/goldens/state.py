"""A savepoint with every kind of state, timers of both clocks, namespaces, and all the rest."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa

from headrace.common import Encoder, Row, Time
from headrace.common.typeinfo import Types
from headrace.connector import CommitterContext, WriterContext
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.functions import AggregateFunction
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.channel import Channel
from headrace.runtime.coordination.offset import Offset, SourceProgress, WorkLimits
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.savepoint.arrow import from_batches, schema_of, to_batches
from headrace.runtime.savepoint.header import export_headers
from headrace.runtime.savepoint.manifest import Manifest, OperatorEntry
from headrace.runtime.savepoint.records import SplitRecord, encode
from headrace.runtime.savepoint.savepoint import MemorySavepoint, PartWriter, part_name
from headrace.runtime.savepoint.sinks import export_sinks
from headrace.runtime.savepoint.write import export_states, export_timers
from headrace.runtime.state.backend import StateBackend, Timer
from headrace.runtime.state.broadcast_state import BroadcastStateStore, write_changes
from headrace.runtime.state.handles import KeyContext, StateStore
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages

KEYS: list[Any] = ["ann", ("bo", 1), 7, None, b"k", 2.5, Row(1, "x")]
GROUPS = 4
OFFSET = Offset(
    9,
    1_700_000_000_000,
    1_700_000_000_000,
    WorkLimits(2, 4096),
    {
        "clicks": SourceProgress(
            positions={"a": [3, 10], "b": 7},
            started={"b": 2},
            finished={"c": None},
            idle=frozenset({"b"}),
            seen_ms={"a": 5},
        )
    },
    "a fingerprint",
)
HELD = ["one", "two", "three"]
RULES = {"least": 5, ("a", 1): Row(1, "x")}
"""State that tasks share, in the order in which it was put."""


class _Average(AggregateFunction):
    """Of an aggregating state: a count and a sum."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, accumulator[1] + value

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[1] / accumulator[0]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class Program:
    """An operator with every kind of state; what it keeps for the n-th key follows from n."""

    def __init__(self) -> None:
        self.task = KeyContext()
        self.states = StateStore(self.task, "sums")
        self.count = self.states.get_state(ValueStateDescriptor("count", Types.INT()))
        self.seen = self.states.get_list_state(ListStateDescriptor("seen", Types.INT()))
        self.by_day = self.states.get_map_state(MapStateDescriptor("by day"))
        self.total = self.states.get_reducing_state(
            ReducingStateDescriptor("total", lambda first, second: first + second, Types.INT())
        )
        self.average = self.states.get_aggregating_state(
            AggregatingStateDescriptor("average", _Average(), Types.PICKLED_BYTE_ARRAY())
        )
        expiring = ValueStateDescriptor("expiring")
        expiring.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self.expiring = self.states.get_state(expiring)
        self.windows = self.states.in_namespaces()
        self.sum = self.windows.get_state(ValueStateDescriptor("sum", Types.INT()))

    def fill(self, backend: StateBackend, key: Any, number: int) -> None:
        """Keep something for a key."""
        self.states.attach(backend)
        self.task.enter(key)
        self.task.now_ms = 1_000 + number
        self.count.update(number)
        self.seen.add_all(range(number + 1))
        self.by_day.put(("day", number), Row(n=number))
        self.total.add(number)
        self.total.add(100)
        self.average.add(number)
        self.expiring.update(f"for {number}")
        self.windows.enter((number, number + 10))
        self.sum.update(10 * number)
        backend.event_timers.register(Timer(50 + number, key))
        backend.event_timers.register(Timer(50, key, (number, number + 10)))
        backend.processing_timers.register(Timer(60 + number, key))
        backend.flush()

    def content(self, backend: StateBackend, key: Any, number: int) -> tuple[Any, ...]:
        """What ``fill`` has kept for a key, read with the handles."""
        self.states.attach(backend)
        self.task.enter(key)
        self.task.now_ms = 2_000
        self.windows.enter((number, number + 10))
        return (
            self.count.value(),
            [*self.seen.get()],
            dict(self.by_day.items()),
            self.total.get(),
            self.average.get(),
            self.expiring.value(),
            self.sum.value(),
        )


def expected(number: int) -> tuple[Any, ...]:
    """What ``content`` gives for the n-th key."""
    return (
        number,
        [*range(number + 1)],
        {("day", number): Row(n=number)},
        100 + number,
        float(number),
        f"for {number}",
        10 * number,
    )


def header() -> dict[str, Any]:
    """What the tasks of the operator keep."""
    channels = {Channel("in", split="a"): (40, False), Channel("in", split="b"): (30, True)}
    return {
        "channels": channels,
        "watermark": 30,
        "now": 1_700,
        "nodes": {"next": (2, 30)},
        "inputs": (40, 30),
    }


def form() -> MemorySavepoint:
    """All of it, as this version writes it."""
    program, parts = Program(), PartWriter()
    backends = {group: PagedBackend(MemoryPages(), GROUPS) for group in range(GROUPS)}
    for number, key in enumerate(KEYS):
        program.fill(backends[key_group_of(key, GROUPS)], key, number)
    for group, backend in backends.items():
        parts.put(part_name("states", "sums", group), export_states("sums", backend, group))
        parts.put(part_name("timers", "sums", group), export_timers("sums", backend, group))
    rules = _rules()
    parts.put(part_name("states", "sums", ALL_GROUPS), export_states("sums", rules, ALL_GROUPS))
    watermarks, tasks = export_headers("sums", [header()])
    parts.put("watermarks", watermarks)
    parts.put("tasks", tasks)
    parts.put("splits", [SplitRecord("clicks", "a", 40, encode({"times": (3, 40)}))])
    with tempfile.TemporaryDirectory() as folder:
        parts.put("sinks", export_sinks({"files": _holding(sink(Path(folder)))}))
    kinds = {name: kind for each in backends.values() for name, kind in each.kinds().items()}
    spaced = {
        name: kind
        for each in backends.values()
        for name, kind in each.in_namespaces.kinds().items()
    }
    shared = rules.kinds()
    operator = OperatorEntry("sums", "process", "Sums", "sums", GROUPS, kinds, spaced, {}, shared)
    manifest = Manifest("golden", GROUPS, 9, (operator,), OFFSET.to_json(), parts.checksums)
    return MemorySavepoint(manifest, parts.records)


def _rules() -> StateBackend:
    shared, backend = BroadcastStateStore(), PagedBackend(MemoryPages(), GROUPS)
    shared.writable = True
    for key, rule in RULES.items():
        shared.map("rules").put(key, rule)
    write_changes(shared.take_changes(), backend)
    return backend


def sink(folder: Path) -> FileSink:
    """A sink that holds its files back until the end."""
    return FileSink.for_row_format(str(folder), Encoder.simple_string_encoder()).build()


def _holding(files: FileSink) -> Any:
    """A committer that holds one file back."""
    writer = files.writer(WriterContext("files", "golden", 0, 0, "a"))
    writer.write(HELD, [None] * len(HELD))
    committer: Any = files.committer(CommitterContext("files", "golden"))
    committer.clock = lambda: 1_700_000_000.0
    committer.commit(0, [writer.prepare_commit()])
    return committer


def store(whole: MemorySavepoint, folder: Path) -> None:
    """Write a form as files: the manifest as JSON, each part as an Arrow stream."""
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(whole.manifest.to_json())
    for name, records in whole.parts.items():
        table = name.partition("/")[0]
        file = str(folder / f"{quote(name, safe='')}.arrow")
        with pa.OSFile(file, "wb") as to, pa.ipc.new_stream(to, schema_of(table)) as out:
            for batch in to_batches(table, records):
                out.write_batch(batch)


def load(folder: Path) -> MemorySavepoint:
    """The form in files."""
    manifest = Manifest.from_json((folder / "manifest.json").read_text())
    parts = {}
    for file in folder.glob("*.arrow"):
        name = unquote(file.stem)
        with pa.ipc.open_stream(file.read_bytes()) as batches:
            parts[name] = [*from_batches(name.partition("/")[0], batches)]
    return MemorySavepoint(manifest, parts)
