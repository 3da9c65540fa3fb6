"""The jobs of ``bench.two_streams`` as programs of the DataStream API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench import workload
from bench.jobs import Api
from bench.two_streams import DISORDER_MS, REACH_MS, RULES, Pair, rule

_CLEAR_EVERY_MS = 2 * REACH_MS


def timed(api: Api, stream: Any) -> Any:
    """The stream with its third field as event time, up to 5 s out of order."""

    class Times(api.common.watermark_strategy.TimestampAssigner):  # type: ignore[misc,name-defined]
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            time_ms: int = value[2]
            return time_ms

    disorder = api.common.Duration.of_millis(DISORDER_MS)
    strategy = api.common.WatermarkStrategy.for_bounded_out_of_orderness(disorder)
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Times()))


def _by_key(api: Api, stream: Any) -> Any:
    return stream.key_by(lambda record: record[0], api.long())


def interval_join(api: Api, left: Any, right: Any) -> Any:
    """The pairs by ``interval_join``, which PyFlink does not have."""
    time = api.common.Time.milliseconds

    class Pairs(api.datastream.ProcessJoinFunction):  # type: ignore[misc,name-defined]
        def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
            yield left[0], left[1] + right[1], right[2] - left[2]

    sides = [_by_key(api, timed(api, side)) for side in (left, right)]
    return (
        sides[0].interval_join(sides[1]).between(time(-REACH_MS), time(REACH_MS)).process(Pairs())
    )


def join_by_hand(api: Api, left: Any, right: Any, buffers: str = "list") -> Any:
    """The pairs by a ``KeyedCoProcessFunction`` that keeps what it has seen of both sides.

    ``buffers``: ``list``, whose timers for a key are put together every 10 s; or ``map``, by time
    and with a timer for each record, as Flink's own join in Java.
    """
    function = {"list": _lists, "map": _maps}[buffers](api)
    connected = timed(api, left).connect(timed(api, right))
    keyed = connected.key_by(lambda record: record[0], lambda record: record[0], api.long())
    return keyed.process(function, api.longs(3))


def _lists(api: Api) -> Any:
    pair, descriptor = api.longs(2), api.state.ListStateDescriptor

    class InLists(api.datastream.KeyedCoProcessFunction):  # type: ignore[misc,name-defined]
        def open(self, runtime_context: Any) -> None:
            self.left = runtime_context.get_list_state(descriptor("left", pair))
            self.right = runtime_context.get_list_state(descriptor("right", pair))

        def process_element1(self, record: Any, ctx: Any) -> Iterator[Pair]:
            key, value, time_ms = record
            for other, other_ms in self.right.get() or ():
                if -REACH_MS <= other_ms - time_ms <= REACH_MS:
                    yield key, value + other, other_ms - time_ms
            self.left.add((value, time_ms))
            self._clear_later(time_ms, ctx)

        def process_element2(self, record: Any, ctx: Any) -> Iterator[Pair]:
            key, value, time_ms = record
            for other, other_ms in self.left.get() or ():
                if -REACH_MS <= time_ms - other_ms <= REACH_MS:
                    yield key, value + other, time_ms - other_ms
            self.right.add((value, time_ms))
            self._clear_later(time_ms, ctx)

        def _clear_later(self, time_ms: int, ctx: Any) -> None:
            due_ms = time_ms + REACH_MS + _CLEAR_EVERY_MS
            ctx.timer_service().register_event_time_timer(due_ms - due_ms % _CLEAR_EVERY_MS)

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Pair]:
            for state in (self.left, self.right):
                found = list(state.get() or ())
                young = [each for each in found if each[1] + REACH_MS >= timestamp]
                if not young:
                    state.clear()
                elif len(young) < len(found):
                    state.update(young)
            yield from ()

    return InLists()


def _maps(api: Api) -> Any:
    types, descriptor = api.common.Types, api.state.MapStateDescriptor
    values = types.LIST(types.LONG()) if api.typed else None

    class InMaps(api.datastream.KeyedCoProcessFunction):  # type: ignore[misc,name-defined]
        def open(self, runtime_context: Any) -> None:
            self.left = runtime_context.get_map_state(descriptor("left", api.long(), values))
            self.right = runtime_context.get_map_state(descriptor("right", api.long(), values))

        def process_element1(self, record: Any, ctx: Any) -> Iterator[Pair]:
            key, value, time_ms = record
            for other_ms, others in self.right.items():
                if -REACH_MS <= other_ms - time_ms <= REACH_MS:
                    for other in others:
                        yield key, value + other, other_ms - time_ms
            self._keep(self.left, value, time_ms, ctx)

        def process_element2(self, record: Any, ctx: Any) -> Iterator[Pair]:
            key, value, time_ms = record
            for other_ms, others in self.left.items():
                if -REACH_MS <= time_ms - other_ms <= REACH_MS:
                    for other in others:
                        yield key, value + other, time_ms - other_ms
            self._keep(self.right, value, time_ms, ctx)

        def _keep(self, state: Any, value: int, time_ms: int, ctx: Any) -> None:
            state.put(time_ms, [*(state.get(time_ms) or ()), value])
            ctx.timer_service().register_event_time_timer(time_ms + REACH_MS)

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Pair]:
            self.left.remove(timestamp - REACH_MS)
            self.right.remove(timestamp - REACH_MS)
            yield from ()

    return InMaps()


def summed(api: Api, records: Any, rules: Any | None) -> Any:
    """The sums under rules that are broadcast, or (None) lie in the function."""
    pair, every = api.longs(2), workload.OUTPUT_EVERY
    factors = dict(map(rule, range(RULES)))
    state_of, map_of = api.state.ValueStateDescriptor, api.state.MapStateDescriptor
    of_rules = map_of("rules", api.long(), api.long())

    class Constant(api.datastream.KeyedProcessFunction):  # type: ignore[misc,name-defined]
        def open(self, runtime_context: Any) -> None:
            self.state = runtime_context.get_state(state_of("count and sum", pair))

        def process_element(self, record: Any, ctx: Any) -> Any:
            key, value = record[0], record[1]
            count, total = self.state.value() or (0, 0)
            count, total = count + 1, total + value * factors[value % RULES]
            self.state.update((count, total))
            if (key + count) % every == 0:
                yield key, count, total

    class Broadcast(api.datastream.KeyedBroadcastProcessFunction):  # type: ignore[misc,name-defined]
        def open(self, runtime_context: Any) -> None:
            self.state = runtime_context.get_state(state_of("count and sum", pair))

        def process_element(self, record: Any, ctx: Any) -> Any:
            key, value = record[0], record[1]
            count, total = self.state.value() or (0, 0)
            # A rule that is not there yet is None: the run then fails.
            factor = ctx.get_broadcast_state(of_rules).get(value % RULES)
            count, total = count + 1, total + value * factor
            self.state.update((count, total))
            if (key + count) % every == 0:
                yield key, count, total

        def process_broadcast_element(self, record: Any, ctx: Any) -> None:
            ctx.get_broadcast_state(of_rules).put(*record)

    keyed = _by_key(api, records)
    if rules is None:
        return keyed.process(Constant(), api.longs(3))
    return keyed.connect(rules.broadcast(of_rules)).process(Broadcast(), api.longs(3))
