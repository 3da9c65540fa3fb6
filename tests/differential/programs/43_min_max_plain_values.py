"""Rolling min, max, min_by and max_by of plain values.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    keyed = env.from_collection([3, 1, 2, 5]).key_by(lambda value: "all")
    return {
        "min": keyed.min(),
        "max": keyed.max(0),
        "min_by": keyed.min_by(),
        "max_by": keyed.max_by(),
    }
