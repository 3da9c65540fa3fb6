"""The kind of a Row through typed and untyped maps.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.common import Row, RowKind, Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment

KIND = Types.ROW_NAMED(["n"], [Types.INT()])


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    kinds = env.from_collection([kind.name for kind in RowKind])
    return {
        "typed": kinds.map(lambda name: Row.of_kind(RowKind[name], 1), output_type=KIND),
        "untyped": kinds.map(lambda name: Row.of_kind(RowKind[name], 1)),
        "seen": kinds.map(lambda name: Row.of_kind(RowKind[name], 1), output_type=KIND).map(
            lambda row: (row.get_row_kind().name, row[0])
        ),
    }
