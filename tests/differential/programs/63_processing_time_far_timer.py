"""A processing-time timer an hour ahead does not hold up, or fire at, the end of a stream.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment


class Later(KeyedProcessFunction):
    def process_element(self, value, ctx):
        now = ctx.timer_service().current_processing_time()
        ctx.timer_service().register_processing_time_timer(now + 3_600_000)
        yield value, now > 1_600_000_000_000

    def on_timer(self, timestamp, ctx):
        yield "fired", timestamp


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2]).key_by(lambda value: value).process(Later())
