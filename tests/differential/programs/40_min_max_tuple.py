"""Rolling min and max over a field of tuples: only that field changes.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    keyed = env.from_collection(
        [("a", 3, "x"), ("b", 2, "y"), ("a", 1, "z"), ("a", 5, "w"), ("b", 2, "v")]
    ).key_by(lambda item: item[0])
    return {"min": keyed.min(1), "max": keyed.max(1)}
