"""An error in open fails the job.

compare: raises:RuntimeError
parallelism: 1
mode: streaming
"""

from pyflink.datastream import (
    DataStream,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)


class Broken(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        raise RuntimeError("cannot open")

    def map(self, value):
        return value


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1]).map(Broken())
