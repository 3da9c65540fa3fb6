"""A chain of map, flat_map and filter as plain callables.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment


def words(line: str):
    yield from line.split()


def build(env: StreamExecutionEnvironment) -> DataStream:
    lines = env.from_collection(["to be or not", "", "to be"], type_info=Types.STRING())
    return (
        lines.flat_map(words, output_type=Types.STRING())
        .filter(lambda word: len(word) == 2)
        .map(lambda word: (word.upper(), len(word)))
    )
