"""What ``java/`` records from Flink, written for Headrace: one function for each case, by its name.

A case gives lists and tuples of texts and numbers, as its Java program does in JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.common import WatermarkStrategy
from headrace.common.time import Time
from headrace.datastream import DataStream, KeyedStream, OutputTag, StreamExecutionEnvironment
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    DeltaTrigger,
    EventTimeSessionWindows,
    Evictor,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeEvictor,
    Trigger,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from tests.differential.flink_events import (
    AllContents,
    Both,
    Contents,
    DropOdd,
    Event,
    OnMarkers,
    Pair,
    Seen,
    Stamped,
    hurried,
    keyed,
    timed,
    unhurried,
)

Case = Callable[[StreamExecutionEnvironment], DataStream]

LATE = OutputTag("late")
FIVE_SECONDS = TumblingEventTimeWindows.of(Time.seconds(5))
TWO_SECONDS = TumblingEventTimeWindows.of(Time.seconds(2))


# Evictors


def evictable(env: StreamExecutionEnvironment) -> KeyedStream:
    return keyed(
        unhurried(
            env,
            ("a", 1, 1_000),
            ("a", 5, 2_000),
            ("b", 7, 2_500),
            ("a", 2, 4_500),
            ("a", 4, 3_000),
            ("a", 3, 6_000),
            ("b", 8, 7_000),
            ("a", 9, 6_500),
        )
    )


def difference(old: Event, last: Event) -> float:
    return abs(last[1] - old[1])


def evicting(evictor: Evictor[Any, Any], env: StreamExecutionEnvironment) -> DataStream:
    return evictable(env).window(FIVE_SECONDS).evictor(evictor).process(Contents())


def evicting_globally(evictor: Evictor[Any, Any], env: StreamExecutionEnvironment) -> DataStream:
    windows = evictable(env).window(GlobalWindows.create()).trigger(CountTrigger.of(2))
    return windows.evictor(evictor).process(Contents())


def evicting_sessions(env: StreamExecutionEnvironment) -> DataStream:
    windows = evictable(env).window(EventTimeSessionWindows.with_gap(Time.seconds(1)))
    return windows.evictor(CountEvictor.of(2)).process(Contents())


def evicting_before_reduce(env: StreamExecutionEnvironment) -> DataStream:
    windows = evictable(env).window(FIVE_SECONDS).evictor(CountEvictor.of(2))
    sums = windows.reduce(lambda left, right: (left[0], left[1] + right[1], right[2]))
    return sums.map(lambda event: (event[0], event[1]))


# Triggers and windows of count


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return unhurried(
        env,
        ("a", 1, 1_000),
        ("a", 3, 2_000),
        ("b", 7, 2_500),
        ("a", 6, 4_500),
        ("a", 7, 3_000),
        ("b", 1, 7_000),
        ("a", 20, 6_000),
        ("a", 21, 6_500),
    )


def triggering(trigger: Trigger[Any, Any], env: StreamExecutionEnvironment) -> DataStream:
    windows = keyed(numbers(env)).window(GlobalWindows.create())
    return windows.trigger(trigger).process(Contents())


def triggering_with_evictor(env: StreamExecutionEnvironment) -> DataStream:
    windows = keyed(numbers(env)).window(GlobalWindows.create())
    fired = windows.trigger(DeltaTrigger.of(4.0, difference))
    return fired.evictor(CountEvictor.of(2)).process(Contents())


def counting_all(size: int, slide: int, env: StreamExecutionEnvironment) -> DataStream:
    return numbers(env).count_window_all(size, slide).process(AllContents())


# Joins


def left(env: StreamExecutionEnvironment) -> DataStream:
    return unhurried(
        env,
        ("a", 1, 0),
        ("a", 2, 1_000),
        ("b", 3, 1_500),
        ("a", 4, 2_000),
        ("a", 5, 5_000),
        ("c", 6, 5_500),
    )


def right(env: StreamExecutionEnvironment) -> DataStream:
    return unhurried(
        env,
        ("a", 10, 0),
        ("a", 20, 1_000),
        ("a", 30, 1_999),
        ("b", 40, 2_500),
        ("a", 50, 3_000),
        ("d", 60, 5_000),
        ("a", 70, 5_999),
    )


def interval(
    lower: int, upper: int, exclusive: tuple[bool, bool], env: StreamExecutionEnvironment
) -> DataStream:
    joined = keyed(left(env)).interval_join(keyed(right(env)))
    bounded = joined.between(Time.milliseconds(lower), Time.milliseconds(upper))
    if exclusive[0]:
        bounded = bounded.lower_bound_exclusive()
    if exclusive[1]:
        bounded = bounded.upper_bound_exclusive()
    return bounded.process(Pair())


def joining(windows: WindowAssigner[Any, Any], env: StreamExecutionEnvironment) -> DataStream:
    pairs = (
        left(env).join(right(env)).where(lambda event: event[0]).equal_to(lambda event: event[0])
    )
    return pairs.window(windows).apply(lambda one, two: (one[0], one[1], two[1]))


def co_grouping(windows: WindowAssigner[Any, Any], env: StreamExecutionEnvironment) -> DataStream:
    both = left(env).co_group(right(env))
    pairs = both.where(lambda event: event[0]).equal_to(lambda event: event[0])
    return pairs.window(windows).apply(Both())


# Watermarks


def watermarks(env: StreamExecutionEnvironment) -> DataStream:
    stream = hurried(env, ("a", 1, 1_000), ("a", 2, 3_000), ("a", 3, 2_000))
    return keyed(stream).process(Seen())


def markers(env: StreamExecutionEnvironment) -> DataStream:
    events = [
        ("a", 1, 1_000),
        ("a", 0, 5_000),
        ("a", 2, 9_000),
        ("a", 3, 3_000),
        ("a", 0, 12_000),
        ("a", 4, 11_000),
    ]
    stream = timed(env, WatermarkStrategy.for_generator(OnMarkers), events)
    return keyed(stream).process(Seen())


def lateness(allowed_ms: int, env: StreamExecutionEnvironment) -> DataStream:
    events = hurried(
        env,
        ("a", 1, 1_000),
        ("a", 2, 5_100),
        ("a", 4, 2_000),
        ("a", 8, 6_999),
        ("a", 16, 3_000),
        ("b", 32, 7_001),
        ("a", 64, 4_000),
    )
    windows = keyed(events).window(FIVE_SECONDS).allowed_lateness(allowed_ms)
    return with_late(windows.side_output_late_data(LATE).process(Contents()))


def sessions_merge_late(env: StreamExecutionEnvironment) -> DataStream:
    events = hurried(
        env,
        ("a", 1, 0),
        ("a", 2, 9_000),
        ("a", 4, 4_500),
        ("b", 8, 9_100),
        ("a", 16, 16_000),
        ("a", 32, 30_000),
        ("a", 64, 2_000),
    )
    windows = keyed(events).window(EventTimeSessionWindows.with_gap(Time.seconds(5)))
    late = windows.allowed_lateness(10_000).side_output_late_data(LATE)
    return with_late(late.process(Contents()))


def continuous(env: StreamExecutionEnvironment) -> DataStream:
    events = hurried(
        env,
        ("a", 1, 500),
        ("a", 2, 2_500),
        ("a", 4, 4_500),
        ("b", 8, 8_200),
        ("a", 16, 18_500),
    )
    windows = keyed(events).window(TumblingEventTimeWindows.of(Time.seconds(10)))
    return windows.trigger(ContinuousEventTimeTrigger.of(Time.seconds(2))).process(Contents())


def with_late(main: DataStream) -> DataStream:
    return main.union(main.get_side_output(LATE).map(lambda event: ("late", event[1])))


# Sums and extremes


def summable(env: StreamExecutionEnvironment) -> DataStream:
    return unhurried(
        env,
        ("a", 3, 1_000),
        ("a", 1, 2_000),
        ("b", 7, 2_500),
        ("a", 1, 4_500),
        ("a", 9, 3_000),
        ("a", 9, 3_500),
        ("b", 8, 7_000),
        ("a", 2, 6_500),
    )


def folding(method: str, env: StreamExecutionEnvironment) -> DataStream:
    windows = keyed(summable(env)).window(FIVE_SECONDS)
    folded: DataStream = getattr(windows, method)(1)
    return folded.process(Stamped())


def folding_all(method: str, env: StreamExecutionEnvironment) -> DataStream:
    folded: DataStream = getattr(summable(env).window_all(FIVE_SECONDS), method)(1)
    return folded.process(Stamped())


CASES: dict[str, Case] = {
    "evictor_count_before": partial(evicting, CountEvictor.of(2)),
    "evictor_count_after": partial(evicting_globally, CountEvictor.of(2, True)),
    "evictor_count_global": partial(evicting_globally, CountEvictor.of(3)),
    "evictor_time_before": partial(evicting, TimeEvictor.of(Time.seconds(2))),
    "evictor_time_after": partial(evicting_globally, TimeEvictor.of(Time.seconds(2), True)),
    "evictor_delta_before": partial(evicting, DeltaEvictor.of(3.0, difference)),
    "evictor_delta_after": partial(evicting_globally, DeltaEvictor.of(3.0, difference, True)),
    "evictor_of_the_user": partial(evicting, DropOdd()),
    "evictor_on_sessions": evicting_sessions,
    "evictor_with_reduce": evicting_before_reduce,
    "evictor_leaves_nothing": partial(evicting, CountEvictor.of(0)),
    "delta_trigger": partial(triggering, DeltaTrigger.of(4.0, difference)),
    "delta_trigger_purging": partial(
        triggering, PurgingTrigger.of(DeltaTrigger.of(4.0, difference))
    ),
    "delta_trigger_with_evictor": triggering_with_evictor,
    "count_window_all": partial(counting_all, 3, 0),
    "count_window_all_slide": partial(counting_all, 4, 2),
    "interval_join": partial(interval, -2_000, 1_000, (False, False)),
    "interval_join_lower_exclusive": partial(interval, -2_000, 1_000, (True, False)),
    "interval_join_upper_exclusive": partial(interval, -2_000, 1_000, (False, True)),
    "interval_join_both_exclusive": partial(interval, -2_000, 1_000, (True, True)),
    "interval_join_future": partial(interval, 1_000, 3_000, (False, False)),
    "interval_join_same_time": partial(interval, 0, 0, (False, False)),
    "window_join_tumbling": partial(joining, TWO_SECONDS),
    "window_join_sliding": partial(
        joining, SlidingEventTimeWindows.of(Time.seconds(2), Time.seconds(1))
    ),
    "window_join_session": partial(joining, EventTimeSessionWindows.with_gap(Time.seconds(1))),
    "co_group_tumbling": partial(co_grouping, TWO_SECONDS),
    "co_group_session": partial(co_grouping, EventTimeSessionWindows.with_gap(Time.seconds(1))),
    "generator_after_each_record": watermarks,
    "generator_on_markers": markers,
    "late_records": partial(lateness, 0),
    "allowed_lateness": partial(lateness, 2_000),
    "sessions_merge_late": sessions_merge_late,
    "continuous_event_time_trigger": continuous,
    "window_sum": partial(folding, "sum"),
    "window_min": partial(folding, "min"),
    "window_max": partial(folding, "max"),
    "window_min_by": partial(folding, "min_by"),
    "window_max_by": partial(folding, "max_by"),
    "window_all_sum": partial(folding_all, "sum"),
    "window_all_min_by": partial(folding_all, "min_by"),
    "window_all_max": partial(folding_all, "max"),
}
