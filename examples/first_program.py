"""Visits to a web site: clicks of one user, until thirty seconds pass without another."""

from headrace.common import WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.state import ListStateDescriptor

CLICKS = [("ann", 1_000), ("bob", 2_000), ("ann", 9_000), ("bob", 70_000), ("ann", 95_000)]


class Visits(KeyedProcessFunction):
    def open(self, runtime_context):
        self.clicks = runtime_context.get_list_state(ListStateDescriptor("clicks"))

    def process_element(self, click, ctx):
        self.clicks.add(click[1])
        ctx.timer_service().register_event_time_timer(click[1] + 30_000)

    def on_timer(self, timestamp, ctx):
        clicks = list(self.clicks.get())
        if timestamp == clicks[-1] + 30_000:
            yield f"{ctx.get_current_key()}: {len(clicks)} clicks, the last at {clicks[-1]} ms"
            self.clicks.clear()


env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda c: c[1])
clicks = env.from_collection(CLICKS).assign_timestamps_and_watermarks(times)
clicks.key_by(lambda click: click[0]).process(Visits()).print()
env.execute("visits")
