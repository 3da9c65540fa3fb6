"""A tag that no function ever writes to gives an empty stream.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, OutputTag, ProcessFunction, StreamExecutionEnvironment


class Same(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    main = env.from_collection([1, 2]).process(Same())
    return {
        "main": main,
        "unused": main.get_side_output(OutputTag("unused", Types.STRING())),
    }
