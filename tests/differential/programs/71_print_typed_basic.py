"""What print writes for records of basic types.

compare: printed_multiset
parallelism: 1
mode: streaming
"""

from decimal import Decimal

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

CASES = [
    (Types.STRING(), ["text", ""]),
    (Types.INT(), [1, -5]),
    (Types.LONG(), [2**40]),
    (Types.BOOLEAN(), [True, False]),
    (Types.FLOAT(), [1.0, 0.1]),
    (Types.DOUBLE(), [1.0, 0.1, 1e20, 1e-5, float("nan"), float("inf")]),
    (Types.BIG_DEC(), [Decimal("1.50"), Decimal("1E+3")]),
]


def typed(env: StreamExecutionEnvironment, index: int):
    kind, values = CASES[index]
    return (
        env.from_collection(values, type_info=kind)
        .map(lambda value: value, output_type=kind)
        .print(f"case {index}")
    )


def build(env: StreamExecutionEnvironment) -> None:
    for index in range(len(CASES)):
        typed(env, index)
