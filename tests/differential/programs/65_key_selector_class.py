"""A KeySelector class, a declared key type, and keys that are tuples.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    KeySelector,
    StreamExecutionEnvironment,
)


class FirstTwo(KeySelector):
    def get_key(self, value):
        return value[0], value[1]


class Keys(KeyedProcessFunction):
    def process_element(self, value, ctx):
        key = ctx.get_current_key()
        yield key, type(key).__name__, value[2]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    source = env.from_collection([("a", 1, 0.5), ("a", 2, 1.5), ("a", 1, 2.5), ("b", 1, 3.5)])
    return {
        "untyped": source.key_by(FirstTwo()).process(Keys()),
        "typed": source.key_by(
            FirstTwo(), key_type=Types.TUPLE([Types.STRING(), Types.INT()])
        ).process(Keys()),
        "text": source.key_by(lambda item: item[0], key_type=Types.STRING()).process(Keys()),
    }
