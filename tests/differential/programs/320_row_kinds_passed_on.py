"""The kind of a Row through filter, flat_map, process, an exchange, and a map that makes one.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Row, RowKind, Types
from pyflink.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment

PAIR = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.INT()])


class Twice(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value
        yield Row.of_kind(RowKind.DELETE, value[0], -value[1])


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    names = env.from_collection([(kind.name, n) for n, kind in enumerate(RowKind)])
    rows = names.map(lambda pair: Row.of_kind(RowKind[pair[0]], "a", pair[1]), output_type=PAIR)
    return {
        "filter": rows.filter(lambda row: row[1] != 2),
        "flat_map": rows.flat_map(lambda row: [row, row], output_type=PAIR),
        "made": rows.map(lambda row: Row(row[0], row[1] + 1), output_type=PAIR),
        "rebalanced": rows.rebalance().map(lambda row: row, output_type=PAIR),
        "keyed": rows.key_by(lambda row: row[0]).map(lambda row: row, output_type=PAIR),
        "process": rows.key_by(lambda row: row[0]).process(Twice(), output_type=PAIR),
        "without a type": rows.filter(lambda row: True).map(lambda row: row),
    }
