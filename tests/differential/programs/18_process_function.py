"""A process function that yields several records, or none, for one.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, ProcessFunction, StreamExecutionEnvironment


class Countdown(ProcessFunction):
    def process_element(self, value, ctx: ProcessFunction.Context):
        while value > 0:
            yield value
            value -= 1


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([2, 0, 3]).process(Countdown(), output_type=Types.INT())
