"""What process_element may give back: a list, None, a generator, a tuple.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, ProcessFunction, StreamExecutionEnvironment


class Returns(ProcessFunction):
    def process_element(self, value, ctx):
        if value == 0:
            return [0, "list"]
        if value == 1:
            return None
        if value == 2:
            return (item for item in (2, "generator"))
        return value, "tuple"


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([0, 1, 2, 3]).process(Returns())
