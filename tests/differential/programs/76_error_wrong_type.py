"""Text where an integer is declared fails the job.

compare: raises
parallelism: 1
mode: streaming
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2]).map(lambda value: str(value), output_type=Types.INT())
