"""Two streams in one CoProcessFunction, with timestamps and a side output for each half.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import CoProcessFunction, DataStream, OutputTag, StreamExecutionEnvironment


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


LEFT, RIGHT = OutputTag("left"), OutputTag("right", Types.STRING())


class Both(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield value[0], ctx.timestamp()
        yield LEFT, value[1]

    def process_element2(self, value, ctx):
        yield RIGHT, f"{value[0]} at {ctx.timestamp()}"


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    one = timed(env, [("a", 1, 10), ("b", 2, 20)])
    two = timed(env, [("c", 3, 30)])
    main = one.connect(two).process(Both())
    return {"main": main, "left": main.get_side_output(LEFT), "right": main.get_side_output(RIGHT)}
