"""Results of windows with declared types: a tuple, a named row, a text.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import WindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class AsTuple(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, len(list(inputs))


class AsRow(WindowFunction):
    def apply(self, key, window, inputs):
        yield Row(key, window.start, len(list(inputs)))


class AsText(WindowFunction):
    def apply(self, key, window, inputs):
        yield f"{key} {len(list(inputs))}"


EVENTS = [("a", 1, 1_000), ("a", 2, 6_000), ("a", 4, 2_000), ("b", 8, 7_000)]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    def windows():
        return (
            timed(env, EVENTS)
            .key_by(lambda event: event[0])
            .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        )

    row = Types.ROW_NAMED(["name", "start", "count"], [Types.STRING(), Types.LONG(), Types.INT()])
    return {
        "tuple": windows().apply(
            AsTuple(), output_type=Types.TUPLE([Types.STRING(), Types.LONG()])
        ),
        "row": windows().apply(AsRow(), output_type=row),
        "text": windows().apply(AsText(), output_type=Types.STRING()),
    }
