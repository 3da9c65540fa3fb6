"""Operators with a parallelism, name and uid of their own.

compare: multiset
parallelism: 2
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection(list(range(10)))
        .map(lambda value: value + 1)
        .name("add one")
        .uid("add-one")
        .set_parallelism(1)
        .map(lambda value: value * 2)
        .set_max_parallelism(4)
        .start_new_chain()
        .filter(lambda value: value > 4)
        .disable_chaining()
    )
