"""A shop as a program, for looks at its page: four sources, joins, windows and late records."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from headrace.common import Configuration, Duration, Types, WatermarkStrategy
from headrace.common.job_client import JobHandle
from headrace.common.time import Time
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    DataStream,
    KeyedCoProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream._build.execution import _build_graph
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from headrace.runners.launch import start
from headrace.runners.ui.record import JobRecord


class Stamps(TimestampAssigner):
    """The time of the ``n``th record: sources make ``per_second`` of them."""

    def __init__(self, began_ms: int, per_second: int) -> None:
        self.began_ms, self.per_second = began_ms, per_second

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        late = 9_000 if value[0] % 997 == 0 else 0
        return self.began_ms + value[0] * 1000 // self.per_second - late


class Paid(KeyedCoProcessFunction):
    """Joins an order with its payment."""

    def open(self, runtime_context: Any) -> None:
        self.order = runtime_context.get_state(
            ValueStateDescriptor("order", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element1(self, value: Any, ctx: Any) -> Any:
        self.order.update(value)
        yield from ()

    def process_element2(self, value: Any, ctx: Any) -> Any:
        order = self.order.value()
        if order is not None:
            self.order.clear()
            yield order


class Priced(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.orders = runtime_context.get_metrics_group().counter("ordersPriced")

    def map(self, value: Any) -> Any:
        self.orders.inc()
        return (*value, value[1] % 90 + 10)


def stream(
    env: StreamExecutionEnvironment, name: str, count: int | None, per_second: int, began_ms: int
) -> DataStream:
    source = DataGeneratorSource(lambda n: (n, n % 1000, n % 7), count, per_second)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2))
    strategy = strategy.with_timestamp_assigner(Stamps(began_ms, per_second))
    return env.from_source(source, strategy, name)


def discard(stream: DataStream, name: str) -> None:
    stream.sink_to(FunctionSink(len)).name(name)


def build(env: StreamExecutionEnvironment, began_ms: int, seconds: int, scale: int = 1) -> None:
    """Add the program's streams; each source ends after some seconds."""

    def of(name: str, per_second: int) -> DataStream:
        rate = per_second * scale
        return stream(env, name, rate * seconds, rate, began_ms)

    orders = of("orders", 4000).map(Priced()).name("price the order")
    payments = of("payments", 3600).filter(lambda p: p[2] != 3).name("accepted payments")
    clicks = of("clicks", 12000).filter(lambda c: c[2] != 0).name("without robots")
    visits = of("store visits", 300)
    paid = (
        orders.key_by(lambda o: o[0])
        .connect(payments.key_by(lambda p: p[0]))
        .process(Paid())
        .name("join order and payment")
        .uid("paid")
    )
    revenue = (
        paid.key_by(lambda o: o[1] % 50)
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .reduce(lambda a, b: (a[0], a[1], a[2], a[3] + b[3]))
        .name("revenue by shop, 5 s")
        .uid("revenue")
    )
    popular = (
        clicks.union(visits)
        .key_by(lambda c: c[1])
        .window(SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5)))
        .reduce(lambda a, b: (a[0] + 1, a[1], a[2]))
        .name("popular products, 10 s")
        .uid("popular")
    )
    large = revenue.filter(lambda o: o[3] > 100).name("large shops")
    both = (
        large.map(lambda o: (o[1] % 10, o[3]))
        .name("region of the shop")
        .union(popular.map(lambda c: (c[1] % 10, c[0])).name("region of the product"))
        .key_by(lambda r: r[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .name("trend by region")
        .uid("trend")
    )
    discard(revenue, "revenue table")
    discard(both, "dashboard")
    discard(paid.filter(lambda o: o[3] > 95).name("suspicious"), "alerts")


def two_hundred(env: StreamExecutionEnvironment) -> None:
    """Add ten streams of twenty operators each."""
    now_ms = time.time_ns() // 1_000_000
    for number in range(10):
        clicks = stream(env, f"source {number}", None, 200, now_ms)
        for step in range(6):
            clicks = clicks.map(lambda v: v).name(f"clean {number}.{step}")
            keyed = clicks.key_by(lambda v: v[1] % 5)
            clicks = keyed.reduce(lambda a, b: b).name(f"totals {number}.{step}")
            clicks = clicks.filter(lambda v: True).name(f"check {number}.{step}")
        discard(clicks, f"table {number}")


def start_watched(
    build: Callable[[StreamExecutionEnvironment], None], record: JobRecord, name: str
) -> JobHandle:
    """Start a job on the local runner, with its record."""
    keys = {"execution.target": "local", "headrace.ui.terminal": "off"}
    configuration = Configuration.from_dict(keys)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    build(env)
    graph = _build_graph(env._take_sinks(), configuration)
    return start(graph, configuration, name, observers=[record])
