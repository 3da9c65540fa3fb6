"""What a time window can do: compare, intersect, cover, say its bounds.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import TimeWindow


def facts(number):
    one, two, three = TimeWindow(0, 10), TimeWindow(10, 20), TimeWindow(5, 11)
    yield "text", str(one), repr([one, three])
    yield "bounds", one.start, one.end, one.max_timestamp()
    yield "equal", one == TimeWindow(0, 10), one == two, hash(one) == hash(TimeWindow(0, 10))
    yield "order", one < two, two < one, one <= one, sorted([two, three, one]) == [one, three, two]
    yield (
        "intersects",
        one.intersects(two),
        one.intersects(three),
        one.intersects(TimeWindow(11, 12)),
    )
    yield "cover", str(one.cover(two)), str(two.cover(three))
    for timestamp in (-11, -10, -1, 0, 9, 10):
        yield "start", timestamp, TimeWindow.get_window_start_with_offset(timestamp, 0, 10)
        yield (
            "start with offset",
            timestamp,
            TimeWindow.get_window_start_with_offset(timestamp, 3, 10),
        )


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1]).flat_map(facts)
