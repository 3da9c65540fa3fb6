"""With two subtasks, each has all rules: every key sees them at the end.

compare: multiset
parallelism: 2
mode: streaming
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, KeyedBroadcastProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


RULES = MapStateDescriptor("rules", Types.INT(), Types.STRING())


class Show(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(1_000_000)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])

    def on_timer(self, timestamp, ctx):
        rules = ctx.get_broadcast_state(RULES)
        yield ctx.get_current_key(), sorted(rules.items()), rules.contains(1), rules.get(9)


def build(env: StreamExecutionEnvironment) -> DataStream:
    rules = timed(env, [(1, "one", 10), (2, "two", 10), (3, "three", 20)]).broadcast(RULES)
    events = timed(env, [(name, 0, 10) for name in "abcdefgh"])
    return events.key_by(lambda event: event[0]).connect(rules).process(Show())
