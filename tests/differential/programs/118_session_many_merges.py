"""Sessions of records in falling order of time: every record extends the session at its
beginning, and one record in the middle of nowhere ends up alone.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import EventTimeSessionWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Span(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


EVENTS = [("a", number, 30_000 - 2_000 * number) for number in range(10)] + [("a", 99, 50_000)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(EventTimeSessionWindows.with_gap(Time.seconds(3)))
        .process(Span())
    )
