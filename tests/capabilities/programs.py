"""What the table of capabilities stands on: one small program and its answer for each row.

A program is a function of an environment and a folder that gives back one stream. ``expected`` is
what the stream holds, as a multiset; ``in_batch`` where a batch gives final results only.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import orc

from headrace.common import Duration, Row, Time, Types, WatermarkStrategy
from headrace.common.watermark_strategy import WatermarkGenerator, WatermarkOutput
from headrace.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    LookupCache,
    OutputTag,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.async_retry_predicates import has_exception_predicate
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.datastream.formats.avro import AvroFormat, AvroInputFormat, AvroSchema
from headrace.datastream.formats.csv import CsvReaderFormat, CsvSchema
from headrace.datastream.formats.orc import OrcFormat
from headrace.datastream.formats.parquet import ParquetFormat
from headrace.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedMapBatchesFunction,
    MapFunction,
)
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

Build = Callable[[StreamExecutionEnvironment, Path], DataStream]
PAIRS = [("a", 1), ("b", 2), ("a", 3), ("b", 5), ("a", 8)]


@dataclass(frozen=True)
class Capability:
    """A row of the table: its name, its program, its answer."""

    name: str
    build: Build
    expected: list[Any]
    in_batch: list[Any] | None = None
    beam: tuple[str, ...] = ()
    """The rows of Beam's matrix that it shows."""

    def on(self, runner: str) -> list[Any]:
        """The answer on a runner."""
        in_batch = runner == "batch" and self.in_batch is not None
        return self.in_batch if in_batch else self.expected


CAPABILITIES: list[Capability] = []


def capability(
    name: str, expected: list[Any], in_batch: list[Any] | None = None, *, beam: Sequence[str] = ()
) -> Callable[[Build], Build]:
    def enlist(build: Build) -> Build:
        CAPABILITIES.append(Capability(name, build, expected, in_batch, tuple(beam)))
        return build

    return enlist


def first(pair: tuple[str, int]) -> str:
    return pair[0]


def by_second(strategy: WatermarkStrategy) -> WatermarkStrategy:
    return strategy.with_timestamp_assigner(lambda pair: pair[1])


