"""Event-time windows over records without timestamps fail.

compare: raises:Exception
parallelism: 1
mode: streaming
"""

from pyflink.common.time import Time
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import TumblingEventTimeWindows


def build(env: StreamExecutionEnvironment) -> DataStream:
    keyed = env.from_collection([("a", 1, 2)]).key_by(lambda event: event[0])
    return keyed.window(TumblingEventTimeWindows.of(Time.seconds(5))).reduce(
        lambda left, right: left
    )
