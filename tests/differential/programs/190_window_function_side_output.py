"""Side outputs of a window function: large windows go to one side.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


LARGE = OutputTag("large", Types.TUPLE([Types.STRING(), Types.INT()]))


class Split(ProcessWindowFunction):
    def process(self, key, context, elements):
        count = len(list(elements))
        if count > 2:
            yield LARGE, (key, count)
        else:
            yield key, context.window().start, count


EVENTS = [("a", 1, 1_000), ("a", 2, 2_000), ("a", 3, 3_000), ("b", 4, 2_000), ("a", 5, 8_000)]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    main = (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .process(Split())
    )
    return {"main": main, "large": main.get_side_output(LARGE)}
