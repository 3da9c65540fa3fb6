"""Map, flat_map and filter on a keyed stream, and key_by again on what comes out.

compare: multiset
parallelism: 2
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection([("a", 1), ("b", 2), ("a", 3)])
        .key_by(lambda pair: pair[0])
        .map(lambda pair: (pair[0], pair[1] * 2))
        .key_by(lambda pair: pair[1])
        .flat_map(lambda pair: [pair, (pair[0] * 2, pair[1])])
        .key_by(lambda pair: pair[0])
        .filter(lambda pair: pair != ("aa", 2))
    )
