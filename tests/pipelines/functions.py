"""The functions of generated programs, each beside its model: the same in plain Python."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, pairwise
from typing import Any

import pyarrow.compute as pc

from headrace.common._output_tag import OutputTag
from headrace.common.typeinfo import Types
from headrace.datastream.functions import (
    AggregateFunction,
    CheckpointedFunction,
    KeyedMapBatchesFunction,
    KeyedProcessFunction,
    MapBatchesFunction,
    MapFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
)
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

Record = tuple[int, int, int]
"""Key, number, timestamp (ms)."""

ODD = OutputTag("odd")
LATE = OutputTag("late")
NUMBERS = Types.PICKLED_BYTE_ARRAY()


def twice_or_not(value: Sequence[int]) -> list[tuple[int, int]]:
    """Two records for an even number, none for each fifth, else one."""
    key, number = value
    if number % 5 == 0:
        return []
    return [(key, number), (key, number + 10)] if number % 2 == 0 else [(key, number)]


async def looked_up(value: tuple[int, int]) -> tuple[int, int]:
    """The record with one more; those of odd numbers come later."""
    for _ in range(value[1] % 2):
        await asyncio.sleep(0)
    return value[0], value[1] + 1


def add(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    """The numbers of two records added."""
    return first[0], first[1] + second[1]


class SplitOdd(ProcessFunction):
    """Odd numbers go to a side output."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value[1] % 2:
            yield ODD, value
        else:
            yield value


class Sums(ProcessJoinFunction):
    """The numbers of a pair added."""

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left[0], left[1] + right[1]


class Ages(ProcessJoinFunction):
    """How old the right record is, added to the left one; -1 where there is none."""

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        known_ms = ctx.get_right_timestamp()
        age_ms = -1 if known_ms is None else ctx.get_left_timestamp() - known_ms
        yield left[0], left[1] + age_ms


