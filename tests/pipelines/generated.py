"""Programs drawn by a seed or by Hypothesis: as data, for Headrace, and as a model in plain Python.

Records are ``(key, number)`` with a timestamp. The programs do not depend on what no engine
promises: the order of records of different keys, and how finely watermarks follow. ``Order`` says
what a program may rely on; operators that need the order of a key are only put where there is one.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from headrace.common._storage.locations import file_system_of
from headrace.common.time import Duration, Time
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import AsyncDataStream, DataStream, OutputTag, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

from . import patterns
from .draws import Draws, strategy
from .functions import (
    LATE,
    ODD,
    AddInBatches,
    Ages,
    Counting,
    KeyedAddInBatches,
    OfAggregate,
    OfElements,
    OfSession,
    Record,
    Running,
    SplitOdd,
    SumAndCount,
    Sums,
    Window,
    Windowed,
    WithTimestamp,
    add,
    aligned_windows,
    gap_that_parts,
    looked_up,
    results_of_sessions,
    results_of_windows,
    twice_or_not,
)
from .jumping_clock import drawn_jumps, with_processing_times
from .log import Log, SplitLog
from .special import (
    FORMS,
    Each,
    as_float,
    exact,
    modelled_kind,
    of_kind,
    of_python,
    of_text,
    place,
    with_float,
    with_kind,
)
from .two_streams import ADDED, Aged, Marked, Surcharged

BOUND_MS = 20
_MANY = 200
"""A join of so many pairs is not joined again: pairs of pairs of pairs take their time."""


class Order(IntEnum):
    """What is certain about the order of a stream's records."""

    NONE = 0
    PER_KEY = 1
    TOTAL = 2


@dataclass
class Flow:
    """A stream while a program is built: the real one and the model's records beside each other.

    ``timely``: a batch, which sorts by time, gives the same records. ``last``: only the last record
    of each key is certain.
    """

    stream: DataStream
    records: list[Record]
    order: Order
    timely: bool = True
    last: bool = False

    def behind(self, stream: DataStream, records: list[Record], order: Order | None = None) -> Flow:
        """The flow of an operator that reads this one."""
        return Flow(stream, records, self.order if order is None else order, self.timely)

    def check(self, found: Sequence[Any], where: Any = None) -> None:
        """What a run gave is what the model says."""
        if self.last:
            expected = dict((key, exact(number)) for key, number, _ in self.records)
            assert {key: exact(number) for key, number in found} == expected, where
        else:
            counts = Counter((key, exact(number)) for key, number, _ in self.records)
            assert Counter((key, exact(number)) for key, number in found) == counts, where


@dataclass
class Built:
    """A program ready to run: streams that may be read on, those that may not, and late records."""

    flows: list[Flow] = field(default_factory=list)
    read: set[int] = field(default_factory=set)
    sealed: list[Flow] = field(default_factory=list)
    lates: list[DataStream] = field(default_factory=list)
    changes: Iterator[int] = field(default_factory=lambda: itertools.repeat(0))
    by_chance: bool = False
    """Another run may give records without a certain order in another order."""

    def keyed(self, stream: DataStream, any_order: bool = False) -> Any:
        """The stream by key, after steps without state that differ between versions.

        ``any_order``: the order of the records of a key does not matter to what follows.
        """
        change = next(self.changes)
        if change == 5 and any_order:
            stream = stream.rebalance().map(lambda value: value)
            return stream.key_by(lambda value: value[0])
        if change == 1:
            stream = stream.map(lambda value: value)
        elif change == 2:
            stream = stream.filter(lambda value: True).flat_map(lambda value: [value])
        elif change in (3, 5):  # an exchange more: what follows lies in another stage
            spread = stream.partition_custom(lambda key, count: key % count, lambda value: value[0])
            stream = spread.map(lambda value: value).set_parallelism(2)
        elif change == 4:
            stream = stream.map(lambda value: value).start_new_chain().name("another")
        return stream.key_by(lambda value: value[0])

    def add(self, flow: Flow) -> None:
        """Add a stream that may be read on."""
        self.flows.append(flow)

    def ends(self) -> dict[str, Flow]:
        """The streams that nothing reads."""
        unread = [flow for index, flow in enumerate(self.flows) if index not in self.read]
        return {f"stream {index}": flow for index, flow in enumerate([*unread, *self.sealed])}

    def streams(self) -> dict[str, DataStream]:
        """All streams to collect, by name."""
        ends = {name: flow.stream for name, flow in self.ends().items()}
        return ends | {f"late {index}": late for index, late in enumerate(self.lates)}


