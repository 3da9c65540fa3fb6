"""Lateness: records that are dropped, put aside, or make their window fire again."""

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from pyflink.datastream.window import (
    CountTrigger,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
)

from .common import FIVE_SECONDS, SESSIONS, Span, SpanTotal, Sum, add, ordered, program


@program(230, compare="ordered_by_key:0", watermarks="each record")
def late_records_are_dropped(env: StreamExecutionEnvironment) -> DataStream:
    """Late records are dropped once the watermark has reached the end of their window.

    A batch knows no lateness: all records count.
    """
    events = [
        ("a", 1, 1_000),
        ("a", 2, 4_999),
        ("a", 3, 5_000),
        ("a", 4, 4_000),
        ("b", 5, 6_000),
        ("b", 6, 4_500),
        ("b", 7, 3_000),
    ]
    return ordered(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Span())


@program(231, compare="ordered_by_key:0", watermarks="each record")
def late_records_to_a_side_output(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Late records go to a side output."""
    late = OutputTag("late", Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()]))
    events = [
        ("a", 1, 1_000),
        ("a", 2, 4_999),
        ("a", 3, 5_001),
        ("a", 4, 4_000),
        ("b", 5, 6_000),
        ("b", 6, 4_500),
        ("b", 7, 7_000),
    ]
    windowed = ordered(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    main = windowed.side_output_late_data(late).process(Span())
    return {"main": main, "late": main.get_side_output(late)}


@program(232, compare="ordered_by_key:0", mode="streaming", watermarks="each record")
def allowed_lateness_fires_again(env: StreamExecutionEnvironment) -> DataStream:
    """A window stays for its allowed lateness, and each late record makes it fire again."""
    events = [
        ("a", 1, 1_000),
        ("a", 2, 5_100),
        ("a", 4, 2_000),
        ("a", 8, 6_900),
        ("a", 16, 3_000),
        ("b", 1, 4_999),
        ("a", 32, 9_000),
        ("a", 64, 4_000),
    ]
    windowed = ordered(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.allowed_lateness(2_000).process(Span())


LATE = OutputTag("late")


@program(233, compare="ordered_by_key:0", mode="streaming", watermarks="each record")
def allowed_lateness_and_side_output(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Records within the allowed lateness refire their window; later ones go to the side output."""
    events = [
        ("a", 1, 1_000),
        ("a", 2, 5_100),
        ("a", 4, 2_000),
        ("a", 8, 6_999),
        ("a", 16, 3_000),
        ("a", 32, 7_001),
        ("a", 64, 4_000),
    ]
    windowed = ordered(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    main = windowed.allowed_lateness(2_000).side_output_late_data(LATE).aggregate(Sum())
    return {"late": main.get_side_output(LATE), "main": main.map(lambda total: ("sum", total))}


@program(234, compare="ordered_by_key:0", mode="streaming", watermarks="each record")
def allowed_lateness_with_purging(env: StreamExecutionEnvironment) -> DataStream:
    """A purging trigger with allowed lateness: a late firing shows the late record alone."""
    events = [
        ("a", 1, 1_000),
        ("a", 2, 5_100),
        ("a", 4, 2_000),
        ("a", 8, 6_500),
        ("a", 16, 3_000),
        ("b", 1, 4_999),
    ]
    windowed = ordered(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return (
        windowed.trigger(PurgingTrigger.of(EventTimeTrigger.create()))
        .allowed_lateness(2_000)
        .process(Span())
    )


@program(235, compare="ordered_by_key:0", mode="streaming", watermarks="each record")
def late_for_some_sliding_windows(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A record late for one of its sliding windows counts in the others, and is not late."""
    events = [
        ("a", 1, 1_000),
        ("a", 2, 6_000),
        ("a", 4, 4_000),
        ("a", 8, 11_000),
        ("a", 16, 3_000),
        ("a", 32, 12_000),
    ]
    windowed = (
        ordered(env, events)
        .key_by(lambda event: event[0])
        .window(SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5)))
    )
    main = windowed.side_output_late_data(LATE).process(Span())
    return {"main": main, "late": main.get_side_output(LATE)}


@program(236, compare="ordered_by_key:0", mode="streaming", watermarks="each record")
def sessions_merge_late(env: StreamExecutionEnvironment) -> DataStream:
    """With allowed lateness a late record joins a session that has fired to a later one.

    The merged session fires again as a whole.
    """
    events = [
        ("a", 1, 0),
        ("a", 2, 9_000),
        ("a", 4, 4_500),
        ("b", 1, 9_100),
        ("a", 8, 16_000),
        ("a", 16, 30_000),
    ]
    windowed = ordered(env, events).key_by(lambda event: event[0]).window(SESSIONS)
    return windowed.allowed_lateness(10_000).process(Span())


@program(237, compare="ordered_by_key:0", mode="streaming", watermarks="each record")
def sessions_merge_late_aggregate(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Sessions that merge late, aggregated, with what is too late at the side."""
    events = [
        ("a", 1, 0),
        ("b", 128, 7_000),
        ("a", 4, 4_000),
        ("a", 8, 20_000),
        ("a", 16, 3_000),
        ("a", 32, 17_000),
        ("b", 64, 1_000),
    ]
    windowed = ordered(env, events).key_by(lambda event: event[0]).window(SESSIONS)
    main = (
        windowed.allowed_lateness(3_000).side_output_late_data(LATE).aggregate(Sum(), SpanTotal())
    )
    return {"main": main, "late": main.get_side_output(LATE)}


@program(238, compare="ordered_by_key:0", mode="streaming", watermarks="each record")
def late_record_saved_by_a_live_session(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A record whose own session would be late is not, if it falls into one still open."""
    events = [
        ("a", 1, 10_000),
        ("a", 2, 14_000),
        ("b", 1, 18_000),
        ("a", 4, 9_000),
        ("a", 8, 1_000),
        ("a", 16, 40_000),
    ]
    windowed = ordered(env, events).key_by(lambda event: event[0]).window(SESSIONS)
    main = windowed.side_output_late_data(LATE).process(Span())
    return {"main": main, "late": main.get_side_output(LATE)}


@program(246, compare="ordered_by_key:0", mode="streaming", watermarks="each record")
def late_records_with_count_trigger(env: StreamExecutionEnvironment) -> DataStream:
    """A count trigger ignores time, yet late records are dropped; ended windows lose the rest."""
    events = [
        ("a", 1, 1_000),
        ("a", 2, 2_000),
        ("a", 4, 3_000),
        ("a", 8, 6_000),
        ("a", 16, 4_000),
        ("a", 32, 7_000),
    ]
    windowed = ordered(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.trigger(CountTrigger.of(2)).process(Span())


@program(247, compare="ordered_by_key:0", mode="streaming", watermarks="each record")
def late_window_after_window(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A refired window is late for the window after it, unless that one allows lateness as well."""
    events = [("a", 1, 1_000), ("a", 2, 5_100), ("a", 4, 2_000), ("a", 8, 12_000)]
    windowed = ordered(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    totals = windowed.allowed_lateness(2_000).reduce(add)
    again = totals.key_by(lambda event: event[0]).window(FIVE_SECONDS).side_output_late_data(LATE)
    main = again.process(Span())
    return {"main": main, "late": main.get_side_output(LATE)}