class WithTimestamp(ProcessFunction):
    """The record's timestamp becomes its third field."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield (*value, ctx.timestamp())


def is_late(ctx: Any) -> bool:
    """True when event time is past the record; nothing is late in these programs."""
    return bool(ctx.timestamp() <= ctx.timer_service().current_watermark())


class Windowed(KeyedProcessFunction):
    """Sums per window by timers, and an echo of each by a timer that a timer sets.

    A result depends on the window's content and on how many windows of the key came before it, so
    a timer lost, fired twice or out of turn is seen.
    """

    def __init__(self, size_ms: int, lag_ms: int) -> None:
        self.size_ms = size_ms
        self.lag_ms = lag_ms

    def open(self, runtime_context: Any) -> None:
        self.totals = runtime_context.get_map_state(MapStateDescriptor("totals", NUMBERS, NUMBERS))
        self.members = runtime_context.get_list_state(ListStateDescriptor("members", NUMBERS))
        self.echoes = runtime_context.get_map_state(MapStateDescriptor("echoes", NUMBERS, NUMBERS))
        self.fired = runtime_context.get_state(ValueStateDescriptor("fired", NUMBERS))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if is_late(ctx):
            yield LATE, (value, ctx.timestamp(), ctx.timer_service().current_watermark())
        timestamp, timers = ctx.timestamp(), ctx.timer_service()
        end = timestamp - timestamp % self.size_ms + self.size_ms
        self.totals[end] = (self.totals.get(end) or 0) + value[1]
        self.members.add((end, value[1]))
        timers.register_event_time_timer(end + 100_000)
        timers.register_event_time_timer(end - 1)
        timers.delete_event_time_timer(end + 100_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        end, key = timestamp + 1, ctx.get_current_key()
        if self.totals.contains(end):
            members = list(self.members.get())
            mine = [number for at, number in members if at == end]
            assert self.totals.get(end) == sum(mine)
            self.totals.remove(end)
            self.members.update([member for member in members if member[0] != end])
            fired = (self.fired.value() or 0) + 1
            self.fired.update(fired)
            result = _result(mine, fired)
            self.echoes.put(timestamp + self.lag_ms, result)
            ctx.timer_service().register_event_time_timer(timestamp + self.lag_ms)
            yield key, result
        if self.echoes.contains(timestamp):
            result = self.echoes.get(timestamp)
            self.echoes.remove(timestamp)
            yield key, result + 1

    def model(self, records: Iterable[Record]) -> list[Record]:
        """What comes of all records together."""
        windows: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for key, number, ts in records:
            windows[key][ts - ts % self.size_ms + self.size_ms].append(number)
        results = []
        for key, ends in windows.items():
            # by time; of one timer the window comes before the echo
            fires: list[tuple[int, int, int]] = []
            for fired, end in enumerate(sorted(ends), 1):
                result = _result(ends[end], fired)
                fires += [(end - 1, 0, result), (end - 1 + self.lag_ms, 1, result + 1)]
            results += [(key, result, timestamp) for timestamp, _, result in sorted(fires)]
        return results


def _result(members: Sequence[int], fired: int) -> int:
    return (sum(members) * 31 + len(members) * 7 + fired) % 997


class Running(KeyedProcessFunction):
    """A result for each record that depends on those of its key before it, in one kind of state."""

    KINDS = 4

    def __init__(self, kind: int) -> None:
        self.kind = kind

    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value", NUMBERS))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", NUMBERS))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", NUMBERS, NUMBERS))
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: a * 3 % 1009 + b, NUMBERS)
        )

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if is_late(ctx):
            yield LATE, (value, ctx.timestamp(), ctx.timer_service().current_watermark())
        key, number = value
        yield key, getattr(self, f"_{self.kind}")(number)

    def _0(self, number: int) -> int:
        held = (self.value.value() or 0) * 3 % 1009 + number
        self.value.update(held)
        return held

    def _1(self, number: int) -> int:
        self.list.add(number)
        return sum(index * held for index, held in enumerate(self.list.get(), 1))

    def _2(self, number: int) -> int:
        seen = self.map.get(number) or 0
        self.map.put(number, seen + 1)
        return number + 1000 * seen + 100_000 * len(list(self.map.keys()))

    def _3(self, number: int) -> int:
        self.total.add(number)
        return int(self.total.get())

    def model(self, records: Iterable[Record]) -> list[Record]:
        """What comes of the records in this order."""
        held: dict[int, list[int]] = defaultdict(list)
        results = []
        for key, number, ts in records:
            held[key].append(number)
            results.append((key, _running(self.kind, held[key]), ts))
        return results


def _running(kind: int, numbers: Sequence[int]) -> int:
    if kind == 1:
        return sum(index * held for index, held in enumerate(numbers, 1))
    if kind == 2:
        last = numbers[-1]
        return last + 1000 * (numbers.count(last) - 1) + 100_000 * len(set(numbers))
    total = 0 if kind == 0 else numbers[0]
    for number in numbers if kind == 0 else numbers[1:]:
        total = total * 3 % 1009 + number
    return total


Window = tuple[int, int]
"""Where a window starts and ends (ms)."""


class SumAndCount(AggregateFunction):
    """The sum of the numbers, and how many there are; in a list that is changed in place."""

    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        accumulator[0] += value[1]
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: list[int]) -> tuple[int, int]:
        return accumulator[0], accumulator[1]

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return [acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]]


class OfAggregate(ProcessWindowFunction[Any, Any, int, Any]):
    """A number that depends on the window, on its records, and on how often the window fired."""

    def process(self, key: int, context: Any, elements: Any) -> Iterator[Any]:
        ((total, count),) = elements
        yield key, _of_window(context.window().start, total, count, self.firing(context))

    def firing(self, context: Any) -> int:
        fired = context.window_state().get_state(ValueStateDescriptor("fired", NUMBERS))
        fired.update((fired.value() or 0) + 1)
        return int(fired.value())

    def clear(self, context: Any) -> None:
        fired = context.window_state().get_state(ValueStateDescriptor("fired", NUMBERS))
        assert fired.value() == 1, "the window fired once, and its state is there"
        fired.clear()


class OfElements(OfAggregate):
    """The same of a window's records themselves."""

    def process(self, key: int, context: Any, elements: Any) -> Iterator[Any]:
        numbers = [number for _, number in elements]
        start, firing = context.window().start, self.firing(context)
        yield key, _of_window(start, sum(numbers), len(numbers), firing)


