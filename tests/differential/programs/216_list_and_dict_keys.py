"""Lists and dicts as keys: equal ones are one key.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment


def tally(left, right):
    return left[0], left[1] + right[1]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    lists = env.from_collection([([1, 2], 1), ([2, 1], 2), ([1, 2], 4)])
    dicts = env.from_collection([({"x": 1}, 1), ({"x": 2}, 2), ({"x": 1}, 4)])
    return {
        "list": lists.key_by(lambda event: event[0])
        .reduce(tally)
        .map(lambda pair: (str(pair[0]), pair[1])),
        "dict": dicts.key_by(lambda event: event[0])
        .reduce(tally)
        .map(lambda pair: (str(pair[0]), pair[1])),
    }