@dataclass(frozen=True)
class Step:
    """One operator: ``inputs`` count back from the newest stream."""

    kind: str
    inputs: tuple[int, int]
    number: int


@dataclass(frozen=True)
class Dealt:
    """How the records of a source are dealt out to its splits: by key, or in turn."""

    splits: int = 1
    by_key: bool = False

    @property
    def order(self) -> Order:
        """What is certain about the order of the records."""
        if self.splits == 1:
            return Order.TOTAL
        return Order.PER_KEY if self.by_key else Order.NONE

    def of(self, records: Sequence[Record]) -> tuple[tuple[Record, ...], ...]:
        """The records of each split, in their order."""
        places = [
            int(record[0]) if self.by_key else number for number, record in enumerate(records)
        ]
        return tuple(
            tuple(
                record
                for record, place in zip(records, places, strict=True)
                if place % self.splits == split
            )
            for split in range(self.splits)
        )


@dataclass(frozen=True)
class Program:
    """Sources (records in the order of their arrival) and steps.

    ``dealt``: the splits of each source. One of a single split is a collection.
    """

    sources: tuple[tuple[Record, ...], ...]
    steps: tuple[Step, ...]
    dealt: tuple[Dealt, ...] = ()

    def build(
        self,
        env: StreamExecutionEnvironment,
        changes: Sequence[int] = (),
        stops: Sequence[int | None] = (),
        folder: str | None = None,
    ) -> Built:
        """The program in an environment, and in the model.

        ``changes``: what stands before each operator with state, in turn (see ``Built.keyed``).
        ``stops``: where the sources stop, in turn; then they are logs of one split.
        ``folder``: its sources are the files there (see ``write``), each of them a split.
        """
        bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))
        strategy = bounded.with_timestamp_assigner(lambda value: value[2])
        by_line = bounded.with_timestamp_assigner(lambda line: of_text(line)[2])
        built = Built(changes=itertools.cycle(changes or [0]))
        nowhere = WatermarkStrategy.no_watermarks()
        for number, records in enumerate(self.sources):
            dealt = self.dealt[number] if self.dealt and not stops else Dealt()
            if folder is not None:
                lines = FileSource.for_record_stream_format(
                    StreamFormat.text_line_format(), _input_of(folder, number)
                )
                stream = env.from_source(lines.build(), by_line, "files").map(of_text)
            elif dealt.splits > 1:
                stream = env.from_source(SplitLog(dealt.of(records)), strategy, "splits")
            else:
                if stops:
                    log = Log(records, stops[number % len(stops)])
                    source = env.from_source(log, nowhere, "log")
                else:
                    source = env.from_collection(list(records))
                stream = source.assign_timestamps_and_watermarks(strategy)
            stream = stream.map(lambda value: (value[0], value[1]))
            built.add(Flow(stream, list(records), dealt.order))
        for step in self.steps:
            count = len(built.flows)
            first, second = (count - 1 - index % count for index in step.inputs)
            built.read.add(first)
            if step.kind in _OF_TWO:
                built.read.add(second)
            _STEPS[step.kind](built, built.flows[first], built.flows[second], step.number)
        return built

    def write(self, folder: str) -> None:
        """Write each split of each source to a file, a line for a record."""
        for number, records in enumerate(self.sources):
            dealt = self.dealt[number] if self.dealt else Dealt()
            for split, of_split in enumerate(dealt.of(records)):
                path = f"{_input_of(folder, number)}/{split}.txt"
                text = "".join(f"{record!r}\n" for record in of_split)
                file_system_of(path).replace(path, text.encode())


def _input_of(folder: str, source: int) -> str:
    return f"{folder}/source-{source}"


def _map(built: Built, flow: Flow, _: Flow, number: int) -> None:
    stream = flow.stream.map(lambda value: (value[0], value[1] + number))
    built.add(flow.behind(stream, [(k, v + number, ts) for k, v, ts in flow.records]))


