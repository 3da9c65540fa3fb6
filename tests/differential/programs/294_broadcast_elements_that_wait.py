"""Elements that come before their rule wait in state for the end; what each key gives in all
does not depend on what came first.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    DataStream,
    KeyedBroadcastProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Wait(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.LONG()))
        self.done = runtime_context.get_list_state(ListStateDescriptor("done", Types.LONG()))

    def process_element(self, value, ctx):
        rule = ctx.get_broadcast_state(RULES).get(value[0])
        if rule is None:
            self.waiting.add(value[1])
        else:
            self.done.add(value[1] * rule)
        ctx.timer_service().register_event_time_timer(500_000)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])

    def on_timer(self, timestamp, ctx):
        rule = ctx.get_broadcast_state(RULES).get(ctx.get_current_key())
        late = [value * (rule or 0) for value in self.waiting.get()]
        yield ctx.get_current_key(), sorted([*self.done.get(), *late])


def build(env: StreamExecutionEnvironment) -> DataStream:
    rules = timed(env, [("a", 7, 10), ("b", 8, 10)]).broadcast(RULES)
    events = timed(env, [("a", 1, 10), ("b", 2, 20), ("a", 3, 30), ("c", 4, 40)])
    return events.key_by(lambda event: event[0]).connect(rules).process(Wait())
