"""A FLOAT that single precision cannot hold: as functions see it, and as it is collected.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    floats = env.from_collection([0.1, 1 / 3], type_info=Types.FLOAT())
    return {"seen": floats.map(repr, output_type=Types.STRING()), "collected": floats}
