"""Streams that end with no record at all: filtered to nothing, and keyed after that.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    nothing = env.from_collection([1, 2]).filter(lambda value: False)
    return {
        "filtered": nothing,
        "reduced": nothing.key_by(lambda value: value).sum(),
        "empty_collection": env.from_collection([], type_info=Types.INT()).map(lambda value: value),
    }
