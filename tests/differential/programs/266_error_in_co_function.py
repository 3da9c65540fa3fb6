"""An error in one half of a connected function fails the job.

compare: raises:ValueError
parallelism: 1
mode: streaming
"""

from pyflink.datastream import CoMapFunction, DataStream, StreamExecutionEnvironment


class Broken(CoMapFunction):
    def map1(self, value):
        return value

    def map2(self, value):
        raise ValueError(value)


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1]).connect(env.from_collection(["a"])).map(Broken())
