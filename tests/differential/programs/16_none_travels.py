"""None as a record of an untyped collection, collected and filtered.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    source = env.from_collection([1, None, 2])
    return {
        "collection": source,
        "seen": source.map(lambda value: (value, value is None)),
    }
