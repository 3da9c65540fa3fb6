"""Rolling min_by and max_by over a field of tuples: whole records, the first among equals.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    keyed = env.from_collection(
        [("a", 3, "x"), ("b", 2, "y"), ("a", 1, "z"), ("a", 5, "w"), ("b", 2, "v"), ("a", 1, "u")]
    ).key_by(lambda item: item[0])
    return {"min_by": keyed.min_by(1), "max_by": keyed.max_by(1)}
