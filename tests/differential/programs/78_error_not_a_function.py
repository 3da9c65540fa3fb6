"""A map that is given something else than a function is refused while the program is built.

compare: raises:TypeError
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1]).map("not a function")
