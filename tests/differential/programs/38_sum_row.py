"""A rolling sum over a field of Rows, by index and by name.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import Row, Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment

KIND = Types.ROW_NAMED(["key", "n", "note"], [Types.STRING(), Types.INT(), Types.STRING()])


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    rows = env.from_collection(
        [Row("a", 1, "x"), Row("b", 2, "y"), Row("a", 3, "z")], type_info=KIND
    )
    return {
        "by_index": rows.key_by(lambda row: row[0]).sum(1),
        "by_name": rows.key_by(lambda row: row.key).sum("n"),
    }
