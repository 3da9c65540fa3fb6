"""A rolling reduce by key; in batch mode only the last value of each key comes out.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection(
            [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5), ("c", 6)],
            type_info=Types.TUPLE([Types.STRING(), Types.INT()]),
        )
        .key_by(lambda pair: pair[0])
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )
