"""Visits to a web site: a visit ends when its user has not clicked for thirty seconds."""

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
        clicks = sorted(self.clicks.get())
        visit = [at_ms for at_ms in clicks if at_ms <= timestamp - 30_000]
        later = clicks[len(visit) :]
        if not later or later[0] >= timestamp:
            self.clicks.update(later)
            yield f"{ctx.get_current_key()}: {len(visit)} clicks from {visit[0]} to {visit[-1]} ms"


env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda c: c[1])
clicks = env.from_collection(CLICKS).assign_timestamps_and_watermarks(times)
clicks.key_by(lambda click: click[0]).process(Visits()).print()
env.execute("visits")
