"""Programs drawn by Hypothesis: as data, as a Headrace program, and as a model in plain Python.

Records are ``(key, number)`` with a timestamp. The programs do not depend on what no engine
promises: the order of records of different keys, and how finely watermarks follow. ``Order`` says
what a program may rely on; operators that need the order of a key are only put where there is one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from hypothesis import strategies as st

from headrace.common.time import Duration
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.runtime.user_function import UserFunction
from tests.operators.comap import CoMapSpec
from tests.operators.connecting import broadcast, connected
from tests.operators.enrich import EnrichSpec
from tests.operators.rules import SurchargeSpec

from .functions import (
    LATE,
    ODD,
    AddInBatches,
    Counting,
    KeyedAddInBatches,
    Record,
    Running,
    SplitOdd,
    Windowed,
    add,
    twice_or_not,
)

BOUND_MS = 20


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


@dataclass
class Built:
    """A program ready to run: streams that may be read on, those that may not, and late records."""

    flows: list[Flow] = field(default_factory=list)
    read: set[int] = field(default_factory=set)
    sealed: list[Flow] = field(default_factory=list)
    lates: list[DataStream] = field(default_factory=list)
    changes: Iterator[int] = field(default_factory=lambda: itertools.repeat(0))

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
class Program:
    """Sources (records in the order of their arrival) and steps."""

    sources: tuple[tuple[Record, ...], ...]
    steps: tuple[Step, ...]

    def build(self, env: StreamExecutionEnvironment, changes: Sequence[int] = ()) -> Built:
        """The program in an environment, and in the model.

        ``changes``: what stands before each operator with state, in turn (see ``Built.keyed``).
        """
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(
            Duration.of_millis(BOUND_MS)
        ).with_timestamp_assigner(lambda value: value[2])
        built = Built(changes=itertools.cycle(changes or [0]))
        for records in self.sources:
            stream = (
                env.from_collection(list(records))
                .assign_timestamps_and_watermarks(strategy)
                .map(lambda value: (value[0], value[1]))
            )
            built.add(Flow(stream, list(records), Order.TOTAL))
        for step in self.steps:
            count = len(built.flows)
            first, second = (count - 1 - index % count for index in step.inputs)
            built.read.add(first)
            if step.kind in _OF_TWO:
                built.read.add(second)
            _STEPS[step.kind](built, built.flows[first], built.flows[second], step.number)
        return built


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


def _batches(built: Built, flow: Flow, _: Flow, number: int) -> None:
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    options: Any = {"output_type": pair, "input_type": pair, "batch_size": number % 4 + 1}
    if number % 3:
        stream, order = flow.stream.map_batches(AddInBatches(number), **options), flow.order
    else:
        keyed = built.keyed(flow.stream)
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


def _comap(built: Built, flow: Flow, other: Flow, number: int) -> None:
    spec = CoMapSpec(
        UserFunction(lambda value, seen, times: (value[0], value[1] + 1)),
        UserFunction(lambda value, seen, times: (value[0], value[1] + number)),
    )
    records = [(k, v + 1, ts) for k, v, ts in flow.records]
    records += [(k, v + number, ts) for k, v, ts in other.records]
    stream = connected(spec, flow.stream, other.stream)
    built.add(Flow(stream, records, Order.NONE, flow.timely and other.timely))


def _enrich(built: Built, flow: Flow, other: Flow, number: int) -> None:
    spec = EnrichSpec(UserFunction(lambda value, fact, age_ms: (value[0], value[1] + age_ms)))
    times: dict[int, list[int]] = {}
    for key, _, ts in other.records:
        times.setdefault(key, []).append(ts)
    records = []
    for key, value, ts in flow.records:
        since = max((at for at in times.get(key, ()) if at <= ts), default=ts)
        records.append((key, value + ts - since, ts))
    stream = connected(spec, built.keyed(flow.stream), built.keyed(other.stream))
    built.add(Flow(stream, records, Order.NONE, flow.timely and other.timely))


def _surcharge(built: Built, flow: Flow, other: Flow, number: int) -> None:
    records = []
    for key, value, ts in flow.records:
        total = sum(amount for _, amount, at in other.records if at <= ts)
        records.append((key, value + total % 7, ts))
    stream = connected(SurchargeSpec(), built.keyed(flow.stream), broadcast(other.stream))
    # In a batch all that is broadcast comes first, but here it is told by its time.
    built.add(Flow(stream, records, Order.NONE, flow.timely and other.timely))


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


def _reduce(built: Built, flow: Flow, _: Flow, number: int) -> None:
    keyed = built.keyed(flow.stream, any_order=True)
    stream = keyed.sum(1) if number % 2 else keyed.reduce(add)
    totals: dict[int, int] = {}
    for key, value, _ts in flow.records:
        totals[key] = totals.get(key, 0) + value
    # how many totals are emitted differs between a stream and a batch, so nothing may read them
    records = [(key, total, 0) for key, total in totals.items()]
    built.sealed.append(Flow(stream, records, Order.PER_KEY, flow.timely, last=True))


_OF_TWO = ("union", "comap", "enrich", "surcharge")
_STEPS: dict[str, Callable[[Built, Flow, Flow, int], None]] = {
    "map": _map,
    "rekey": _rekey,
    "filter": _filter,
    "flat_map": _flat_map,
    "batches": _batches,
    "counting": _counting,
    "split": _split,
    "union": _union,
    "comap": _comap,
    "enrich": _enrich,
    "surcharge": _surcharge,
    "rebalance": _rebalance,
    "partition": _partition,
    "window": _window,
    "running": _running,
    "reduce": _reduce,
}


@st.composite
def records(draw: Any) -> tuple[Record, ...]:
    """Records that are at most ``BOUND_MS`` out of order."""
    pieces = draw(
        st.lists(
            st.tuples(
                st.integers(0, 4), st.integers(0, 30), st.integers(0, 15), st.integers(0, BOUND_MS)
            ),
            min_size=6,
            max_size=30,
        )
    )
    now, made = 1_000, []
    for key, number, step, back in pieces:
        now += step
        made.append((key, number, now - back))
    return tuple(made)


steps = st.builds(
    Step,
    st.sampled_from([*_STEPS, "window", "window", "running", "enrich", "surcharge"]),
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
    st.integers(0, 11),
)
programs = st.builds(
    Program,
    st.lists(records(), min_size=1, max_size=3).map(tuple),
    st.lists(steps, min_size=3, max_size=8).map(tuple),
)
