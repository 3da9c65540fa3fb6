"""Projection of typed tuples: always a tuple, of one field too.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    tuples = env.from_collection(
        [(1, "a", 0.5), (2, "b", 1.5)],
        type_info=Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE()]),
    )
    return {
        "two": tuples.project(2, 0),
        "one": tuples.project(1),
        "one_by_one": tuples.project(2, 0).map(lambda pair: (type(pair).__name__, pair[1])),
    }
