"""Functions under test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.common import Duration
from headrace.common._output_tag import OutputTag
from headrace.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ReduceFunction,
)
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)

SMALL = OutputTag("small")


class Total(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + int(value)

    def get_result(self, accumulator: int) -> str:
        return f"total {accumulator}"

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Ledger(KeyedProcessFunction):
    """Records are (account, amount): kept in every kind of state, with timers of both kinds."""

    def __init__(self) -> None:
        self.opened = self.closed = 0

    def open(self, runtime_context: Any) -> None:
        self.opened += 1
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all"))
        self.often = runtime_context.get_map_state(MapStateDescriptor("often"))
        self.most = runtime_context.get_reducing_state(ReducingStateDescriptor("most", max))
        self.total = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("total", Total())
        )
        brief = ValueStateDescriptor("brief")
        brief.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_millis(100)).build())
        self.brief = runtime_context.get_state(brief)
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def close(self) -> None:
        self.closed += 1

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        amount = value[1]
        self.seen.inc()
        self.last.update(amount)
        self.all.add(amount)
        self.often.put(amount, (self.often.get(amount) or 0) + 1)
        self.most.add(amount)
        self.total.add(amount)
        self.brief.update(amount)
        timers = ctx.timer_service()
        if ctx.timestamp() >= 0:
            timers.register_event_time_timer(ctx.timestamp() + 10)
        if amount > 1000:
            timers.register_processing_time_timer(timers.current_processing_time() + 500)
        if amount < 5:
            yield SMALL, value
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), ctx.time_domain().name, timestamp, len(list(self.all.get()))


class ReportsTime(ProcessFunction):
    """Yields the record with its time, the watermark and the clock."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        yield value, ctx.timestamp(), timers.current_watermark(), timers.current_processing_time()


class Larger(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return max(value1, value2)
