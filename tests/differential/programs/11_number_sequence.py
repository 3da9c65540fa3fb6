"""A number sequence over two subtasks, without a declared type of its own.

compare: multiset
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource


def build(env: StreamExecutionEnvironment) -> DataStream:
    numbers = env.from_source(
        NumberSequenceSource(1, 20), WatermarkStrategy.no_watermarks(), "numbers"
    )
    return numbers.map(lambda number: number * number)
