"""What a count window holds, and its id: in the order of arrival, by key.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield (
            key,
            context.window().id,
            context.window().max_timestamp(),
            [element[1] for element in elements],
        )


EVENTS = [("a", 1), ("b", 10), ("a", 2), ("a", 3), ("b", 20), ("a", 4), ("a", 5)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection(EVENTS).key_by(lambda event: event[0]).count_window(2).process(Show())
    )
