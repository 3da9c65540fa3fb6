"""A number sequence with a declared type, summed over one key.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource


def build(env: StreamExecutionEnvironment) -> DataStream:
    numbers = env.from_source(
        NumberSequenceSource(-3, 6), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    )
    return numbers.key_by(lambda number: number % 2, key_type=Types.LONG()).sum()
