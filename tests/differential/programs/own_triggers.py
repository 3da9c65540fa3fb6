"""Triggers of the user's own."""

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream import DataStream, StreamExecutionEnvironment, Trigger, TriggerResult
from pyflink.datastream.functions import WindowFunction
from pyflink.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from pyflink.datastream.window import (
    CountTrigger,
    GlobalWindows,
    PurgingTrigger,
    TumblingEventTimeWindows,
)

from .common import FIVE_SECONDS, SESSIONS, Span, add, ordered, program, timed


class OwnTrigger(Trigger):
    """Never fires; each trigger below says what it does otherwise."""

    def on_element(self, element, timestamp, window, ctx):
        return TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        pass


class OnMarker(OwnTrigger):
    def on_element(self, element, timestamp, window, ctx):
        return TriggerResult.FIRE_AND_PURGE if element[1] == "end" else TriggerResult.CONTINUE


class Values(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, [element[1] for element in inputs]


@program(162, compare="ordered_by_key:0", mode="streaming")
def user_trigger_on_markers(env: StreamExecutionEnvironment) -> DataStream:
    """A user's trigger on a global window: a marker among the records fires and purges."""
    events = [
        ("a", "x"),
        ("b", "y"),
        ("a", "z"),
        ("a", "end"),
        ("a", "end"),
        ("b", "end"),
        ("a", "rest"),
    ]
    windowed = (
        env.from_collection(events).key_by(lambda event: event[0]).window(GlobalWindows.create())
    )
    return windowed.trigger(OnMarker()).apply(Values())


class AboveTen(OwnTrigger):
    def __init__(self):
        self.descriptor = ValueStateDescriptor("sum", Types.LONG())

    def on_element(self, element, timestamp, window, ctx):
        state = ctx.get_partitioned_state(self.descriptor)
        total = (state.value() or 0) + element[1]
        if total > 10:
            state.clear()
            return TriggerResult.FIRE
        state.update(total)
        return TriggerResult.CONTINUE

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.descriptor).clear()


@program(163, compare="ordered_by_key:0", mode="streaming")
def user_trigger_with_value_state(env: StreamExecutionEnvironment) -> DataStream:
    """A user's trigger with value state by key and window fires when the sum passes ten."""
    events = [
        ("a", 4, 1_000),
        ("a", 5, 6_000),
        ("a", 8, 2_000),
        ("b", 11, 3_000),
        ("a", 6, 7_000),
        ("a", 1, 3_000),
        ("a", 10, 4_000),
    ]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.trigger(AboveTen()).process(Span())


class Repeated(OwnTrigger):
    def __init__(self):
        self.counts = MapStateDescriptor("counts", Types.LONG(), Types.LONG())
        self.order = ListStateDescriptor("order", Types.LONG())

    def on_element(self, element, timestamp, window, ctx):
        counts = ctx.get_partitioned_state(self.counts)
        order = ctx.get_partitioned_state(self.order)
        if counts.contains(element[1]):
            counts.put(element[1], counts.get(element[1]) + 1)
            return TriggerResult.FIRE
        counts.put(element[1], 1)
        order.add(element[1])
        if len(list(order.get())) == 3:
            counts.clear()
            order.clear()
            return TriggerResult.FIRE_AND_PURGE
        return TriggerResult.CONTINUE

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.counts).clear()
        ctx.get_partitioned_state(self.order).clear()


@program(164, compare="ordered_by_key:0", mode="streaming")
def user_trigger_with_list_and_map_state(env: StreamExecutionEnvironment) -> DataStream:
    """A user's trigger with list state and map state.

    It fires when a value comes a second time, and purges when three different ones have come.
    """
    events = [("a", value) for value in (1, 2, 1, 3, 3, 3, 4)] + [("b", 1), ("b", 1)]
    windowed = (
        env.from_collection(events).key_by(lambda event: event[0]).window(GlobalWindows.create())
    )
    return windowed.trigger(Repeated()).apply(Values())


class EachAndEnd(OwnTrigger):
    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.FIRE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def clear(self, window, ctx):
        ctx.delete_event_time_timer(window.max_timestamp())


@program(165, compare="ordered_by_key:0", mode="streaming")
def user_trigger_early_and_on_time(env: StreamExecutionEnvironment) -> DataStream:
    """A user's trigger fires at each record and once more at the end of the window."""
    events = [("a", 1, 1_000), ("a", 2, 2_000), ("b", 4, 3_000), ("a", 8, 4_000)]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.trigger(EachAndEnd()).process(Span())


