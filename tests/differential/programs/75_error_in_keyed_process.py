"""An error of the user's own class in a keyed process function fails the job.

compare: raises:LookupError
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment


class Missing(LookupError):
    pass


class Find(KeyedProcessFunction):
    def process_element(self, value, ctx):
        if value == 2:
            raise Missing(f"no {value}")
        yield value


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2, 3]).key_by(lambda value: value).process(Find())
