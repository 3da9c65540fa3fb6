"""A plain ProcessFunction is refused by a keyed stream while the program is built.

compare: raises:TypeError
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, ProcessFunction, StreamExecutionEnvironment


class Plain(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1]).key_by(lambda value: value).process(Plain())