EVENTS = [
    ("a", 4, 0),
    ("a", 5, 8_000),
    ("a", 1, 4_000),
    ("a", 2, 5_000),
    ("a", 9, 30_000),
    ("a", 3, 31_000),
    ("b", 10, 0),
]


def plus(left, right):
    return left + right


class ByWeight(OwnTrigger):
    def __init__(self, limit):
        self.limit = limit
        self.descriptor = ReducingStateDescriptor("weight", plus, Types.LONG())

    def on_element(self, element, timestamp, window, ctx):
        weight = ctx.get_partitioned_state(self.descriptor)
        weight.add(element[1])
        if weight.get() >= self.limit:
            weight.clear()
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        ctx.merge_partitioned_state(self.descriptor)

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.descriptor).clear()


class MergingByWeight(ByWeight):
    def can_merge(self):
        return True


@program(166, compare="ordered_by_key:0", mode="streaming", python="thread")
def user_trigger_merges_its_state(env: StreamExecutionEnvironment) -> DataStream:
    """A user's trigger on sessions adds its reducing state up when sessions merge.

    In a process PyFlink 2.3 loses what a trigger has counted when two windows become one.
    """
    windowed = timed(env, EVENTS).key_by(lambda event: event[0]).window(SESSIONS)
    return windowed.trigger(MergingByWeight(10)).process(Span())


@program(178, compare="ordered_by_key:0", mode="streaming", python="thread")
def user_trigger_without_can_merge(env: StreamExecutionEnvironment) -> DataStream:
    """A user's trigger on sessions without ``can_merge``: keyed windows use its ``on_merge``."""
    windowed = timed(env, EVENTS).key_by(lambda event: event[0]).window(SESSIONS)
    return windowed.trigger(PurgingTrigger.of(ByWeight(10))).process(Span())


class MiddleAndEnd(OwnTrigger):
    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer((window.start + window.end) // 2)
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE

    def clear(self, window, ctx):
        ctx.delete_event_time_timer((window.start + window.end) // 2)
        ctx.delete_event_time_timer(window.max_timestamp())


class Bounds(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, window.start, window.end


@program(167, compare="ordered_by_key:0")
def user_trigger_with_timers_of_its_own(env: StreamExecutionEnvironment) -> DataStream:
    """A user's trigger with a timer in the middle of the window, which comes before the end.

    Contents are left out: how much has come at the middle depends on the watermarks.
    """
    events = [("a", 1, 1_000), ("b", 2, 2_000), ("a", 3, 7_000)]
    windowed = (
        timed(env, events)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(4)))
    )
    return windowed.trigger(MiddleAndEnd()).apply(Bounds())


class MiddleIfAhead(MiddleAndEnd):
    def on_element(self, element, timestamp, window, ctx):
        middle = (window.start + window.end) // 2
        if ctx.get_current_watermark() < middle:
            ctx.register_event_time_timer(middle)
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE


@program(245, compare="ordered_by_key:0", mode="streaming", watermarks="each record")
def user_trigger_early_by_the_watermark(env: StreamExecutionEnvironment) -> DataStream:
    """A timer in the middle of the window shows what has come by then, and again at the end."""
    events = [
        ("a", 1, 1_000),
        ("a", 2, 4_000),
        ("b", 1, 6_000),
        ("a", 4, 7_000),
        ("a", 8, 11_000),
        ("a", 16, 17_000),
    ]
    windowed = (
        ordered(env, events)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
    )
    return windowed.trigger(MiddleIfAhead()).process(Span())


class UnlessThree(OwnTrigger):
    def __init__(self):
        self.descriptor = ValueStateDescriptor("count", Types.LONG())

    def on_element(self, element, timestamp, window, ctx):
        state = ctx.get_partitioned_state(self.descriptor)
        count = (state.value() or 0) + 1
        state.update(count)
        if count == 1:
            ctx.register_event_time_timer(window.end - 2)
        elif count == 3:
            ctx.delete_event_time_timer(window.end - 2)
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE if time == window.end - 2 else TriggerResult.CONTINUE

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.descriptor).clear()


@program(168, compare="ordered_by_key:0", mode="streaming")
def user_trigger_deletes_its_timer(env: StreamExecutionEnvironment) -> DataStream:
    """A user's trigger takes its timer back when a window has three records: it does not fire."""
    events = [
        ("a", 1, 1_000),
        ("a", 2, 2_000),
        ("b", 3, 2_000),
        ("a", 4, 3_000),
        ("a", 5, 7_000),
        ("a", 6, 8_000),
    ]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.trigger(UnlessThree()).process(Span())


