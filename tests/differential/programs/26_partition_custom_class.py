"""A custom partitioner and its key selector as classes.

compare: printed_multiset
parallelism: 2
mode: streaming
"""

from pyflink.common import Types
from pyflink.datastream import KeySelector, Partitioner, StreamExecutionEnvironment


class ByLength(Partitioner):
    def partition(self, key: int, num_partitions: int) -> int:
        return key % num_partitions


class Length(KeySelector):
    def get_key(self, value: str) -> int:
        return len(value)


def build(env: StreamExecutionEnvironment) -> None:
    (
        env.from_collection(["a", "bb", "ccc"], type_info=Types.STRING())
        .partition_custom(ByLength(), Length())
        .map(lambda word: word * 2, output_type=Types.STRING())
        .print()
    )
