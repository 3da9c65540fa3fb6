"""Connected streams take a CoMapFunction for map.

compare: raises:TypeError
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1]).connect(env.from_collection(["a"])).map(lambda value: value)
