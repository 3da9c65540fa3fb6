"""The assigners of count windows, handed to window().

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import CountSlidingWindowAssigner, CountTumblingWindowAssigner


def pair_sum(left, right):
    return left[0], left[1] + right[1]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    keyed = env.from_collection([("a", 2**number) for number in range(8)]).key_by(
        lambda event: event[0]
    )
    return {
        "tumbling": keyed.window(CountTumblingWindowAssigner.of(3)).reduce(pair_sum),
        "sliding": keyed.window(CountSlidingWindowAssigner.of(3, 2)).reduce(pair_sum),
    }
