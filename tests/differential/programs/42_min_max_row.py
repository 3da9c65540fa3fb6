"""Rolling min, max, min_by and max_by over a field of typed Rows by name.

compare: ordered_by_key:key
parallelism: 1
mode: streaming
"""

from pyflink.common import Row, Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment

KIND = Types.ROW_NAMED(["key", "n", "note"], [Types.STRING(), Types.INT(), Types.STRING()])


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    keyed = env.from_collection(
        [Row("a", 3, "x"), Row("b", 2, "y"), Row("a", 1, "z"), Row("a", 5, "w")], type_info=KIND
    ).key_by(lambda row: row.key)
    return {
        "min": keyed.min("n"),
        "max": keyed.max("n"),
        "min_by": keyed.min_by("n"),
        "max_by": keyed.max_by("n"),
    }
