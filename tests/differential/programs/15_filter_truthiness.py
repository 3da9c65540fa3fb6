"""A filter keeps what is truthy, whatever the type of the answer.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment

ANSWERS = [0, 1, "", "no", None, [], [0], 0.0, -1]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    answers = env.from_collection([(answer,) for answer in ANSWERS])
    return {
        "plain": answers.filter(lambda answer: answer[0]),
        "keyed": answers.key_by(lambda answer: 1).filter(lambda answer: answer[0]),
    }