class Reset(OwnTrigger):
    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.PURGE if element[1] == 0 else TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def clear(self, window, ctx):
        ctx.delete_event_time_timer(window.max_timestamp())


@program(169, compare="ordered_by_key:0", mode="streaming")
def user_trigger_that_purges(env: StreamExecutionEnvironment) -> DataStream:
    """A user's trigger throws contents away; at its end the window fires with what came later."""
    events = [
        ("a", 1, 1_000),
        ("a", 0, 2_000),
        ("a", 3, 3_000),
        ("b", 1, 1_000),
        ("b", 0, 2_000),
        ("a", 4, 6_000),
    ]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.trigger(Reset()).process(Span())


class InAnHour(OwnTrigger):
    def on_element(self, element, timestamp, window, ctx):
        if element[1] == 1:
            ctx.register_processing_time_timer(ctx.get_current_processing_time() + 3_600_000)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.FIRE


@program(170, compare="multiset", mode="batch")
def user_trigger_by_processing_time(env: StreamExecutionEnvironment) -> DataStream:
    """A user's trigger with a processing-time timer far ahead: a batch fires it as a key ends."""
    windowed = (
        env.from_collection([("a", 1), ("b", 2), ("a", 3)])
        .key_by(lambda event: event[0])
        .window(GlobalWindows.create())
    )
    return windowed.trigger(InAnHour()).reduce(lambda left, right: (left[0], left[1] + right[1]))


class EvenTime(OwnTrigger):
    def on_element(self, element, timestamp, window, ctx):
        if timestamp != element[-1] or not window.start <= timestamp <= window.max_timestamp():
            raise ValueError(f"{timestamp} for {element} in {window}")
        return TriggerResult.FIRE if timestamp % 2 == 0 else TriggerResult.CONTINUE


@program(172, compare="ordered_by_key:0", mode="streaming")
def user_trigger_sees_timestamps(env: StreamExecutionEnvironment) -> DataStream:
    """What a trigger is given: record, timestamp and window. It fires for even timestamps."""
    events = [("a", 1, 11), ("a", 2, 12), ("b", 3, 13), ("a", 4, 24), ("b", 5, 14)]
    windowed = (
        timed(env, events)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    )
    return windowed.trigger(EvenTime()).process(Span())


class CountOrEnd(Trigger):
    def __init__(self, count):
        self.inner = CountTrigger.of(count)

    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())
        return self.inner.on_element(element, timestamp, window, ctx)

    def on_processing_time(self, time, window, ctx):
        return self.inner.on_processing_time(time, window, ctx)

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE_AND_PURGE

    def can_merge(self):
        return self.inner.can_merge()

    def on_merge(self, window, ctx):
        self.inner.on_merge(window, ctx)

    def clear(self, window, ctx):
        self.inner.clear(window, ctx)


@program(174, compare="ordered_by_key:0", mode="streaming")
def user_trigger_wraps_another(env: StreamExecutionEnvironment) -> DataStream:
    """A user's trigger leaves the count to the count trigger and adds the end of the window."""
    events = [("a", 1, 1_000), ("a", 2, 2_000), ("a", 4, 3_000), ("b", 8, 3_000), ("a", 16, 6_000)]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.trigger(PurgingTrigger.of(CountOrEnd(2))).process(Span())


class ThirdOrEnd(OwnTrigger):
    def __init__(self):
        self.descriptor = ReducingStateDescriptor(
            "count", lambda left, right: left + right, Types.LONG()
        )

    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())
        count = ctx.get_partitioned_state(self.descriptor)
        count.add(1)
        if count.get() == 3:
            count.clear()
            return TriggerResult.FIRE_AND_PURGE
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE_AND_PURGE

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.descriptor).clear()
        ctx.delete_event_time_timer(window.max_timestamp())


@program(176, compare="ordered_by_key:0", mode="streaming")
def user_trigger_keeps_its_window_open(env: StreamExecutionEnvironment) -> DataStream:
    """A user's trigger fires and purges each third record, and at the end of the window.

    Its count is state by key and window.
    """
    events = [("a", number, 1_000 + 100 * number) for number in range(7)] + [
        ("b", 1, 2_000),
        ("a", 9, 6_000),
    ]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.trigger(ThirdOrEnd()).process(Span())


class Broken(OwnTrigger):
    def on_element(self, element, timestamp, window, ctx):
        raise RuntimeError("no trigger today")


@program(257, compare="raises:RuntimeError", mode="streaming")
def error_in_trigger(env: StreamExecutionEnvironment) -> DataStream:
    """An error in a user's trigger fails the job."""
    windowed = timed(env, [("a", 1, 2)]).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.trigger(Broken()).reduce(add)
