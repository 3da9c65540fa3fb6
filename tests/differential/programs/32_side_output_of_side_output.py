"""A process function on a side output, with a side output of its own under the same id.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import DataStream, OutputTag, ProcessFunction, StreamExecutionEnvironment

LARGE = OutputTag("large")


class Above(ProcessFunction):
    def __init__(self, limit: int):
        self.limit = limit

    def process_element(self, value, ctx):
        if value > self.limit:
            yield LARGE, value
        else:
            yield value


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    first = env.from_collection([1, 15, 25, 12, 30, 2]).process(Above(10))
    second = first.get_side_output(LARGE).process(Above(20))
    return {
        "first": first,
        "second": second,
        "largest": second.get_side_output(LARGE).map(lambda value: -value),
    }
