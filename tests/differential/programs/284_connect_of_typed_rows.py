"""Rows of declared types on both sides and in the result.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Row, Types
from pyflink.datastream import CoMapFunction, DataStream, StreamExecutionEnvironment


class Merge(CoMapFunction):
    def map1(self, value):
        return Row(value.name, value.size * 2)

    def map2(self, value):
        return Row(value.title, len(value.title))


def build(env: StreamExecutionEnvironment) -> DataStream:
    one = env.from_collection(
        [Row("a", 1), Row("b", 2)],
        type_info=Types.ROW_NAMED(["name", "size"], [Types.STRING(), Types.INT()]),
    )
    two = env.from_collection([Row("xyz")], type_info=Types.ROW_NAMED(["title"], [Types.STRING()]))
    result = Types.ROW_NAMED(["text", "number"], [Types.STRING(), Types.INT()])
    return one.connect(two).map(Merge(), output_type=result)
