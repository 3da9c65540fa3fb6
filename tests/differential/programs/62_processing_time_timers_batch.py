"""Processing-time timers of a bounded input in batch mode fire when their key ends.

compare: ordered_by_key:0
parallelism: 1
mode: batch
"""

from pyflink.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment


class Later(KeyedProcessFunction):
    def process_element(self, value, ctx):
        now = ctx.timer_service().current_processing_time()
        ctx.timer_service().register_processing_time_timer(now + 3_600_000)
        yield value[0], "element", value[1]

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), "timer", ctx.time_domain().name


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([("a", 1), ("b", 2)]).key_by(lambda pair: pair[0]).process(Later())