def _rekey(built: Built, flow: Flow, _: Flow, number: int) -> None:
    keys = number % 4 + 1
    stream = flow.stream.map(lambda value: ((value[0] + value[1]) % keys, value[1]))
    records = [((k + v) % keys, v, ts) for k, v, ts in flow.records]
    order = flow.order if flow.order is Order.TOTAL else Order.NONE
    built.add(flow.behind(stream, records, order))


def _filter(built: Built, flow: Flow, _: Flow, number: int) -> None:
    stream = flow.stream.filter(lambda value: value[1] % 3 != number % 3)
    built.add(flow.behind(stream, [r for r in flow.records if r[1] % 3 != number % 3]))


def _flat_map(built: Built, flow: Flow, _: Flow, number: int) -> None:
    records = [(k, v, ts) for *pair, ts in flow.records for k, v in twice_or_not(pair)]
    built.add(flow.behind(flow.stream.flat_map(twice_or_not), records))


def _async(built: Built, flow: Flow, _: Flow, number: int) -> None:
    how = (
        AsyncDataStream.ordered_wait
        if flow.order is not Order.NONE
        else AsyncDataStream.unordered_wait
    )
    built.by_chance = True
    stream = how(flow.stream, looked_up, Duration.of_seconds(60), capacity=number % 4 + 1)
    built.add(flow.behind(stream, [(k, v + 1, ts) for k, v, ts in flow.records]))


def _batches(built: Built, flow: Flow, _: Flow, number: int) -> None:
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    options: Any = {"output_type": pair, "input_type": pair, "batch_size": number % 4 + 1}
    plain = flow.stream.map(lambda value: (int(value[0]), value[1]))  # no bool is a LONG
    if number % 3:
        stream, order = plain.map_batches(AddInBatches(number), **options), flow.order
    else:
        keyed = built.keyed(plain)
        stream = keyed.map_batches(KeyedAddInBatches(number), **options)
        order = min(flow.order, Order.PER_KEY)
    records = [(k, v + number, ts) for k, v, ts in flow.records]
    built.add(flow.behind(stream, records, order))


def _counting(built: Built, flow: Flow, _: Flow, number: int) -> None:
    parallelism = number % 3 + 1
    counted = flow.stream.map(Counting()).set_parallelism(parallelism)
    order = min(flow.order, Order.PER_KEY) if parallelism == 1 else Order.NONE
    built.add(flow.behind(counted, flow.records, order))


def _split(built: Built, flow: Flow, _: Flow, number: int) -> None:
    stream = flow.stream.process(SplitOdd())
    built.add(flow.behind(stream, [r for r in flow.records if r[1] % 2 == 0]))
    aside = stream.get_side_output(ODD)
    built.add(flow.behind(aside, [r for r in flow.records if r[1] % 2]))


def _union(built: Built, flow: Flow, other: Flow, number: int) -> None:
    timely = flow.timely and other.timely
    records = flow.records + other.records
    built.add(Flow(flow.stream.union(other.stream), records, Order.NONE, timely))


def _co_process(built: Built, flow: Flow, other: Flow, number: int) -> None:
    function = Marked(number)
    stream = flow.stream.connect(other.stream).process(function)
    records = function.model(flow.records, other.records)
    built.add(Flow(stream, records, Order.NONE, flow.timely and other.timely))


def _keyed_co_process(built: Built, flow: Flow, other: Flow, number: int) -> None:
    connected = built.keyed(flow.stream).connect(built.keyed(other.stream))
    records = Aged.model(flow.records, other.records)
    built.add(Flow(connected.process(Aged()), records, Order.NONE, flow.timely and other.timely))


def _interval_join(built: Built, flow: Flow, other: Flow, number: int) -> None:
    lower, upper = number % 5 - 4, number % 3 * 3
    left, right = (built.keyed(each.stream, any_order=True) for each in (flow, other))
    tags = OutputTag("late left"), OutputTag("late right")
    join = left.interval_join(right).between(Time.milliseconds(lower), Time.milliseconds(upper))
    join = join.side_output_left_late_data(tags[0]).side_output_right_late_data(tags[1])
    stream = join.process(Sums())
    built.lates += (stream.get_side_output(tag) for tag in tags)
    records = [
        (key, value + amount, max(ts, at))
        for key, value, ts in flow.records
        for own, amount, at in other.records
        if key == own and lower <= at - ts <= upper
    ]
    made = Flow(stream, records, Order.NONE, flow.timely and other.timely)
    if len(records) < _MANY:
        built.add(made)
    else:
        built.sealed.append(made)


