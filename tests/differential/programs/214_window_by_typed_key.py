"""Windows by a key of a declared type: an integer, a tuple.

compare: multiset
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, sorted(element[1] for element in elements)


EVENTS = [("a", 1, 1_000), ("b", 2, 2_000), ("a", 3, 3_000), ("b", 12, 4_000)]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    windows = TumblingEventTimeWindows.of(Time.seconds(5))
    length = timed(env, EVENTS).key_by(lambda event: event[1] % 2, key_type=Types.INT())
    pair = timed(env, EVENTS).key_by(
        lambda event: (event[0], event[1] % 2), key_type=Types.TUPLE([Types.STRING(), Types.INT()])
    )
    return {
        "integer": length.window(windows).process(Show()),
        "tuple": pair.window(windows).process(Show()),
    }
