"""Rows with positional and named types, nested, with None in a field.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Row, Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment

PLAIN = Types.ROW([Types.INT(), Types.STRING()])
NAMED = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
NESTED = Types.ROW_NAMED(["id", "inner"], [Types.INT(), NAMED])


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    plain = env.from_collection([Row(1, "a"), Row(2, None)], type_info=PLAIN)
    named = env.from_collection([Row(1, "a"), Row(2, None)], type_info=NAMED)
    nested = env.from_collection([Row(1, Row(2, "b"))], type_info=NESTED)
    return {
        "plain": plain,
        "named": named,
        "nested": nested,
        "mapped": named.map(lambda row: Row(row.id + 1, row["name"]), output_type=NAMED),
        "inner": nested.map(lambda row: (row.inner.name, row[1][0])),
    }
