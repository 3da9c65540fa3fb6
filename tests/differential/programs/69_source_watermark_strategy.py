"""A watermark strategy with a timestamp assigner handed to from_source.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, ProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource


class Minutes(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value * 60_000


class Stamp(ProcessFunction):
    def process_element(self, value, ctx):
        yield value, ctx.timestamp()


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Minutes())
    return env.from_source(NumberSequenceSource(1, 5), strategy, "numbers", Types.LONG()).process(
        Stamp()
    )
