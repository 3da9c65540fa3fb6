"""What print writes for Rows, tuples, lists and maps of declared types.

compare: printed_multiset
parallelism: 1
mode: streaming
"""

from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment

PAIR = Types.TUPLE([Types.INT(), Types.STRING()])
NAMED = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
CASES = {
    "row": (Types.ROW([Types.INT(), Types.STRING()]), [Row(1, "a"), Row(2, None)]),
    "named row": (NAMED, [Row(1, "a"), Row(2, None)]),
    "tuple": (PAIR, [(1, "a")]),
    "nested tuple": (Types.TUPLE([Types.BOOLEAN(), PAIR]), [(True, (1, "a"))]),
    "list": (Types.LIST(Types.INT()), [[1, 2], []]),
    "map": (Types.MAP(Types.STRING(), Types.INT()), [{"k": 1}, {}]),
    "tuple of list": (Types.TUPLE([Types.LIST(Types.STRING())]), [(["a", "b"],)]),
}


def build(env: StreamExecutionEnvironment) -> None:
    for name, (kind, values) in CASES.items():
        env.from_collection(list(range(len(values)))).map(
            lambda index, values=values: values[index], output_type=kind
        ).print(name)
