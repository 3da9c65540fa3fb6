"""Where records come from: collections and number sequences, and streams without any."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

from .common import program


@program(1, compare="ordered")
def collection_of_ints(env: StreamExecutionEnvironment) -> DataStream:
    """Integers without a declared type, one map behind them."""
    return env.from_collection([3, 1, 2]).map(lambda value: value * 10)


@program(11, compare="multiset", parallelism=2)
def number_sequence(env: StreamExecutionEnvironment) -> DataStream:
    """A number sequence over two subtasks, without a declared type of its own."""
    numbers = env.from_source(
        NumberSequenceSource(1, 20), WatermarkStrategy.no_watermarks(), "numbers"
    )
    return numbers.map(lambda number: number * number)


@program(12, compare="ordered", mode="streaming")
def number_sequence_typed(env: StreamExecutionEnvironment) -> DataStream:
    """A number sequence with a declared type, summed over one key."""
    numbers = env.from_source(
        NumberSequenceSource(-3, 6), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    )
    return numbers.key_by(lambda number: number % 2, key_type=Types.LONG()).sum()


@program(84, compare="ordered")
def empty_streams(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Streams that end with no record at all: filtered to nothing, and keyed after that."""
    nothing = env.from_collection([1, 2]).filter(lambda value: False)
    return {
        "filtered": nothing,
        "reduced": nothing.key_by(lambda value: value).sum(),
        "empty_collection": env.from_collection([], type_info=Types.INT()).map(lambda value: value),
    }
