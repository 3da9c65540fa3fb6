"""The jobs as programs of the DataStream API: the same text for PyFlink and for Headrace.

``package`` is ``pyflink`` or ``headrace``. Where PyFlink is faster with declared types they are
declared for it; Headrace is given none, since it needs none.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bench import workload
from bench.tally import Counter, Tally


class Api:
    """The names of one implementation of the DataStream API."""

    def __init__(self, package: str) -> None:
        self.datastream = import_module(f"{package}.datastream")
        self.state = import_module(f"{package}.datastream.state")
        self.common = import_module(f"{package}.common")
        self.time = import_module(f"{package}.common.time").Time
        self.window = import_module(f"{package}.datastream.window")
        self.typed = package == "pyflink"

    def longs(self, fields: int) -> Any:
        """The type of a tuple of so many ints, None where types are not wanted."""
        types = self.common.Types
        return types.TUPLE([types.LONG()] * fields) if self.typed else None

    def long(self) -> Any:
        """The type of an int, None where types are not wanted."""
        return self.common.Types.LONG() if self.typed else None


def count_and_sum(api: Api, next_key: Any = None) -> Any:
    """A keyed function that keeps count and sum.

    Without ``next_key`` it gives out one record in a hundred; with it every record, re-keyed.
    """
    pair = api.longs(2)
    descriptor = api.state.ValueStateDescriptor
    every = workload.OUTPUT_EVERY

    class CountAndSum(api.datastream.KeyedProcessFunction):  # type: ignore[misc,name-defined]
        def open(self, runtime_context: Any) -> None:
            self.state = runtime_context.get_state(descriptor("count and sum", pair))

        def process_element(self, record: Any, ctx: Any) -> Any:
            key = record[0]
            count, total = self.state.value() or (0, 0)
            count, total = count + 1, total + record[1]
            self.state.update((count, total))
            # Not count % 100: uniform keys would all reach that at the same time.
            if (key + count) % every == 0:
                yield key, count, total

    class CountAndPass(CountAndSum):
        def process_element(self, record: Any, ctx: Any) -> Any:
            key, value, time_ms = record
            count, total = self.state.value() or (0, 0)
            self.state.update((count + 1, total + value))
            yield next_key(key), value, time_ms

    return CountAndSum() if next_key is None else CountAndPass()


def buckets_and_timer(api: Api, keys: int) -> Any:
    """A keyed function with a map of counts, given out and cleared by a timer."""
    interval = workload.timer_interval_ms(keys)
    number = api.long()
    descriptor = api.state.MapStateDescriptor

    class BucketsAndTimer(api.datastream.KeyedProcessFunction):  # type: ignore[misc,name-defined]
        def open(self, runtime_context: Any) -> None:
            self.buckets = runtime_context.get_map_state(descriptor("buckets", number, number))

        def process_element(self, record: Any, ctx: Any) -> Any:
            bucket = record[1] % 8
            self.buckets.put(bucket, (self.buckets.get(bucket) or 0) + 1)
            due_ms = record[2] - record[2] % interval + interval
            ctx.timer_service().register_event_time_timer(due_ms)

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            total = sum(self.buckets.values())
            self.buckets.clear()
            yield ctx.get_current_key(), total

    return BucketsAndTimer()


def one_in_a_hundred(api: Api) -> Any:
    """A keyed function without a state: what is left are the source and the exchange.

    Not a filter: where none of the functions behind ``key_by`` asks for state, Headrace leaves
    records where they are. So each costs a call here, and the look-up of its key.
    """
    every = workload.OUTPUT_EVERY

    class OneInAHundred(api.datastream.KeyedProcessFunction):  # type: ignore[misc,name-defined]
        def process_element(self, record: Any, ctx: Any) -> Any:
            return () if record[2] % every else (record,)

    return OneInAHundred()


def with_times(api: Api, stream: Any, disorder_ms: int = 0) -> Any:
    """The stream with its third field as event time, out of order by up to ``disorder_ms``."""

    class Times(api.common.watermark_strategy.TimestampAssigner):  # type: ignore[misc,name-defined]
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            time_ms: int = value[2]
            return time_ms

    strategies = api.common.WatermarkStrategy
    strategy = (
        strategies.for_bounded_out_of_orderness(api.common.Duration.of_millis(disorder_ms))
        if disorder_ms
        else strategies.for_monotonous_timestamps()
    )
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Times()))


def aggregation(api: Api) -> Any:
    """Key, count and sum, in parts that can be merged."""

    class CountAndSum(api.datastream.AggregateFunction):  # type: ignore[misc,name-defined]
        def create_accumulator(self) -> tuple[int, int, int]:
            return 0, 0, 0

        def add(self, value: Any, accumulator: Any) -> tuple[int, int, int]:
            return value[0], accumulator[1] + 1, accumulator[2] + value[1]

        def get_result(self, accumulator: Any) -> Any:
            return accumulator

        def merge(self, acc_a: Any, acc_b: Any) -> tuple[int, int, int]:
            return acc_b[0], acc_a[1] + acc_b[1], acc_a[2] + acc_b[2]

    return CountAndSum()


def whole_windows(api: Api) -> Any:
    """The same of all of a window's records at once."""

    class CountAndSum(api.datastream.ProcessWindowFunction):  # type: ignore[misc,name-defined]
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            values = [record[1] for record in elements]
            yield key, len(values), sum(values)

    return CountAndSum()


