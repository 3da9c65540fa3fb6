"""Results of asynchronous calls keep the timestamps of their records: a window after them is the
same.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

import asyncio

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    StreamExecutionEnvironment,
)
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


class Span(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


class Double(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(0)
        return [(value[0], value[1] * 2, value[2]), (value[0], 0, value[2])]


EVENTS = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 5, 12_000)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    doubled = AsyncDataStream.unordered_wait(timed(env, EVENTS), Double(), Time.seconds(10))
    return (
        doubled.key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .process(Span())
    )