@capability(
    "map, flat_map, filter, process, project",
    [(2,), (2,), (4,), (4,)],
    beam=["What/ParDo"],
)
def stateless(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    class Pair(ProcessFunction):
        def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
            yield "even", value

    return (
        env.from_sequence(1, 5)
        .filter(lambda number: number % 2 == 0)
        .flat_map(lambda number: [number, number])
        .map(lambda number: number)
        .process(Pair())
        .project(1)
    )


ASYNC = "Async I/O: ordered, unordered, timeouts, retries, a lookup cache"


@capability(
    ASYNC,
    [
        *[("ordered", pair) for pair in PAIRS],
        *[("unordered", pair) for pair in PAIRS],
        *[("late", name) for name, number in PAIRS if number == 5],
        *[("in time", name) for name, number in PAIRS if number != 5],
        *[("again", pair) for pair in PAIRS],
        *[("cached", number, name * 2) for name, number in PAIRS],
    ],
)
def lookups(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    class Slow(AsyncFunction[Any, Any]):
        async def async_invoke(self, value: Any) -> list[Any]:
            await asyncio.sleep(60 if value[1] == 5 else 0)
            return [("in time", value[0])]

        def timeout(self, value: Any) -> list[Any]:
            return [("late", value[0])]

    class SecondTime(AsyncFunction[Any, Any]):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.asked: set[Any] = set()

        async def async_invoke(self, value: Any) -> list[Any]:
            if value not in self.asked:
                self.asked.add(value)
                raise OSError("busy")
            return [("again", value)]

    async def echo(value: Any) -> Any:
        await asyncio.sleep(0)
        return value

    async def twice(name: str) -> str:
        return name * 2

    pairs, soon = env.from_collection(PAIRS), Time.seconds(60)
    cache = LookupCache(
        key=first, join=lambda pair, found: [("cached", pair[1], *found)], max_rows=9
    )
    again = AsyncRetryStrategy.fixed_delay(3, 1, None, has_exception_predicate)
    return (
        AsyncDataStream.ordered_wait(pairs, echo, soon)
        .map(lambda pair: ("ordered", pair))
        .union(
            AsyncDataStream.unordered_wait(pairs, echo, soon, 2).map(lambda p: ("unordered", p)),
            AsyncDataStream.unordered_wait(pairs, Slow(), Time.seconds(1)),
            AsyncDataStream.ordered_wait_with_retry(pairs, SecondTime(), soon, again),
            AsyncDataStream.ordered_wait(pairs, twice, soon, cache=cache),
        )
    )


LAST_OF_EACH = [
    ("reduce", "a", 12), ("sum", "a", 12), ("min", "a", 1), ("max", "a", 8), ("min_by", "a", 1),
    ("max_by", "a", 8), ("reduce", "b", 7), ("sum", "b", 7), ("min", "b", 2), ("max", "b", 5),
    ("min_by", "b", 2), ("max_by", "b", 5),
]  # fmt: skip
BEFORE_THE_LAST = [
    ("reduce", "a", 1), ("reduce", "a", 4), ("sum", "a", 1), ("sum", "a", 4), ("min", "a", 1),
    ("min", "a", 1), ("max", "a", 1), ("max", "a", 3), ("min_by", "a", 1), ("min_by", "a", 1),
    ("max_by", "a", 1), ("max_by", "a", 3), ("reduce", "b", 2), ("sum", "b", 2), ("min", "b", 2),
    ("max", "b", 2), ("min_by", "b", 2), ("max_by", "b", 2),
]  # fmt: skip


@capability(
    "reduce, sum, min, max, min_by, max_by",
    LAST_OF_EACH + BEFORE_THE_LAST,
    LAST_OF_EACH,
    beam=["What/Combine"],
)
def rolling(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    keyed = env.from_collection(PAIRS).key_by(first)
    streams = {
        "reduce": keyed.reduce(lambda one, other: (one[0], one[1] + other[1])),
        "sum": keyed.sum(1),
        "min": keyed.min(1),
        "max": keyed.max(1),
        "min_by": keyed.min_by(1),
        "max_by": keyed.max_by(1),
    }
    named = [stream.map(lambda pair, name=name: (name, *pair)) for name, stream in streams.items()]
    return named[0].union(*named[1:])


@capability(
    "Keyed state: value, list, map, reducing, aggregating",
    [("a", [1, 3, 8], {1: "a", 3: "a", 8: "a"}, 12, 3), ("b", [2, 5], {2: "b", 5: "b"}, 7, 2)],
    beam=["What/Stateful Processing"],
)
def keyed_state(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    class Count(AggregateFunction):
        def create_accumulator(self) -> int:
            return 0

        def add(self, value: Any, accumulator: int) -> int:
            return accumulator + 1

        def get_result(self, accumulator: int) -> int:
            return accumulator

        def merge(self, acc_a: int, acc_b: int) -> int:
            return acc_a + acc_b

    class Everything(KeyedProcessFunction):
        def __init__(self, totals: dict[str, int]) -> None:
            self.totals = totals

        def open(self, runtime_context: RuntimeContext) -> None:
            self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))
            self.list = runtime_context.get_list_state(ListStateDescriptor("list"))
            self.map = runtime_context.get_map_state(MapStateDescriptor("map"))
            self.sum = runtime_context.get_reducing_state(
                ReducingStateDescriptor("sum", lambda one, other: one + other)
            )
            self.count = runtime_context.get_aggregating_state(
                AggregatingStateDescriptor("count", Count())
            )

        def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
            key, number = value
            self.seen.update((self.seen.value() or 0) + 1)
            self.list.add(number)
            self.map.put(number, key)
            self.sum.add(number)
            self.count.add(number)
            if self.seen.value() == self.totals[key]:
                found = sorted(self.map.items())
                yield key, sorted(self.list.get()), dict(found), self.sum.get(), self.count.get()

    return env.from_collection(PAIRS).key_by(first).process(Everything({"a": 3, "b": 2}))


@capability("State that expires, by event time", [(1, None), (50, 1), (200, None)])
def expiring(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    class Last(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            descriptor = ValueStateDescriptor("last")
            descriptor.enable_time_to_live(
                StateTtlConfig.new_builder(dt.timedelta(milliseconds=100)).use_event_time().build()
            )
            self.last = runtime_context.get_state(descriptor)

        def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
            yield value[1], self.last.value()
            self.last.update(value[1])

    return (
        env.from_collection([("a", 1), ("a", 50), ("a", 200)])
        .assign_timestamps_and_watermarks(by_second(WatermarkStrategy.for_monotonous_timestamps()))
        .key_by(first)
        .process(Last())
    )


class Bell(KeyedProcessFunction):
    """Rings at the time of each record, but for the one whose timer is taken back."""

    def process_element(self, value: tuple[str, int], ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(value[1])
        ctx.timer_service().register_event_time_timer(value[1] + 1)
        ctx.timer_service().delete_event_time_timer(value[1] + 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp


@capability("Event-time timers", PAIRS, beam=["When/Timers"])
def event_timers(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    return (
        env.from_collection(PAIRS)
        .assign_timestamps_and_watermarks(by_second(WatermarkStrategy.for_monotonous_timestamps()))
        .key_by(first)
        .process(Bell())
    )


class Punctuated(WatermarkGenerator):
    """A watermark behind every record."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event_timestamp - 1)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


@capability(
    "Watermarks: monotonous, bounded, user-defined; idleness",
    PAIRS * 3,
    beam=["Where/Timestamp control"],
)
def watermarks(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(dt.timedelta(milliseconds=5))
    mine = WatermarkStrategy.for_generator(Punctuated).with_idleness(dt.timedelta(minutes=1))
    ordered = WatermarkStrategy.for_monotonous_timestamps()
    one, two, three = (
        env.from_collection(PAIRS)
        .assign_timestamps_and_watermarks(by_second(strategy))
        .key_by(first)
        .process(Bell())
        for strategy in (ordered, bounded, mine)
    )
    return one.union(two, three)


@capability("Several keyed stages in one job", [3, 4], [4])
def stages(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    counted = env.from_collection(["x", "x", "y", "y"]).map(lambda word: (word, 1))
    return (
        counted.key_by(first)
        .sum(1)
        .filter(lambda pair: pair[1] == 2)
        .key_by(lambda pair: pair[1])
        .reduce(lambda one, other: (f"{one[0]}{other[0]}", one[1] + other[1]))
        .map(lambda pair: pair[1] if pair[1] == 4 else pair[1] + 1)
    )


@capability("Side outputs, keyed and not", ["even 2", "even 4", "odd 1", "odd 3"])
def side_outputs(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    even = OutputTag("even")

    class Split(ProcessFunction):
        def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
            if value % 2 == 0:
                yield even, f"even {value}"
            else:
                yield f"odd {value}"

    odd = env.from_sequence(1, 4).process(Split())
    return odd.union(odd.get_side_output(even))


@capability("union of streams", ["a", "b", "c"], beam=["What/Flatten"])
def unions(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    return env.from_collection(["a", "b"]).union(env.from_collection(["c"]))


class Together(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        yield left[0], left[1], right[1], ctx.get_timestamp()


def sides_of_joins(env: StreamExecutionEnvironment) -> list[DataStream]:
    strategy = by_second(WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5)))
    sides = [("a", 4), ("b", 2), ("a", 7)], [("a", 5), ("b", 9), ("a", 1)]
    return [env.from_collection(side).assign_timestamps_and_watermarks(strategy) for side in sides]


@capability(
    "Interval join, as-of join",
    [("a", 4, 5, 5), ("a", 7, 5, 7), ("a", 4, 1), ("a", 7, 5), ("b", 2, None)],
)
def joins_by_time(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    left, right = (stream.key_by(first) for stream in sides_of_joins(env))
    near = left.interval_join(right).between(Time.milliseconds(-2), Time.milliseconds(1))
    latest = left.as_of_join(right).apply(lambda one, two: (*one, None if two is None else two[1]))
    return near.process(Together()).union(latest)


@capability(
    "Window join, coGroup",
    [("a", 4, 5), ("a", 7, 5), ([4, 7], [5]), ([], [1]), ([2], []), ([], [9])],
)
def joins_by_window(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    left, right = sides_of_joins(env)
    windows = TumblingEventTimeWindows.of(Time.milliseconds(4))
    joined, grouped = (
        made.where(first).equal_to(first).window(windows)
        for made in (left.join(right), left.co_group(right))
    )
    groups = grouped.apply(lambda one, two: [(sorted(x[1] for x in one), [x[1] for x in two])])
    return joined.apply(lambda one, two: (*one, two[1])).union(groups)


@capability("rebalance, rescale, shuffle, forward, partition_custom", [10, 20, 30, 40])
def partitioned(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    def same(number: int) -> int:
        return number

    numbers = env.from_sequence(1, 4).rebalance().map(same).rescale().map(same).shuffle().map(same)
    return (
        numbers.forward()
        .map(same)
        .partition_custom(lambda key, partitions: key % partitions, same)
        .map(lambda number: number * 10)
    )


@capability(
    "connect: map, flat_map, process, keyed and not",
    [*["map"] * 5, *["one"] * 3, *["two"] * 4, ("a", 3, 2), ("b", 2, 0)],
)
def two_streams(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    class Map(CoMapFunction):
        def map1(self, value: Any) -> Any:
            return "map"

        def map2(self, value: Any) -> Any:
            return None

    class FlatMap(CoFlatMapFunction):
        def flat_map1(self, value: Any) -> Any:
            return ["one"] if value[0] == "a" else []

        def flat_map2(self, value: Any) -> Any:
            yield from ["two"] * value[1]

    class Both(KeyedCoProcessFunction):
        """Counts the records of both streams by key until the time of both has passed."""

        def open(self, runtime_context: RuntimeContext) -> None:
            self.counts = runtime_context.get_map_state(MapStateDescriptor("counts"))

        def _count(self, stream: str, ctx: Any) -> None:
            self.counts.put(stream, (self.counts.get(stream) or 0) + 1)
            ctx.timer_service().register_event_time_timer(100)

        def process_element1(self, value: Any, ctx: Any) -> None:
            self._count("one", ctx)

        def process_element2(self, value: Any, ctx: Any) -> None:
            self._count("two", ctx)

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            counts = [self.counts.get(stream) or 0 for stream in ("one", "two")]
            yield ctx.get_current_key(), *counts

    by_time = by_second(WatermarkStrategy.for_monotonous_timestamps())
    pairs = env.from_collection(PAIRS).assign_timestamps_and_watermarks(by_time)
    others = env.from_collection([("a", 1), ("a", 3)]).assign_timestamps_and_watermarks(by_time)
    return (
        pairs.connect(others)
        .map(Map())
        .union(
            pairs.key_by(first).connect(others.key_by(first)).flat_map(FlatMap()),
            pairs.connect(others).key_by(first, first).process(Both()),
        )
    )


@capability(
    "Broadcast state, keyed and not",
    [*[("plain", True, False)] * 5, ("a", 1, 10), ("b", 2, 10), ("a", 3, 300), ("b", 5, 500),
     ("a", 8, 800)],
    beam=["What/Side Inputs"],
)  # fmt: skip
def broadcast_state(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    rates = MapStateDescriptor("rates", Types.LONG(), Types.INT())

    class Rated(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
        """Waits for a record's time, and multiplies with the rate of that time."""

        def process_element(self, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(value[1])

        def process_broadcast_element(self, value: Any, ctx: Any) -> None:
            ctx.get_broadcast_state(rates).put(value[1], value[0])

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            known = ctx.get_broadcast_state(rates).items()
            rate = max((pair for pair in known if pair[0] <= timestamp), default=(0, 0))[1]
            yield ctx.get_current_key(), timestamp, timestamp * rate

    class Plain(BroadcastProcessFunction[Any, Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> Any:
            state = ctx.get_broadcast_state(rates)
            yield "plain", state.get(-1) is None, state.contains(-1)

        def process_broadcast_element(self, value: Any, ctx: Any) -> None:
            ctx.get_broadcast_state(rates).put(value[1], value[0])

    by_time = by_second(WatermarkStrategy.for_monotonous_timestamps())
    pairs = env.from_collection(PAIRS).assign_timestamps_and_watermarks(by_time)
    changes = env.from_collection([(10, 1), (5, 2), (100, 3)])
    broadcast = changes.assign_timestamps_and_watermarks(by_time).broadcast(rates)
    keyed = pairs.key_by(first).connect(broadcast).process(Rated())
    return keyed.union(pairs.connect(broadcast).process(Plain()))


@dataclasses.dataclass
class Trade:
    """A record of a user's own class."""

    symbol: str
    price: Decimal
    at: dt.datetime
    note: str | None = None


TRADE = Trade("ABC", Decimal("1.10"), dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC))


@capability(
    "Dataclasses, tuples, dicts, Row, Decimal, datetime, None",
    [TRADE, ("t", None), {"k": [1]}, Row(a=1)],
)
def values(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    found = [TRADE, ("t", None), {"k": [1]}, Row(a=1)]
    return env.from_collection(found).rebalance().map(lambda value: value)


@capability("Declared types: records are checked and shaped", [Row(name="a", size=1)])
def typed(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    kind = Types.ROW_NAMED(["name", "size"], [Types.STRING(), Types.INT()])
    return env.from_collection([("a", 1)]).map(lambda pair: Row(*pair), kind)


@capability(
    "Sources: collection, sequence, data generator",
    [0, 1, 2, 4, 7],
    beam=["What/Source API"],
)
def sources(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    squares = DataGeneratorSource(lambda index: index * index, count=3)
    made = env.from_source(squares, WatermarkStrategy.no_watermarks(), "squares")
    return made.union(env.from_collection([7]), env.from_sequence(2, 2))


@capability(
    "map_batches: functions of Arrow record batches and of DataFrames, keyed with state",
    [("a", n * 10) for n in (1, 3, 8)] + [("b", n * 10) for n in (2, 5)] + [("a", 3), ("b", 2)],
)
def batches(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    pairs = env.from_collection(PAIRS, pair)

    def tenfold(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.set_column(1, "f1", pc.multiply(batch["f1"], 10))

    class Third(KeyedMapBatchesFunction):
        """The number of a key's records, once the last of them is there."""

        def open(self, runtime_context: RuntimeContext) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

        def map_batches(self, key: str, frame: Any) -> Any:
            count = (self.count.value() or 0) + len(frame)
            self.count.update(count)
            every = {"a": 3, "b": 2}[key]
            return frame.head(1).assign(f1=count) if count == every else None

    counted = pairs.key_by(first).map_batches(Third(), pair, format="pandas")
    return pairs.map_batches(tenfold, pair).union(counted)


@capability("State without keys: CheckpointedFunction", [(1,), (2,), (3,), (4,), (5,)])
def operator_state(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    class Numbers(MapFunction, CheckpointedFunction):
        """Numbers the records of its instance."""

        def initialize_state(self, context: FunctionInitializationContext) -> None:
            descriptor = ListStateDescriptor("count", Types.LONG())
            self.state = context.get_operator_state_store().get_list_state(descriptor)
            self.count = sum(self.state.get())

        def map(self, value: Any) -> Any:
            self.count += 1
            return (self.count,)

        def snapshot_state(self, context: FunctionSnapshotContext) -> None:
            self.state.update([self.count])

    return env.from_collection(PAIRS).map(Numbers()).set_parallelism(1)


@dataclass(frozen=True)
class Sized:
    name: str
    size: int = 7


@capability(
    "Files as sources: text, JSON lines, CSV, Parquet, Avro, ORC",
    ["avro 7", "csv", "json", "orc", "parquet", "text"],
)
def files(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    (folder / "a.txt").write_text("text\n")
    (folder / "a.jsonl").write_text(json.dumps({"name": "json"}) + "\n")
    (folder / "a.csv").write_text("name,size\ncsv,1\n")
    pq.write_table(pa.table({"name": ["parquet"]}), folder / "a.parquet")
    orc.write_table(pa.table({"name": ["orc"]}), folder / "a.orc")
    older = {"type": "record", "name": "Sized", "fields": [{"name": "name", "type": "string"}]}
    with open(folder / "a.avro", "wb") as file:
        fastavro.writer(file, older, [{"name": "avro"}])
    schema = CsvSchema.builder().add_string_column("name").set_use_header().build()

    def read(builder: Any, name: str) -> DataStream:
        return env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), name)

    def lines(kind: StreamFormat, name: str) -> DataStream:
        return read(FileSource.for_record_stream_format(kind, str(folder / name)), name)

    text = lines(StreamFormat.text_line_format(), "a.txt")
    jsons = lines(StreamFormat.json_lines_format(), "a.jsonl").map(lambda record: record["name"])
    csv = lines(CsvReaderFormat.for_schema(schema), "a.csv").map(lambda row: row["name"])
    parquet = read(
        FileSource.for_bulk_file_format(ParquetFormat(), str(folder / "a.parquet")), "a.parquet"
    ).map(lambda record: record["name"])
    avro = env.create_input(AvroInputFormat(str(folder / "a.avro"), AvroSchema.of_dataclass(Sized)))
    sized = read(FileSource.for_bulk_file_format(AvroFormat(Sized), str(folder / "a.avro")), "avro")
    orcs = read(FileSource.for_bulk_file_format(OrcFormat(), str(folder / "a.orc")), "orc")
    return text.union(
        jsons,
        csv,
        parquet,
        avro.filter(lambda record: record["size"] != 7).map(str),
        sized.map(lambda record: f"{record.name} {record.size}"),
        orcs.map(lambda record: record["name"]),
    )


@capability("Undecodable input to a side output", ["good 1", "bad b'not JSON' at 9"])
def bad_input(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    (folder / "bad.jsonl").write_text('{"n": 1}\nnot JSON\n')
    bad = OutputTag("bad")
    source = (
        FileSource.for_record_stream_format(
            StreamFormat.json_lines_format(), str(folder / "bad.jsonl")
        )
        .on_error(bad)
        .build()
    )
    good = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    return good.map(lambda record: f"good {record['n']}").union(
        good.get_side_output(bad).map(lambda record: f"bad {record.raw!r} at {record.position}")
    )


def timed_pairs(env: StreamExecutionEnvironment) -> DataStream:
    """``PAIRS``, each at as many ms as its number says."""
    strategy = by_second(WatermarkStrategy.for_monotonous_timestamps())
    return env.from_collection(PAIRS).assign_timestamps_and_watermarks(strategy)


class Listed(ProcessWindowFunction[Any, Any, str, Any]):
    """Key, window, numbers, and how many windows of the key have fired."""

    def process(self, key: str, context: Any, elements: Any) -> Iterator[Any]:
        fired = context.global_state().get_state(ValueStateDescriptor("fired", Types.INT()))
        fired.update((fired.value() or 0) + 1)
        yield key, str(context.window()), [number for _, number in elements], fired.value()


@capability(
    "Windows of event time: tumbling, sliding, sessions",
    [
        ("tumbling", "a", 4), ("tumbling", "a", 8), ("tumbling", "b", 2), ("tumbling", "b", 5),
        ("sliding", "a", 4), ("sliding", "a", 4), ("sliding", "a", 8), ("sliding", "b", 2),
        ("sliding", "a", 8), ("sliding", "b", 7), ("sliding", "b", 5),
        ("session", "a", 4), ("session", "a", 8), ("session", "b", 7),
    ],
    beam=[
        "What/Combine", "What/Composite Transforms", "Where/Fixed windows",
        "Where/Sliding windows", "Where/Session windows", "When/Event-time triggers",
    ],
)  # fmt: skip
def windows(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    keyed = timed_pairs(env).key_by(first)
    streams = {
        "tumbling": keyed.window(TumblingEventTimeWindows.of(4)).sum(1),
        "sliding": keyed.window(SlidingEventTimeWindows.of(8, 4)).sum(1),
        "session": keyed.window(EventTimeSessionWindows.with_gap(3)).sum(1),
    }
    named = [stream.map(lambda pair, name=name: (name, *pair)) for name, stream in streams.items()]
    return named[0].union(*named[1:])


@capability(
    "Window functions with state; count windows, triggers, evictors",
    [
        ("a", "TimeWindow(start=0, end=4)", [1, 3], 1), ("b", "TimeWindow(start=4, end=8)", [5], 2),
        ("a", "TimeWindow(start=8, end=12)", [8], 2), ("b", "TimeWindow(start=0, end=4)", [2], 1),
        ("a", "CountWindow(id=0)", [1, 3], 1), ("b", "CountWindow(id=0)", [2, 5], 1),
        ("a", "GlobalWindow", [3], 1), ("b", "GlobalWindow", [5], 1), ("all", 6), ("all", 13),
    ],
    beam=[
        "What/GroupByKey", "Where/Global windows", "When/Count triggers",
        "When/Composite triggers", "Misc/Key-ordered delivery",
    ],
)  # fmt: skip
def window_functions(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    keyed = timed_pairs(env).key_by(first)
    everything = keyed.window(GlobalWindows.create()).evictor(CountEvictor.of(1))
    of_all = (
        timed_pairs(env)
        .map(lambda pair: ("all", pair[1]))
        .window_all(TumblingEventTimeWindows.of(5, 4))
    )
    return (
        keyed.window(TumblingEventTimeWindows.of(4))
        .process(Listed())
        .union(
            keyed.count_window(2).process(Listed()),
            everything.trigger(PurgingTrigger.of(CountTrigger.of(2))).process(Listed()),
            of_all.sum(1),
        )
    )


@capability(
    "full_window_partition: all records of a key, or of a stream, at its end",
    [("a", [1, 3, 8]), ("b", [2, 5]), 19],
)
def whole_partitions(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    pairs = env.from_collection(PAIRS)
    of_keys = pairs.key_by(first).full_window_partition()
    of_all = pairs.map(lambda pair: pair[1]).full_window_partition()

    def of_key(values: Iterable[tuple[str, int]]) -> Iterator[tuple[str, list[int]]]:
        ordered = sorted(values)
        yield ordered[0][0], [number for _, number in ordered]

    return of_keys.map_partition(of_key).union(of_all.reduce(lambda one, two: one + two))
