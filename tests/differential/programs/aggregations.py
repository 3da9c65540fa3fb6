"""Rolling aggregations by key: reduce, sum, min and max, and those of whole records."""

from pyflink.common import Row, Types
from pyflink.datastream import (
    DataStream,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)

from .common import program


@program(35, compare="ordered_by_key:0", parallelism=2)
def reduce(env: StreamExecutionEnvironment) -> DataStream:
    """A rolling reduce by key; in batch mode only the last value of each key comes out."""
    return (
        env.from_collection(
            [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5), ("c", 6)],
            type_info=Types.TUPLE([Types.STRING(), Types.INT()]),
        )
        .key_by(lambda pair: pair[0])
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )


class Join(ReduceFunction):
    def reduce(self, value1, value2):
        return value1[0], f"({value1[1]}+{value2[1]})"


@program(36, compare="ordered_by_key:0")
def reduce_function_class(env: StreamExecutionEnvironment) -> DataStream:
    """A ReduceFunction over untyped records; the first record of a key passes as it is."""
    pairs = [(1, "a"), (2, "b"), (1, "c"), (1, "d"), (2, "e")]
    return env.from_collection(pairs).key_by(lambda pair: pair[0]).reduce(Join())


@program(44, compare="ordered_by_key:0", mode="streaming")
def reduce_then_map(env: StreamExecutionEnvironment) -> DataStream:
    """A rolling reduce with keyed stages and maps behind it, in one chain of three keyed stages."""
    return (
        env.from_collection([("a", 1), ("b", 2), ("a", 3), ("b", 4), ("a", 5)])
        .key_by(lambda pair: pair[0])
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
        .map(lambda pair: (pair[0], pair[1] * 10))
        .key_by(lambda pair: pair[0])
        .max(1)
        .key_by(lambda pair: pair[0])
        .sum(1)
    )


def words(line: str):
    for word in line.lower().replace("-", " ").split():
        yield word.strip(",.:'")


@program(83, compare="ordered_by_key:0", parallelism=2)
def word_count(env: StreamExecutionEnvironment) -> DataStream:
    """The word count: lines to words, words to pairs, pairs by word to their sum."""
    lines = [
        "To be, or not to be,--that is the question:--",
        "Whether 'tis nobler in the mind to suffer",
        "The slings and arrows of outrageous fortune",
        "Or to take arms against a sea of troubles,",
    ]
    return (
        env.from_collection(lines, type_info=Types.STRING())
        .flat_map(words, output_type=Types.STRING())
        .map(lambda word: (word, 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0], key_type=Types.STRING())
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )


class Weighted(ReduceFunction):
    def open(self, runtime_context: RuntimeContext):
        self.factor = 10

    def reduce(self, value1, value2):
        return value1[0], value1[1] + self.factor * value2[1]


@program(220, compare="ordered_by_key:0", mode="streaming")
def keyed_reduce_with_open(env: StreamExecutionEnvironment) -> DataStream:
    """A ReduceFunction that opens: what it set is there when it reduces."""
    return (
        env.from_collection([("a", 1), ("b", 2), ("a", 3), ("a", 4)])
        .key_by(lambda event: event[0])
        .reduce(Weighted())
    )


@program(37, compare="ordered_by_key:0", parallelism=2)
def sum_tuple(env: StreamExecutionEnvironment) -> DataStream:
    """A rolling sum over a field of tuples: the other fields stay those of the first record."""
    return (
        env.from_collection([("a", 1, "x"), ("b", 2, "y"), ("a", 3, "z"), ("a", 4, "w")])
        .key_by(lambda item: item[0])
        .sum(1)
    )


ROW_TYPE = Types.ROW_NAMED(["key", "n", "note"], [Types.STRING(), Types.INT(), Types.STRING()])


@program(38, compare="ordered_by_key:0", parallelism=2)
def sum_row(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A rolling sum over a field of Rows, by index and by name."""
    rows = env.from_collection(
        [Row("a", 1, "x"), Row("b", 2, "y"), Row("a", 3, "z")], type_info=ROW_TYPE
    )
    return {
        "by_index": rows.key_by(lambda row: row[0]).sum(1),
        "by_name": rows.key_by(lambda row: row.key).sum("n"),
    }


@program(39, compare="ordered", mode="streaming")
def sum_plain_values(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A rolling sum of plain numbers, of text, and of numbers of two types."""
    return {
        "ints": env.from_collection([1, 2, 3]).key_by(lambda value: 0).sum(),
        "text": env.from_collection(["a", "b"]).key_by(lambda value: 0).sum(0),
        "mixed": env.from_collection([1, 0.5, True]).key_by(lambda value: 0).sum(),
    }


@program(40, compare="ordered_by_key:0", parallelism=2)
def min_max_tuple(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Rolling min and max over a field of tuples: only that field changes."""
    keyed = env.from_collection(
        [("a", 3, "x"), ("b", 2, "y"), ("a", 1, "z"), ("a", 5, "w"), ("b", 2, "v")]
    ).key_by(lambda item: item[0])
    return {"min": keyed.min(1), "max": keyed.max(1)}


@program(41, compare="ordered_by_key:0", parallelism=2)
def min_by_max_by_tuple(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Rolling min_by and max_by over a field of tuples: whole records, the first among equals."""
    keyed = env.from_collection(
        [("a", 3, "x"), ("b", 2, "y"), ("a", 1, "z"), ("a", 5, "w"), ("b", 2, "v"), ("a", 1, "u")]
    ).key_by(lambda item: item[0])
    return {"min_by": keyed.min_by(1), "max_by": keyed.max_by(1)}


@program(42, compare="ordered_by_key:key", mode="streaming")
def min_max_row(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Rolling min, max, min_by and max_by over a field of typed Rows by name."""
    keyed = env.from_collection(
        [Row("a", 3, "x"), Row("b", 2, "y"), Row("a", 1, "z"), Row("a", 5, "w")], type_info=ROW_TYPE
    ).key_by(lambda row: row.key)
    return {
        "min": keyed.min("n"),
        "max": keyed.max("n"),
        "min_by": keyed.min_by("n"),
        "max_by": keyed.max_by("n"),
    }


@program(43, compare="ordered", mode="streaming")
def min_max_plain_values(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Rolling min, max, min_by and max_by of plain values."""
    keyed = env.from_collection([3, 1, 2, 5]).key_by(lambda value: "all")
    return {
        "min": keyed.min(),
        "max": keyed.max(0),
        "min_by": keyed.min_by(),
        "max_by": keyed.max_by(),
    }
