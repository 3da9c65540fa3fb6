"""Two streams of different types in one map; None gives nothing.

compare: multiset
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import CoMapFunction, DataStream, StreamExecutionEnvironment


class ToText(CoMapFunction):
    def map1(self, value):
        return f"number {value}" if value != 2 else None

    def map2(self, value):
        return f"text {value}"


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection([1, 2, 3])
        .connect(env.from_collection(["a", "b"]))
        .map(ToText(), output_type=Types.STRING())
    )
