"""What print writes for a Row inside a Row.

compare: printed_multiset
parallelism: 1
mode: streaming
"""

from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment

NAMED = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
NESTED = Types.ROW([Types.DOUBLE(), NAMED])


def build(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).map(lambda _: Row(0.5, Row(1, "a")), output_type=NESTED).print("row")