def _as_of_join(built: Built, flow: Flow, other: Flow, number: int) -> None:
    left, right = (built.keyed(each.stream, any_order=True) for each in (flow, other))
    tolerance, exact = (None, 5, 20)[number % 3], number % 2 == 0
    join = left.as_of_join(right, tolerance=tolerance, allow_exact_matches=exact)
    stream = join.side_output_late_data(LATE).process(Ages())
    built.lates.append(stream.get_side_output(LATE))
    records = []
    for key, value, ts in flow.records:
        # Which record of one moment came last is not promised, so only its age counts.
        ages = [ts - at for own, _, at in other.records if own == key and at <= ts - (not exact)]
        age = min(ages, default=None)
        known = age is not None and (tolerance is None or age <= tolerance)
        records.append((key, value + age if known else value - 1, ts))
    built.add(Flow(stream, records, Order.NONE, flow.timely and other.timely))


def _keyed_broadcast(built: Built, flow: Flow, other: Flow, number: int) -> None:
    connected = built.keyed(flow.stream).connect(other.stream.broadcast(ADDED))
    records = Surcharged.model(flow.records, other.records)
    # In a batch all that is broadcast comes first, but here it is found by its time.
    built.add(
        Flow(connected.process(Surcharged()), records, Order.NONE, flow.timely and other.timely)
    )


def _rebalance(built: Built, flow: Flow, _: Flow, number: int) -> None:
    stream = flow.stream.rebalance().map(lambda value: value).set_parallelism(number % 3 + 1)
    built.add(flow.behind(stream, flow.records, Order.NONE))


def _partition(built: Built, flow: Flow, _: Flow, number: int) -> None:
    parted = flow.stream.partition_custom(lambda key, count: (key + number) % count, 0)
    stream = parted.map(lambda value: value).set_parallelism(number % 3 + 1)
    built.add(flow.behind(stream, flow.records, min(flow.order, Order.PER_KEY)))


def _window(built: Built, flow: Flow, _: Flow, number: int) -> None:
    function = Windowed(size_ms=number % 4 * 7 + 5, lag_ms=number % 5 + 1)
    stream = built.keyed(flow.stream, any_order=True).process(function)
    built.lates.append(stream.get_side_output(LATE))
    built.add(flow.behind(stream, function.model(flow.records), Order.PER_KEY))


