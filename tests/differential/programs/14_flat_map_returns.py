"""What a flat_map may give back: a list, a generator, a tuple, a set of one, an iterator, nothing.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def several(number: int):
    if number == 0:
        return [0, "list"]
    if number == 1:
        return (item for item in (1, "generator"))
    if number == 2:
        return 2, "tuple"
    if number == 3:
        return {3}
    if number == 4:
        return iter([4, "iterator"])
    if number == 5:
        return []
    if number == 6:
        return "ab"
    return {"key": "of a dict"}


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(list(range(8))).flat_map(several)
