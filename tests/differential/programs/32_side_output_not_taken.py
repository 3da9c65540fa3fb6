"""What is written to a tag that nobody takes is dropped.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, OutputTag, ProcessFunction, StreamExecutionEnvironment


class Drop(ProcessFunction):
    def process_element(self, value, ctx):
        yield OutputTag("dropped"), value
        yield value


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2]).process(Drop())