def _aligned(built: Built, flow: Flow, _: Flow, number: int) -> None:
    """Tumbling or sliding windows, whose state is kept for a while or not; some in two phases."""
    size = number % 4 * 7 + 6
    slide = (size, size // 2, size // 3 + 1)[number % 3]
    offset = number % 2
    assigner: Any = SlidingEventTimeWindows.of(size, slide, offset)
    if slide == size:
        assigner = TumblingEventTimeWindows.of(size, offset)
    keyed = built.keyed(flow.stream, any_order=True)
    windows = keyed.window(assigner)
    in_two_phases = number % 2 == 1 and number > 4
    if not in_two_phases:
        windows = windows.allowed_lateness(number % 5 * 4).side_output_late_data(LATE)
    if number % 2:
        stream = windows.aggregate(SumAndCount(), OfAggregate())
    else:
        stream = windows.process(OfElements())
    if not in_two_phases:
        built.lates.append(stream.get_side_output(LATE))

    def of(ts: int) -> list[Window]:
        found = aligned_windows(ts - offset, size, slide)
        return [(start + offset, end + offset) for start, end in found]

    built.add(flow.behind(stream, results_of_windows(flow.records, of), Order.PER_KEY))


def _session(built: Built, flow: Flow, _: Flow, number: int) -> None:
    gap = gap_that_parts(flow.records, number % 4 * 9 + 2)
    keyed = built.keyed(flow.stream, any_order=True)
    windows = keyed.window(EventTimeSessionWindows.with_gap(gap)).side_output_late_data(LATE)
    stream = windows.aggregate(SumAndCount(), OfSession())
    built.lates.append(stream.get_side_output(LATE))
    built.add(flow.behind(stream, results_of_sessions(flow.records, gap), Order.PER_KEY))


def _pattern(built: Built, flow: Flow, _: Flow, number: int) -> None:
    """Matches, and partial matches that are over."""
    kind, limit_ms = number % patterns.KINDS, number // patterns.KINDS * 5 + 7
    stream = patterns.found(built.keyed(flow.stream, any_order=True), kind, limit_ms)
    built.lates.append(stream.get_side_output(LATE))
    records = patterns.model(flow.records, kind, limit_ms)
    both = stream.union(stream.get_side_output(patterns.OVER))
    built.add(flow.behind(both, records, Order.NONE))


def _count(built: Built, flow: Flow, _: Flow, number: int) -> None:
    """Windows that count, where the order within a key is certain; else they hold one record."""
    size = 1 if flow.order is Order.NONE else number % 3 + 1
    slide = number % size + 1
    keyed = built.keyed(flow.stream, any_order=size == 1)
    stream = keyed.count_window(size, slide).reduce(add)
    numbers: dict[int, list[int]] = {}
    for key, value, _ts in flow.records:
        numbers.setdefault(key, []).append(value)
    records = [
        (key, sum(values[start : start + size]), 0)
        for key, values in numbers.items()
        for start in range(0, len(values) - size + 1, slide)
    ]
    # a batch sorts by time first; and results have no time that another window could take
    order = min(flow.order, Order.PER_KEY)
    built.sealed.append(Flow(stream, records, order, flow.timely and size == 1))


def _panes(built: Built, flow: Flow, _: Flow, number: int) -> None:
    """Windows that purge when they fire, under watermarks that some records are late for.

    Which ones are late is not certain, but each record is in one pane, or in the late output.
    They are those of the first source, whose watermarks are made anew in its own tasks.
    """
    flow = built.flows[0]
    timed = flow.stream.process(WithTimestamp()).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v[2])
    )
    keyed = built.keyed(timed, any_order=True)
    windows = keyed.window(TumblingEventTimeWindows.of(number % 3 * 5 + 3))
    windows = windows.trigger(PurgingTrigger.of(EventTimeTrigger()))
    windows = windows.allowed_lateness(number % 4 * 3).side_output_late_data(LATE)
    panes = windows.reduce(lambda one, other: (one[0], one[1] + other[1], 0))
    stream = panes.union(panes.get_side_output(LATE)).key_by(lambda value: value[0]).sum(1)
    totals: dict[int, int] = {}
    for key, value, _ts in flow.records:
        totals[key] = totals.get(key, 0) + value
    records = [(key, total, 0) for key, total in totals.items()]
    stream = stream.map(lambda value: (value[0], value[1]))
    built.sealed.append(Flow(stream, records, Order.PER_KEY, flow.timely, last=True))


def _running(built: Built, flow: Flow, _: Flow, number: int) -> None:
    function = Running(number % Running.KINDS)
    records = flow.records
    if flow.order is Order.NONE:
        # one result per key whatever the order: the number of its records
        keyed = built.keyed(flow.stream.map(lambda value: (value[0], 1)), any_order=True)
        function, records = Running(1), [(k, 1, ts) for k, _, ts in records]
    else:
        keyed = built.keyed(flow.stream)
    stream = keyed.process(function)
    built.lates.append(stream.get_side_output(LATE))
    made = flow.behind(stream, function.model(records), Order.PER_KEY)
    made.timely = False
    if flow.order is Order.NONE:
        made.last = True
        built.sealed.append(made)
    else:
        built.add(made)


def _clocked(built: Built, flow: Flow, _: Flow, number: int) -> None:
    """Timers of processing time, which give nothing: only that time does not go back."""
    stream, went_back = with_processing_times(built.keyed(flow.stream))
    built.lates.append(went_back)
    built.add(flow.behind(stream, flow.records, min(flow.order, Order.PER_KEY)))


def _reduce(built: Built, flow: Flow, _: Flow, number: int) -> None:
    keyed = built.keyed(flow.stream, any_order=True)
    stream = keyed.sum(1) if number % 2 else keyed.reduce(add)
    totals: dict[int, int] = {}
    for key, value, _ts in flow.records:
        totals[key] = totals.get(key, 0) + value
    # how many totals are emitted differs between a stream and a batch, so nothing may read them
    records = [(key, total, 0) for key, total in totals.items()]
    built.sealed.append(Flow(stream, records, Order.PER_KEY, flow.timely, last=True))


