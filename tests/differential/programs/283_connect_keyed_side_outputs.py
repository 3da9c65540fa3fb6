"""Side outputs of a KeyedCoProcessFunction, from either half and from a timer.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    DataStream,
    KeyedCoProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


NOTES = OutputTag("notes", Types.STRING())


class Note(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        yield NOTES, f"left {value[1]}"
        yield value[0], value[1]

    def process_element2(self, value, ctx):
        yield NOTES, f"right {value[1]}"
        ctx.timer_service().register_event_time_timer(5_000)

    def on_timer(self, timestamp, ctx):
        yield NOTES, f"timer of {ctx.get_current_key()} at {timestamp}"


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    left = timed(env, [("a", 1, 10), ("b", 2, 20)])
    right = timed(env, [("a", 3, 10), ("c", 4, 20)])
    main = (
        left.connect(right).key_by(lambda event: event[0], lambda event: event[0]).process(Note())
    )
    return {"main": main, "notes": main.get_side_output(NOTES)}
