"""One broadcast stream with two states: limits and names; a rule can be taken back.

compare: ordered_by_key:0
parallelism: 1
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


LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.LONG())
NAMES = MapStateDescriptor("names", Types.STRING(), Types.STRING())


class Show(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(500_000)

    def process_broadcast_element(self, value, ctx):
        kind, key, setting, _ = value
        if kind == "limit":
            ctx.get_broadcast_state(LIMITS).put(key, setting)
        elif kind == "name":
            ctx.get_broadcast_state(NAMES).put(key, setting)
        else:
            ctx.get_broadcast_state(LIMITS).remove(key)

    def on_timer(self, timestamp, ctx):
        key = ctx.get_current_key()
        limits, names = ctx.get_broadcast_state(LIMITS), ctx.get_broadcast_state(NAMES)
        yield key, limits.get(key), names.get(key), sorted(limits.keys()), sorted(names.values())


RULE_EVENTS = [
    ("limit", "a", 7, 10),
    ("name", "a", "first", 10),
    ("limit", "b", 8, 20),
    ("name", "b", "second", 20),
    ("drop", "b", None, 30),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    rules = timed(env, RULE_EVENTS).broadcast(LIMITS, NAMES)
    return (
        timed(env, [("a", 1, 10), ("b", 2, 20), ("c", 4, 40)])
        .key_by(lambda event: event[0])
        .connect(rules)
        .process(Show())
    )