def _floats(built: Built, flow: Flow, _: Flow, number: int) -> None:
    """Floats of every kind in the state of windows."""
    keyed = built.keyed(flow.stream.map(with_float), any_order=True)
    stream = keyed.window(TumblingEventTimeWindows.of(number % 4 * 7 + 5)).process(Each())
    records: list[Any] = [(k, as_float(v), ts) for k, v, ts in flow.records]
    built.sealed.append(flow.behind(stream, records))


def _extremes(built: Built, flow: Flow, _: Flow, number: int) -> None:
    """The least and the greatest float of each key."""
    keyed = built.keyed(flow.stream.map(with_float), any_order=True)
    stream = keyed.max(1) if number % 2 else keyed.min(1)
    found: dict[int, list[float]] = {}
    for key, value, _ts in flow.records:
        found.setdefault(key, []).append(as_float(value))
    extreme = max if number % 2 else min
    records: list[Any] = [(key, extreme(floats, key=place), 0) for key, floats in found.items()]
    built.sealed.append(Flow(stream, records, Order.PER_KEY, flow.timely, last=True))


def _kinds(built: Built, flow: Flow, _: Flow, number: int) -> None:
    """Rows of every kind, sent to other tasks."""
    rows = flow.stream.map(with_kind)
    parted = rows.partition_custom(lambda key, count: (key + number) % count, lambda row: row[0])
    stream = parted.map(of_kind).set_parallelism(number % 3 + 1)
    records = [(k, modelled_kind(v), ts) for k, v, ts in flow.records]
    built.add(flow.behind(stream, records, min(flow.order, Order.PER_KEY)))


_OF_TWO = (
    "union",
    "co_process",
    "keyed_co_process",
    "interval_join",
    "as_of_join",
    "keyed_broadcast",
)
_STEPS: dict[str, Callable[[Built, Flow, Flow, int], None]] = {
    "map": _map,
    "rekey": _rekey,
    "filter": _filter,
    "flat_map": _flat_map,
    "async": _async,
    "batches": _batches,
    "counting": _counting,
    "split": _split,
    "union": _union,
    "co_process": _co_process,
    "keyed_co_process": _keyed_co_process,
    "keyed_broadcast": _keyed_broadcast,
    "interval_join": _interval_join,
    "as_of_join": _as_of_join,
    "rebalance": _rebalance,
    "partition": _partition,
    "window": _window,
    "aligned": _aligned,
    "session": _session,
    "pattern": _pattern,
    "count": _count,
    "panes": _panes,
    "running": _running,
    "reduce": _reduce,
    "clocked": _clocked,
    "floats": _floats,
    "extremes": _extremes,
    "kinds": _kinds,
}


KINDS_OF_STEP = [*_STEPS, "window", "aligned", "session", "running", "pattern", *_OF_TWO[2:]]
"""Those with state, and those of two inputs, are twice as likely."""


def drawn_records(draws: Draws) -> tuple[Record, ...]:
    """Records that are at most ``BOUND_MS`` out of order; keys may have several forms."""
    forms = draws.choice([(of_python,), FORMS])
    now = 1_000

    def record(draws: Draws) -> Record:
        nonlocal now
        key = draws.choice(forms)(draws.integer(0, 4))
        number = draws.integer(0, 30)
        now += draws.integer(0, 15)
        return key, number, now - draws.integer(0, BOUND_MS)

    return tuple(draws.several(record, 1, 30))


def drawn_dealt(draws: Draws) -> Dealt:
    """How a source's records are dealt out; every other one has a single split."""
    return Dealt(draws.choice([1, 1, 2, 3]), draws.choice([False, True]))


def drawn_step(draws: Draws) -> Step:
    """Any step."""
    kind = draws.choice(KINDS_OF_STEP)
    return Step(kind, (draws.integer(0, 4), draws.integer(0, 4)), draws.integer(0, 11))


def drawn_program(draws: Draws) -> Program:
    """Any program."""
    sources = draws.several(lambda draws: (drawn_records(draws), drawn_dealt(draws)), 1, 3)
    steps = draws.several(drawn_step, 3, 8)
    return Program(
        tuple(records for records, _ in sources), tuple(steps), tuple(dealt for _, dealt in sources)
    )


programs = strategy(drawn_program)
clocks = strategy(drawn_jumps)
