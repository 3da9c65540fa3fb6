"""What the four results of a trigger say about themselves.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment, TriggerResult


def build(env: StreamExecutionEnvironment) -> DataStream:
    def say(name):
        result = TriggerResult[name]
        return name, result.is_fire(), result.is_purge()

    return env.from_collection(["CONTINUE", "FIRE_AND_PURGE", "FIRE", "PURGE"]).map(say)
