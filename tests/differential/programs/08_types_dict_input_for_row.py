"""Tuples and named Rows given where a named Row type is declared.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.common import Row, Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment

NAMED = Types.ROW_NAMED(["b", "a"], [Types.INT(), Types.STRING()])


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    return {
        "tuples": env.from_collection([(1, "x")], type_info=NAMED),
        "dicts": env.from_collection([{"a": "x", "b": 1}], type_info=NAMED),
        "named_rows": env.from_collection([Row(a="x", b=1)], type_info=NAMED),
        "mapped_named_rows": env.from_collection([1, 2]).map(
            lambda number: Row(a=str(number), b=number), output_type=NAMED
        ),
    }
