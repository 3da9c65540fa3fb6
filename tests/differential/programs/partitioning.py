"""How streams are brought together and spread: unions, exchanges, partitioners."""

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ValueStateDescriptor

from .common import program


@program(21, compare="multiset")
def union(env: StreamExecutionEnvironment) -> DataStream:
    """A union of three streams, one of them mapped, followed by a filter."""
    first = env.from_collection([1, 2])
    second = env.from_collection([10, 20]).map(lambda value: value + 1)
    third = env.from_collection([100, 200])
    return first.union(second, third).filter(lambda value: value != 200)


@program(23, compare="multiset", mode="streaming")
def union_with_itself(env: StreamExecutionEnvironment) -> DataStream:
    """A stream in union with itself and with its own map: every record is there each time."""
    source = env.from_collection([1, 2, 3])
    return source.union(source, source.map(lambda value: -value))


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.seen = runtime_context.get_state(
            ValueStateDescriptor("seen", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        count = (self.seen.value() or 0) + 1
        self.seen.update(count)
        yield ctx.get_current_key(), count


@program(22, compare="ordered_by_key:0", parallelism=2, mode="streaming")
def union_keyed(env: StreamExecutionEnvironment) -> DataStream:
    """A union of two streams, counted by key."""
    left = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
    right = env.from_collection([("b", 4), ("c", 5)])
    return left.union(right).key_by(lambda pair: pair[0]).process(Count())


@program(24, compare="multiset", parallelism=2)
def partitioning(env: StreamExecutionEnvironment) -> DataStream:
    """Rebalance, shuffle, rescale and forward lose and double nothing."""
    return (
        env.from_collection(list(range(20)))
        .rebalance()
        .map(lambda value: value + 1)
        .shuffle()
        .map(lambda value: value * 2)
        .rescale()
        .map(lambda value: value - 1)
        .forward()
        .filter(lambda value: value % 3 != 0)
    )


class WithSubtask(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.subtasks = runtime_context.get_number_of_parallel_subtasks()

    def map(self, value):
        return f"{value} in {self.subtask} of {self.subtasks}"


@program(25, compare="printed_multiset", parallelism=2, mode="streaming")
def partition_custom(env: StreamExecutionEnvironment) -> None:
    """A custom partitioner: which subtask a record meets is what the partitioner said.

    Printed, since PyFlink 2.3 tells a partitioner the number of partitions in execute only.
    """
    (
        env.from_collection(list(range(8)))
        .partition_custom(lambda key, partitions: key % partitions, lambda value: value // 2)
        .map(WithSubtask(), output_type=Types.STRING())
        .print()
    )


class ByLength(Partitioner):
    def partition(self, key: int, num_partitions: int) -> int:
        return key % num_partitions


class Length(KeySelector):
    def get_key(self, value: str) -> int:
        return len(value)


@program(26, compare="printed_multiset", parallelism=2, mode="streaming")
def partition_custom_class(env: StreamExecutionEnvironment) -> None:
    """A custom partitioner and its key selector as classes."""
    (
        env.from_collection(["a", "bb", "ccc"], type_info=Types.STRING())
        .partition_custom(ByLength(), Length())
        .map(lambda word: word * 2, output_type=Types.STRING())
        .print()
    )


@program(27, compare="multiset", parallelism=2)
def parallelism_of_operators(env: StreamExecutionEnvironment) -> DataStream:
    """Operators with a parallelism, name and uid of their own."""
    return (
        env.from_collection(list(range(10)))
        .map(lambda value: value + 1)
        .name("add one")
        .uid("add-one")
        .set_parallelism(1)
        .map(lambda value: value * 2)
        .set_max_parallelism(4)
        .start_new_chain()
        .filter(lambda value: value > 4)
        .disable_chaining()
    )
