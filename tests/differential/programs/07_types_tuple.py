"""Tuples with a declared type, nested, and with None in a field.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment

PAIR = Types.TUPLE([Types.INT(), Types.STRING()])
NESTED = Types.TUPLE([Types.INT(), PAIR, Types.LIST(Types.DOUBLE())])


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    pairs = env.from_collection([(1, "a"), (2, "b")], type_info=PAIR)
    nested = env.from_collection([(1, (2, "b"), [0.5, 1.5])], type_info=NESTED)
    return {
        "pairs": pairs,
        "nested": nested,
        "mapped": pairs.map(lambda pair: (pair[0] * 2, pair[1] * 2), output_type=PAIR),
    }