class OfSession(OfAggregate):
    """The same of windows that merge: they have no state of their own."""

    def firing(self, context: Any) -> int:
        return 1

    def clear(self, context: Any) -> None:
        """Nothing is kept."""


def _of_window(start: int, total: int, count: int, firing: int = 1) -> int:
    return (total * 31 + count * 7 + start + firing) % 997


def aligned_windows(timestamp: int, size_ms: int, slide_ms: int) -> list[Window]:
    """The windows that begin at each slide and hold the timestamp."""
    starts = range(timestamp - size_ms + 1, timestamp + 1)
    return [(start, start + size_ms) for start in starts if start % slide_ms == 0]


def results_of_windows(
    records: Iterable[Record], windows: Callable[[int], list[Window]]
) -> list[Record]:
    """What ``OfAggregate`` gives for the windows of all records, by time."""
    found: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for key, number, ts in records:
        for start, end in windows(ts):
            found[end, key, start].append(number)
    return [
        (key, _of_window(start, sum(numbers), len(numbers)), end - 1)
        for (end, key, start), numbers in sorted(found.items())
    ]


def gap_that_parts(records: Iterable[Record], gap_ms: int) -> int:
    """The least gap, from the given one on, that no two records of a key lie apart exactly.

    A record at the very end of a session joins it, unless the session has fired: then the result
    depends on the watermarks between the two, as in Flink.
    """
    by_key: dict[int, list[int]] = defaultdict(list)
    for key, _, ts in records:
        by_key[key].append(ts)
    apart = {
        later - earlier for times in by_key.values() for earlier, later in pairwise(sorted(times))
    }
    return next(gap for gap in count(gap_ms) if gap not in apart)


def results_of_sessions(records: Iterable[Record], gap_ms: int) -> list[Record]:
    """What ``OfSession`` gives for the sessions of all records, by time."""
    by_key: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for key, number, ts in records:
        by_key[key].append((ts, number))
    results = []
    for key, pairs in by_key.items():
        sessions: list[list[tuple[int, int]]] = []
        for pair in sorted(pairs):
            if sessions and pair[0] - sessions[-1][-1][0] <= gap_ms:
                sessions[-1].append(pair)
            else:
                sessions.append([pair])
        for members in sessions:
            numbers = [number for _, number in members]
            value = _of_window(members[0][0], sum(numbers), len(numbers))
            results.append((key, value, members[-1][0] + gap_ms - 1))
    return sorted(results, key=lambda result: result[2])


class AddInBatches(MapBatchesFunction):
    """Adds to the numbers of a batch."""

    def __init__(self, number: int) -> None:
        self.number = number

    def map_batches(self, batch: Any) -> Any:
        return batch.set_column(1, "f1", pc.add(batch["f1"], self.number))


class KeyedAddInBatches(KeyedMapBatchesFunction):
    """The same by key; the state of another key in a key's place is refused."""

    def __init__(self, number: int) -> None:
        self.number = number

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", NUMBERS, NUMBERS))

    def map_batches(self, key: Any, batch: Any) -> Any:
        before = self.seen.get(key) or 0
        assert [*self.seen.keys()] == ([key] if before else []) and batch.num_rows
        self.seen.put(key, before + batch.num_rows)
        return batch.set_column(1, "f1", pc.add(batch["f1"], self.number))


class Counting(MapFunction, CheckpointedFunction):
    """Records as they are, which an instance counts; what it finds again is what one left."""

    def initialize_state(self, context: Any) -> None:
        self.counts = context.get_operator_state_store().get_list_state(
            ListStateDescriptor("counts", NUMBERS)
        )
        found = [*self.counts.get()]
        assert context.is_restored() or not found
        assert all(name == "records" and count > 0 for name, count in found)
        self.count = sum(count for _, count in found)

    def map(self, value: Any) -> Any:
        self.count += 1
        return value

    def snapshot_state(self, context: Any) -> None:
        before = sum(count for _, count in self.counts.get())
        assert self.count > before, "there were records"
        self.counts.add(("records", self.count - before))
