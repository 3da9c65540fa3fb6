"""A field name that a Row does not have fails the job.

compare: raises:AttributeError
parallelism: 1
mode: streaming
"""

from pyflink.common import Row
from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([Row(a=1)]).map(lambda row: row.b)
