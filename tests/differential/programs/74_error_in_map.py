"""An error in a user's function fails the job.

compare: raises:ZeroDivisionError
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 0, 2]).map(lambda value: 1 / value)
