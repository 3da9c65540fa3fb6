"""ctx.timestamp() with an assigner, before and after a map and a filter, and without any.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, ProcessFunction, StreamExecutionEnvironment


class Thousandfold(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value * 1000


class Again(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return record_timestamp + 1


class Stamp(ProcessFunction):
    def process_element(self, value, ctx):
        yield value, ctx.timestamp()


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    source = env.from_collection([3, 1, 2])
    stamped = source.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_bounded_out_of_orderness(
            Duration.of_millis(5)
        ).with_timestamp_assigner(Thousandfold())
    )
    again = stamped.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Again())
    )
    return {
        "stamped": stamped.process(Stamp()),
        "after_map": stamped.map(lambda value: -value).filter(lambda value: True).process(Stamp()),
        "after_flat_map": stamped.flat_map(lambda value: [value, value]).process(Stamp()),
        "again": again.process(Stamp()),
        "again_after_flat_map": stamped.flat_map(lambda value: [value, value, value])
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Again())
        )
        .process(Stamp()),
        "never": source.process(Stamp()),
    }
