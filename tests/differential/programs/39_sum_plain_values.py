"""A rolling sum of plain numbers, of text, and of numbers of two types.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    return {
        "ints": env.from_collection([1, 2, 3]).key_by(lambda value: 0).sum(),
        "text": env.from_collection(["a", "b"]).key_by(lambda value: 0).sum(0),
        "mixed": env.from_collection([1, 0.5, True]).key_by(lambda value: 0).sum(),
    }
