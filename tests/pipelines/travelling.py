"""Programs drawn by a seed: sources of columns of many types, and operators that they go through.

The same program with columns turned off is what a program is compared with.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headrace.common import Configuration, Duration, Time, WatermarkStrategy
from headrace.common._options.catalogue import COLUMNS
from headrace.connector import (
    Budget,
    Chunk,
    ColumnChunk,
    JsonValue,
    Progress,
    Source,
    SplitEnumerator,
    SplitRange,
    SplitReader,
)
from headrace.datastream import DataStream, JoinFields, OutputTag, StreamExecutionEnvironment
from headrace.datastream.aggregates import Aggregates, Count, Max, Mean, Min, Sum
from headrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.runtime.columns.building import from_chunk
from headrace.runtime.columns.selectors import ByColumns
from headrace.runtime.columns.shapes import DICTS, NAMED_ROWS, Tuples

PIECE = 7
"""So many records are read at once, as rows or as columns: watermarks stand at the same places."""

KIND = "__kind"


@dataclass(frozen=True)
class Batches(Source):
    """Record batches, each of a schema of its own, over several splits."""

    splits: tuple[tuple[Any, ...], ...]
    shape: Any
    kinds: bool

    @property
    def kind(self) -> str:
        return "batches"

    @property
    def gives(self) -> None:
        """Of any kind."""

    @property
    def bounded(self) -> bool:
        return True

    def enumerator(self, directory: str) -> SplitEnumerator:
        return _Enumerator([sum(each.num_rows for each in split) for split in self.splits])

    def reader(self) -> SplitReader:
        return _Reader(self)


class _Enumerator(SplitEnumerator):
    def __init__(self, counts: list[int]) -> None:
        self._counts = counts

    def initial(self, now_ms: int) -> Mapping[str, JsonValue]:
        return {str(number): 0 for number in range(len(self._counts))}

    def advance(
        self,
        positions: Mapping[str, JsonValue],
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> Progress:
        left, going, finished = max(budget.max_records, 1), {}, {}
        for split, position in positions.items():
            count = self._counts[int(split)]
            end = position if split in paused else min(position + left, count)
            left -= end - position
            if end == count and split not in paused:
                finished[split] = end
            else:
                going[split] = end
        return Progress(going, finished, ended=not going)

    def ranges(
        self, start: Mapping[str, JsonValue], end: Mapping[str, JsonValue], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        return [
            SplitRange(split, at, end[split], None, end[split] - at)
            for split, at in start.items()
            if end[split] > at
        ]


class _Reader(SplitReader):
    def __init__(self, source: Batches) -> None:
        self._source = source

    def _chunks(self, split_range: SplitRange) -> Iterator[ColumnChunk]:
        source, at = self._source, 0
        for batch in source.splits[int(split_range.split)]:
            first = max(split_range.start - at, 0)
            last = min(split_range.end - at, batch.num_rows)
            for start in range(first, last, PIECE):
                piece = batch.slice(start, min(PIECE, last - start))
                yield ColumnChunk(piece, source.shape, KIND if source.kinds else None)
            at += batch.num_rows

    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        for chunk in self._chunks(split_range):
            yield Chunk(from_chunk(chunk).rows())

    def read_columns(self, split_range: SplitRange) -> Iterator[ColumnChunk]:
        return self._chunks(split_range)


EPOCH = datetime.datetime(2020, 1, 1)


def _keys(chance: random.Random) -> tuple[Any, Callable[[], Any]]:
    """A type of keys, and what makes some."""
    few = chance.randint(1, 5)
    integers = [-1, 0, 1, 2, 7][:few]
    if chance.random() < 0.1:
        integers += [(1 << 62) + 1, -(1 << 62)]
    kinds: list[tuple[Any, list[Any]]] = [
        *((kind, integers) for kind in [pa.int64()] * 6),
        (pa.int8(), [-1, 0, 1]),
        (pa.uint64(), [0, 1, (1 << 64) - 1, 1 << 63]),
        (pa.uint32(), [0, 1, (1 << 32) - 1]),
        *((pa.string(), ["", "a", "é", "zz"]) for _ in range(3)),
        (pa.large_string(), ["a", "b"]),
        (pa.string_view(), ["a", "b"]),
        (pa.dictionary(pa.int8(), pa.string()), ["a", "b", "c"]),
        (pa.dictionary(pa.int32(), pa.int64()), [1, 2, 3]),
        (pa.bool_(), [True, False]),
        (pa.date32(), [EPOCH.date(), datetime.date(1969, 1, 1)]),
        (pa.date64(), [EPOCH.date()]),
        (pa.timestamp("ms"), [EPOCH]),
        (pa.timestamp("us", "UTC"), [EPOCH]),
        (pa.float64(), [0.0, -0.0, 1.0, 0.5]),
        (pa.decimal128(5, 1), [Decimal("1.0"), Decimal("-2.5")]),
        (pa.binary(), [b"", b"x"]),
    ]
    kind, values = chance.choice(kinds)
    if chance.random() < 0.15:
        values = [None, *values]
    return kind, lambda: chance.choice(values)


def _numbers(chance: random.Random) -> tuple[Any, Callable[[], Any]]:
    """A type of numbers, and what makes some."""
    wild = chance.random() < 0.25

    def integers(bits: int, signed: bool) -> tuple[Any, Callable[[], Any]]:
        least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        kind = getattr(pa, f"{'' if signed else 'u'}int{bits}")()
        far = [least, most, most // 2, most - 1]
        return (
            kind,
            lambda: chance.choice(far) if wild and chance.random() < 0.2 else chance.randint(0, 9),
        )

    def floats(kind: Any) -> tuple[Any, Callable[[], Any]]:
        odd = [float("nan"), -0.0, 0.0, float("inf"), -float("inf")]
        return (
            kind,
            lambda: (
                chance.choice(odd) if wild and chance.random() < 0.4 else chance.randint(-9, 9) / 4
            ),
        )

    kinds = [
        *([integers(64, True)] * 5),
        *(integers(bits, signed) for bits in (8, 16, 32) for signed in (True, False)),
        integers(64, False),
        *([floats(pa.float64())] * 4),
        floats(pa.float32()),
        (pa.decimal128(10, 2), lambda: Decimal(chance.randint(-300, 300)) / 100),
        (pa.bool_(), lambda: chance.random() < 0.5),
    ]
    kind, make = chance.choice(kinds)
    if chance.random() < 0.06:
        return kind, lambda: None if chance.random() < 0.2 else make()
    return kind, make


def _others(chance: random.Random) -> tuple[Any, Callable[[], Any]]:
    """A type of other values, and what makes some."""
    inner = pa.dictionary(pa.int8(), pa.string())

    def moment() -> Any:
        return EPOCH + datetime.timedelta(microseconds=chance.randint(-(10**15), 10**15))

    kinds: list[tuple[Any, Callable[[], Any]]] = [
        (pa.string(), lambda: chance.choice(["", "x", "ü", "long " * 5])),
        (pa.string_view(), lambda: chance.choice(["", "x", "long " * 5])),
        (pa.binary(), lambda: bytes([chance.randint(0, 255)])),
        (pa.dictionary(pa.int8(), pa.string()), lambda: chance.choice("abc")),
        (pa.list_(pa.int64()), lambda: [1] * chance.randint(0, 3)),
        (pa.list_(inner), lambda: [chance.choice("abc")]),
        (pa.struct([("a", pa.int64()), ("b", pa.string())]), lambda: {"a": 1, "b": None}),
        (pa.struct([("a", inner)]), lambda: {"a": chance.choice("xyz")}),
        (pa.map_(pa.string(), pa.int64()), lambda: [("k", chance.randint(0, 3))]),
        (pa.timestamp("ns"), lambda: moment()),
        (pa.timestamp("us"), moment),
        (pa.timestamp("s"), lambda: moment().replace(microsecond=0)),
        (pa.timestamp("ms", "Europe/Warsaw"), lambda: moment().replace(microsecond=0)),
        (pa.date32(), lambda: moment().date()),
        (pa.date64(), lambda: moment().date()),
        (pa.time64("us"), lambda: moment().time()),
        (pa.duration("ms"), lambda: datetime.timedelta(milliseconds=chance.randint(-9, 9))),
        (pa.decimal128(20, 3), lambda: Decimal(chance.randint(-9999, 9999)) / 1000),
        (pa.null(), lambda: None),
        (pa.bool_(), lambda: chance.random() < 0.5),
        (pa.float32(), lambda: chance.choice([0.1, -0.0, float("nan")])),
        (pa.list_(pa.struct([("t", pa.timestamp("us"))])), lambda: [{"t": moment()}]),
    ]
    kind, make = chance.choice(kinds)
    rate = chance.choice([0, 0, 0.2, 1])
    return kind, lambda: None if chance.random() < rate else make()


_CHANGED = {
    pa.int64(): [pa.int32(), pa.int16()],
    pa.int32(): [pa.int64()],
    pa.string(): [pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.string_view()],
    pa.dictionary(pa.int8(), pa.string()): [pa.string()],
    pa.float64(): [pa.float32()],
    pa.timestamp("us"): [pa.timestamp("ns")],
}
"""To what a type changes between two batches."""

EXTRA = ("x", "y")


def source(chance: random.Random, late_ms: int, alone: bool, shape: Any, kinds: bool) -> Batches:
    """Batches of the fields ``k``, ``g`` (keys), ``n``, ``m`` (numbers), ``at``, and others."""
    fields: dict[str, tuple[Any, Callable[[], Any]]] = {
        "k": _keys(chance),
        "g": _keys(chance),
        "n": _numbers(chance),
        "m": _numbers(chance),
    }
    if chance.random() < 0.6:  # what is computed on columns, and no more
        keys, numbers = [-1, 0, 1, 2, 7], chance.choice([9, 1 << 61])
        floats = [each / 4 for each in range(-9, 9)]
        if chance.random() < 0.4:
            floats += [float("nan"), -0.0, -0.0, float("inf")]
        fields = {
            "k": (pa.int64(), lambda: chance.choice(keys)),
            "g": chance.choice(
                [
                    (pa.int64(), lambda: chance.choice(keys)),
                    (pa.string(), lambda: chance.choice("abc")),
                ]
            ),
            "n": (pa.int64(), lambda: chance.randint(-numbers, numbers)),
            "m": (pa.float64(), lambda: chance.choice(floats)),
        }
    fields |= {name: _others(chance) for name in EXTRA[: chance.randint(0, 2)]}
    changes = chance.random() < 0.3
    missing = chance.random() < 0.08 and shape is not None
    at_kind = pa.timestamp(chance.choice(["ms", "us", "ns"])) if chance.random() < 0.2 else None
    splits = []
    for _ in range(1 if alone else chance.choice([1, 2, 3])):
        now, batches = chance.randint(-40, 40), []
        for _ in range(chance.randint(1, 5)):
            count = chance.choice([0, 1, 3, 10, 30, 130] if chance.random() < 0.4 else [10, 30])
            arrays, names = [], []
            for name, (kind, make) in fields.items():
                if missing and name not in ("k", "at") and chance.random() < 0.2:
                    continue
                values = [make() for _ in range(count)]
                if changes and chance.random() < 0.4:
                    kind = chance.choice(_CHANGED.get(kind, [kind]))
                arrays.append(_array(values, kind))
                names.append(name)
            times = []
            for _ in range(count):
                now += chance.choice([0, 0, 1, 2, 3, 9])
                times.append(now - chance.randint(0, late_ms * (1 + alone)))
            at = pa.array(times, pa.int64())
            if at_kind is not None:
                at = at.cast(pa.timestamp("ms")).cast(at_kind)
            arrays.append(at)
            names.append("at")
            if kinds:
                drawn = [chance.choice([0, 0, 0, 1, 2, 3, None]) for _ in range(count)]
                arrays.append(pa.array(drawn, pa.int8()))
                names.append(KIND)
            batch = pa.RecordBatch.from_arrays(arrays, names=names)
            if count > 4 and chance.random() < 0.3:
                batch = batch.slice(2, count - 3)
            batches.append(batch)
        splits.append(tuple(batches))
    return Batches(tuple(splits), shape, kinds)


def _array(values: list[Any], kind: Any) -> Any:
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        pass
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_integer(kind):
        return pa.array(
            values, pa.uint64() if max(v or 0 for v in values) >= 1 << 63 else pa.int64()
        )
    return pa.array(values)


LATE = OutputTag("late")
MS = Time.milliseconds


class Builder:
    """Draws a program. The same seed gives the same program, with columns or without."""

    def __init__(self, seed: int, columns: bool, one_group: bool) -> None:
        self.one_group = one_group
        self.in_order = True
        self.rounded = False
        """Whether the numbers are floats whose sums depend on their order, or may be."""
        self.chance = random.Random(seed)
        chance = self.chance
        self.late_ms = chance.choice([0, 3, 12])
        # Which records are late depends on what other inputs have reached: then there are none.
        self.alone = chance.random() < 0.4
        self.shape = chance.choice([DICTS, DICTS, NAMED_ROWS, NAMED_ROWS, Tuples()])
        self.kinds = self.shape is NAMED_ROWS and chance.random() < 0.25
        self.env = StreamExecutionEnvironment(
            Configuration.from_dict(
                {
                    COLUMNS.key: str(columns).lower(),
                    "headrace.watermark.chunk-records": str(PIECE),
                    "headrace.state.page-bytes": "200",
                }
            )
        )
        self.log: list[str] = []
        self.side: dict[str, DataStream] = {}
        self.data = random.Random(seed + 1)

    def __repr__(self) -> str:
        self.log.clear()
        self.program()
        return " | ".join(self.log)

    def field(self, name: str) -> Any:
        if type(self.shape) is Tuples:
            return ["k", "g", "n", "m"].index(name)
        return name

    def start(self) -> DataStream:
        made = source(self.data, self.late_ms, self.alone, self.shape, self.kinds)
        times = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(self.late_ms))
        if type(self.shape) is not Tuples:
            times = times.with_timestamp_assigner("at")
        self.one_split = len(made.splits) == 1
        self.log.append(f"source {self.shape} kinds={self.kinds} {made.splits[0][0].schema}")
        return self.env.from_source(made, times, "source")

    def stream(self) -> DataStream:
        stream, chance = self.start(), self.chance
        for _ in range(chance.randint(1, 5)):
            step = chance.choice(STEPS)
            stream = step(self, stream)
            self.log.append(step.__name__)
            if type(self.shape) is Tuples and chance.random() < 0.5:
                break
        return stream

    def program(self) -> dict[str, DataStream]:
        stream = self.stream()
        return {"main": stream, **self.side}


def keyed(b: Builder, stream: DataStream) -> Any:
    chance = b.chance
    if type(b.shape) is Tuples:
        return stream.key_by(lambda value: value[0])
    how = chance.choice(["k", "g", "k", "both", "function"])
    if how == "both":
        return stream.key_by(ByColumns("k", "g"))
    if how == "function":
        return stream.key_by(lambda value: value["k"])
    return stream.key_by(how)


def reduction(b: Builder, stream: DataStream) -> DataStream:
    chance = b.chance
    if not b.in_order:
        return windows(b, stream) if type(b.shape) is not Tuples else stream
    b.in_order = b.one_group
    field = b.field(chance.choice(["n", "m"]))
    how = chance.choice(["sum", "min", "max", "min_by", "max_by", "reduce"])
    b.log.append(f"{how} {field}")
    streamed = keyed(b, stream)
    if how == "reduce":
        return streamed.reduce(lambda one, other: other)
    return getattr(streamed, how)(field)


def _windows(b: Builder) -> Any:
    size = b.chance.choice([1, 10, 25])
    offset = MS(b.chance.choice([0, 0, 3]) % size)
    which = b.chance.choice(["tumbling"] * 3 + ["sliding", "session"])
    if which == "session" and not b.in_order:
        # Whether sessions that touch are one depends on the watermarks between them.
        which = "sliding"
    b.log.append(f"{which} {size}")
    if which == "tumbling":
        return TumblingEventTimeWindows.of(MS(size), offset)
    if which == "sliding":
        return SlidingEventTimeWindows.of(MS(size * 2), MS(size), offset)
    return EventTimeSessionWindows.with_gap(MS(size))


def windows(b: Builder, stream: DataStream) -> DataStream:
    chance = b.chance
    if type(b.shape) is Tuples:
        return reduction(b, stream)
    windowed = keyed(b, stream).window(_windows(b))
    tagged = chance.random() < 0.3
    if tagged:
        windowed = windowed.side_output_late_data(OutputTag(f"late{len(b.side)}"))
    if chance.random() < 0.15:
        windowed = windowed.allowed_lateness(5)
    if b.in_order and b.one_split and chance.random() < 0.5:
        how, field = chance.choice(["sum", "min", "max", "min_by", "max_by"]), b.field("n")
        b.log.append(f"{how} {field} late={tagged}")
        found = getattr(windowed, how)(field)
    else:
        kinds = [Min, Max, Count] if b.rounded else [Sum, Min, Max, Mean, Count]
        drawn = [chance.choice(kinds)(f) for f in ("n", "m")]
        b.rounded |= any(isinstance(each, Mean) for each in drawn)
        b.log.append(f"{drawn} late={tagged}")
        found = windowed.aggregate(
            Aggregates(k=Max("g"), g=Min("k"), n=drawn[0], m=drawn[1], at=Max("n"), c=Count())
        )
        b.shape, b.kinds = NAMED_ROWS, False
    b.in_order = False
    if tagged:
        name = f"late{len(b.side)}"
        b.side[name] = found.get_side_output(OutputTag(name))
    return found


def join(b: Builder, stream: DataStream) -> DataStream:
    chance = b.chance
    if type(b.shape) is Tuples or b.alone:
        return stream
    b.shape = chance.choice([DICTS, NAMED_ROWS])
    b.kinds = b.shape is NAMED_ROWS and chance.random() < 0.15
    other = b.start()
    b.shape, b.kinds = NAMED_ROWS, False
    b.in_order = False
    key = chance.choice(["k", "g"])
    fields = JoinFields({"k": "k", "n": "n", "at": "n"}, {"g": "g", "m": "m", "other": "n"})
    size = chance.choice([1, 10, 25])
    joined = stream.join(other).where(key).equal_to(chance.choice(["k", "g"]))
    return joined.window(TumblingEventTimeWindows.of(MS(size))).apply(fields)


def union(b: Builder, stream: DataStream) -> DataStream:
    if b.alone:
        return stream
    b.in_order, b.rounded = False, True
    return stream.union(b.start()) if b.chance.random() < 0.5 else stream.union(stream)


def spread(b: Builder, stream: DataStream) -> DataStream:
    b.in_order = False
    how = b.chance.choice(["rebalance", "rescale", "broadcast", "global_", "forward", "shuffle"])
    b.log.append(how)
    return getattr(stream, how)()


def custom(b: Builder, stream: DataStream) -> DataStream:
    b.in_order = False
    return stream.partition_custom(lambda key, count: 0, lambda value: 1)


def filtered(b: Builder, stream: DataStream) -> DataStream:
    return stream.filter(lambda value: True)


def mapped(b: Builder, stream: DataStream) -> DataStream:
    return stream.map(lambda value: value)


def counted(b: Builder, stream: DataStream) -> DataStream:
    b.side[f"side{len(b.side)}"] = stream
    return stream


def timed(b: Builder, stream: DataStream) -> DataStream:
    return stream.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    )


STEPS = [
    *[reduction] * 5,
    *[windows] * 5,
    *[join] * 2,
    union,
    spread,
    custom,
    filtered,
    mapped,
    counted,
    timed,
]
