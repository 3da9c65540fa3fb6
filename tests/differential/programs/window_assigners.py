"""Window assigners of the user's own."""

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    MergingWindowAssigner,
    StreamExecutionEnvironment,
    WindowAssigner,
)
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import (
    CountTrigger,
    CountWindow,
    CountWindowSerializer,
    EventTimeTrigger,
    TimeWindow,
    TimeWindowSerializer,
)

from .common import Span, add, program, timed


class ByLength(WindowAssigner):
    def assign_windows(self, element, timestamp, context):
        start = timestamp - timestamp % element[1]
        return [TimeWindow(start, start + element[1])]

    def get_default_trigger(self, env):
        return EventTimeTrigger()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


@program(143, compare="ordered_by_key:0")
def user_assigner(env: StreamExecutionEnvironment) -> DataStream:
    """A user's assigner: windows as long as the record says."""
    events = [("a", 10, 3), ("a", 100, 7), ("a", 10, 14), ("a", 100, 99), ("b", 7, 13), ("b", 7, 7)]
    return timed(env, events).key_by(lambda event: event[0]).window(ByLength()).process(Span())


class AssignsTimeWindows:
    """What the assigners of time windows below have in common."""

    def get_default_trigger(self, env):
        return EventTimeTrigger.create()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


class HourAndDay(AssignsTimeWindows, WindowAssigner):
    def assign_windows(self, element, timestamp, context):
        if element[1] < 0:
            return []
        hour, day = 3_600_000, 86_400_000
        return [
            TimeWindow(timestamp - timestamp % size, timestamp - timestamp % size + size)
            for size in (hour, day)
        ]


@program(144, compare="multiset")
def user_assigner_of_several_windows(env: StreamExecutionEnvironment) -> DataStream:
    """A user's assigner puts a record into an hour and a day, and some records into no window."""
    events = [
        ("a", 1, 0),
        ("a", 2, 3_599_999),
        ("a", 3, 3_600_000),
        ("a", -4, 5_000),
        ("a", 6, 86_399_999),
        ("b", 5, 90_000_000),
    ]
    return timed(env, events).key_by(lambda event: event[0]).window(HourAndDay()).process(Span())


class AssignsCountWindows:
    """What the assigners of count windows below have in common."""

    def get_default_trigger(self, env):
        return CountTrigger.of(2)

    def get_window_serializer(self):
        return CountWindowSerializer()

    def is_event_time(self):
        return False


class Parity(AssignsCountWindows, WindowAssigner):
    def assign_windows(self, element, timestamp, context):
        return [CountWindow(element[1] % 2)]


class SortedById(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().id, sorted(element[1] for element in elements)


@program(145, compare="ordered_by_key:0")
def user_assigner_by_count_window(env: StreamExecutionEnvironment) -> DataStream:
    """A user's assigner of count windows: odd values and even values apart."""
    events = [("a", number) for number in (1, 2, 3, 4, 5, 6, 8)]
    keyed = env.from_collection(events).key_by(lambda event: event[0])
    return keyed.window(Parity()).process(SortedById())


class SessionsWithinMinutes(AssignsTimeWindows, MergingWindowAssigner):
    def assign_windows(self, element, timestamp, context):
        minute_end = timestamp - timestamp % 60_000 + 60_000
        return [TimeWindow(timestamp, min(timestamp + 10_000, minute_end))]

    def merge_windows(self, windows, callback):
        by_minute = {}
        for window in windows:
            by_minute.setdefault(window.start // 60_000, []).append(window)
        for group in by_minute.values():
            TimeWindow.merge_windows(group, callback)


@program(147, compare="ordered_by_key:0")
def user_merging_assigner(env: StreamExecutionEnvironment) -> DataStream:
    """A user's merging assigner: sessions that never reach over the border of a minute."""
    events = [
        ("a", 1, 40_000),
        ("a", 2, 55_000),
        ("a", 3, 60_000),
        ("a", 4, 47_000),
        ("a", 5, 69_000),
        ("b", 6, 59_999),
    ]
    return (
        timed(env, events)
        .key_by(lambda event: event[0])
        .window(SessionsWithinMinutes())
        .process(Span())
    )


class Hundreds(AssignsTimeWindows, MergingWindowAssigner):
    def assign_windows(self, element, timestamp, context):
        return [TimeWindow(timestamp, timestamp + 1)]

    def merge_windows(self, windows, callback):
        hundreds = {}
        for window in windows:
            hundreds.setdefault(window.start // 100, set()).add(window)
        for group in hundreds.values():
            if len(group) > 1:
                start, end = min(w.start for w in group), max(w.end for w in group)
                callback.merge(group, TimeWindow(start, end))


@program(148, compare="multiset")
def user_merging_assigner_reduce(env: StreamExecutionEnvironment) -> DataStream:
    """A user's merging assigner joins all windows of a key in the same hundred; reduced."""
    events = [
        ("a", 1, 10),
        ("a", 2, 90),
        ("a", 4, 110),
        ("a", 8, 50),
        ("a", 16, 199),
        ("b", 32, 5),
        ("b", 64, 305),
    ]
    return timed(env, events).key_by(lambda event: event[0]).window(Hundreds()).reduce(add)


class ByMarker(AssignsCountWindows, WindowAssigner):
    def __init__(self):
        self.descriptor = ValueStateDescriptor("number of the window", Types.LONG())

    def assign_windows(self, element, timestamp, context):
        number = context.get_runtime_context().get_state(self.descriptor)
        if element[1] < 0:
            number.update((number.value() or 0) + 1)
        return [CountWindow(number.value() or 0)]


class InOrderById(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().id, [element[1] for element in elements]


@program(149, compare="ordered_by_key:0", mode="streaming")
def user_assigner_with_state(env: StreamExecutionEnvironment) -> DataStream:
    """A user's assigner with keyed state: a minus sign opens the next window of the key."""
    events = [
        ("a", 1),
        ("a", 2),
        ("a", -3),
        ("b", 4),
        ("a", 5),
        ("a", 6),
        ("a", -7),
        ("b", -8),
        ("b", 9),
        ("a", 10),
    ]
    return (
        env.from_collection(events)
        .key_by(lambda event: event[0])
        .window(ByMarker())
        .process(InOrderById())
    )


class OnlyForA(AssignsTimeWindows, WindowAssigner):
    def assign_windows(self, element, timestamp, context):
        return [{"a": TimeWindow(0, 5_000)}[element[0]]]


@program(258, compare="raises:KeyError", mode="streaming")
def error_in_assigner(env: StreamExecutionEnvironment) -> DataStream:
    """An error in a user's assigner fails the job."""
    return (
        timed(env, [("a", 1, 2), ("b", 1, 2)])
        .key_by(lambda event: event[0])
        .window(OnlyForA())
        .reduce(add)
    )
