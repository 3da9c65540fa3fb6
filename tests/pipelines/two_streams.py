"""The functions of two streams in generated programs, each beside its model.

Their results do not depend on how the two streams were interleaved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from headrace.common.typeinfo import Types
from headrace.datastream.functions import (
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
)
from headrace.datastream.state import ListStateDescriptor, MapStateDescriptor

from .functions import Record

ADDED = MapStateDescriptor("added", Types.LONG(), Types.LONG())


class Marked(CoProcessFunction):
    """Adds one to the numbers of the first stream, and ``more`` to those of the second."""

    def __init__(self, more: int) -> None:
        self.more = more

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value[0], value[1] + 1

    def process_element2(self, value: Any, ctx: Any) -> list[Any]:
        return [(value[0], value[1] + self.more)]

    def model(self, first: Sequence[Record], second: Sequence[Record]) -> list[Record]:
        """What comes of all records together."""
        return [(k, v + 1, ts) for k, v, ts in first] + [
            (k, v + self.more, ts) for k, v, ts in second
        ]


class Aged(KeyedCoProcessFunction):
    """Adds to a record's number how old the last record of the other stream was, by key."""

    def open(self, runtime_context: Any) -> None:
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting"))
        self.times = runtime_context.get_list_state(ListStateDescriptor("times", Types.LONG()))

    def process_element1(self, value: Any, ctx: Any) -> None:
        at = ctx.timestamp()
        self.waiting.put(at, [*(self.waiting.get(at) or []), value])
        ctx.timer_service().register_event_time_timer(at)

    def process_element2(self, value: Any, ctx: Any) -> None:
        self.times.add(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        since = max((at for at in self.times.get() if at <= timestamp), default=timestamp)
        self.times.update([at for at in self.times.get() if at >= since])
        for key, number in self.waiting.get(timestamp):
            yield key, number + timestamp - since
        self.waiting.remove(timestamp)

    @staticmethod
    def model(first: Sequence[Record], second: Sequence[Record]) -> list[Record]:
        """What comes of all records together."""
        times: dict[int, list[int]] = defaultdict(list)
        for key, _, ts in second:
            times[key].append(ts)
        return [
            (key, number + ts - max((at for at in times[key] if at <= ts), default=ts), ts)
            for key, number, ts in first
        ]


class Surcharged(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Adds what was broadcast up to a record's time, modulo 7."""

    def open(self, runtime_context: Any) -> None:
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting"))

    def process_element(self, value: Any, ctx: Any) -> None:
        at = ctx.timestamp()
        self.waiting.put(at, [*(self.waiting.get(at) or []), value])
        ctx.timer_service().register_event_time_timer(at)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        added, at = ctx.get_broadcast_state(ADDED), ctx.timestamp()
        added.put(at, (added.get(at) or 0) + value[1])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        amounts = ctx.get_broadcast_state(ADDED).items()
        total = sum(amount for at, amount in amounts if at <= timestamp)
        for key, number in self.waiting.get(timestamp):
            yield key, number + total % 7
        self.waiting.remove(timestamp)

    @staticmethod
    def model(first: Sequence[Record], second: Sequence[Record]) -> list[Record]:
        """What comes of all records together."""
        return [
            (key, number + sum(amount for _, amount, at in second if at <= ts) % 7, ts)
            for key, number, ts in first
        ]