def window_job(api: Api, job: str, records: Any, sums: Any = None) -> Any:
    """The outputs of job wt, wp, ws or we: of each key and window the count and the sum.

    ``sums`` takes the place of ``aggregation``.
    """
    window, millis = api.window, api.time.milliseconds
    timed = with_times(api, records, workload.DISORDER_MS)
    if job == "ws":
        size, slide = millis(workload.SLIDING_MS), millis(workload.SLIDE_MS)
        assigner = window.SlidingEventTimeWindows.of(size, slide)
    elif job == "we":
        assigner = window.EventTimeSessionWindows.with_gap(millis(workload.GAP_MS))
    else:
        assigner = window.TumblingEventTimeWindows.of(millis(workload.TUMBLING_MS))
    windows = timed.key_by(lambda record: record[0], api.long()).window(assigner)
    shape = api.longs(3)
    if job == "wp":
        return windows.process(whole_windows(api), shape)
    # Where types are wanted, those of the accumulator and of what comes out.
    types = {"accumulator_type": shape, "output_type": shape} if api.typed else {}
    return windows.aggregate(sums or aggregation(api), **types)


def columns_job(api: Api, records: Any) -> Any:
    """The outputs of job wc or csvw: wt with all fields by their names, for Headrace alone."""
    from headrace.datastream.aggregates import Aggregates, Count, Max, Sum

    strategies = api.common.WatermarkStrategy
    strategy = strategies.for_bounded_out_of_orderness(
        api.common.Duration.of_millis(workload.DISORDER_MS)
    )
    timed = records.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner("time"))
    size = api.time.milliseconds(workload.TUMBLING_MS)
    windows = timed.key_by("key").window(api.window.TumblingEventTimeWindows.of(size))
    # A result does not hold its key: so it is the greatest key among its records.
    return windows.aggregate(Aggregates(key=Max("key"), count=Count(), total=Sum("value")))


def pattern_job(api: Api, job: str, records: Any, keys: int) -> Any:
    """The outputs of job p1, p10 or p100, for Headrace alone: of each match its key, the value of
    its small event and that of its large one."""
    below, least = workload.pattern_limits(job)
    keyed = with_times(api, records).key_by(lambda record: record[0])
    small, large = (lambda event: event[1] < below), (lambda event: event[1] >= least)
    return _pairs(api, keyed, keys, small, large, 0, 1)


def pattern_over_columns_job(api: Api, job: str, records: Any, keys: int) -> Any:
    """The same, of rows and with conditions over columns."""
    from headrace.table.expressions import col

    below, least = workload.pattern_limits(job)
    strategy = api.common.WatermarkStrategy.for_monotonous_timestamps()
    timed = records.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner("time"))
    value = col("value")
    return _pairs(api, timed.key_by("key"), keys, value < below, value >= least, "key", "value")


def _pairs(
    api: Api, keyed: Any, keys: int, small: Any, large: Any, key_field: Any, value_field: Any
) -> Any:
    from headrace.cep import CEP, AfterMatchSkipStrategy, Pattern, PatternProcessFunction

    class Found(PatternProcessFunction):
        def process_match(self, match: Any, ctx: Any) -> Any:
            first, last = match["small"][0], match["large"][0]
            return ((first[key_field], first[value_field], last[value_field]),)

    pattern = (
        Pattern.begin("small", AfterMatchSkipStrategy.skip_past_last_event())
        .where(small)
        .followed_by("large")
        .where(large)
        .within(api.common.Duration.of_millis(workload.within_ms(keys)))
    )
    return CEP.pattern(keyed, pattern).process(Found())


def csv_job(records: Any) -> Any:
    """The outputs of job csv: rows with the sum of their key's values so far, or in all."""
    return records.key_by("key").sum("value")


def keyed_job(api: Api, job: str, records: Any, keys: int) -> Any:
    """The outputs of job a, b, c or exchange; ``c1`` to ``c5``: so many stages, ``ct``: with event
    time and so with watermarks through all three."""

    def by_key(stream: Any) -> Any:
        return stream.key_by(lambda record: record[0], api.long())

    if job == "exchange":
        return by_key(records).process(one_in_a_hundred(api), api.longs(3))
    if job in ("b", "ct"):
        records = with_times(api, records)
    if job == "b":
        return by_key(records).process(buckets_and_timer(api, keys), api.longs(2))
    for _ in range(workload.stages(job) - 1):
        passing = count_and_sum(api, lambda key: workload.rekey(key, keys))
        records = by_key(records).process(passing, api.longs(3))
    return by_key(records).process(count_and_sum(api), api.longs(3))


def stateless_job(api: Api, lines: Any) -> Any:
    """The outputs of job d."""
    types = api.common.Types
    shape = types.TUPLE([types.LONG(), types.STRING(), types.LONG()]) if api.typed else None
    return lines.map(workload.decode).filter(workload.wanted).map(workload.summary, shape)


def counting(api: Api, tally: Tally) -> Any:
    """A filter that counts every record and lets none pass."""

    class Counting(api.datastream.FilterFunction):  # type: ignore[misc,name-defined]
        def open(self, runtime_context: Any) -> None:
            self.counter = Counter(tally)

        def filter(self, value: Any) -> bool:
            self.counter.add(value)
            return False

        def close(self) -> None:
            self.counter.close()

    return Counting()
