"""The word count: lines to words, words to pairs, pairs by word to their sum.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment

LINES = [
    "To be, or not to be,--that is the question:--",
    "Whether 'tis nobler in the mind to suffer",
    "The slings and arrows of outrageous fortune",
    "Or to take arms against a sea of troubles,",
]


def words(line: str):
    for word in line.lower().replace("-", " ").split():
        yield word.strip(",.:'")


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection(LINES, type_info=Types.STRING())
        .flat_map(words, output_type=Types.STRING())
        .map(lambda word: (word, 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0], key_type=Types.STRING())
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )
