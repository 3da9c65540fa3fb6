"""Keys: what can be one, which are equal, and how functions see them."""

from datetime import date
from decimal import Decimal

from pyflink.common import Row, Types
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    KeySelector,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.state import ValueStateDescriptor

from .common import FIVE_SECONDS, program, timed


@program(33, compare="multiset", parallelism=2)
def key_by_then_map(env: StreamExecutionEnvironment) -> DataStream:
    """Map, flat_map and filter on a keyed stream, and key_by again on what comes out."""
    return (
        env.from_collection([("a", 1), ("b", 2), ("a", 3)])
        .key_by(lambda pair: pair[0])
        .map(lambda pair: (pair[0], pair[1] * 2))
        .key_by(lambda pair: pair[1])
        .flat_map(lambda pair: [pair, (pair[0] * 2, pair[1])])
        .key_by(lambda pair: pair[0])
        .filter(lambda pair: pair != ("aa", 2))
    )


class FirstTwo(KeySelector):
    def get_key(self, value):
        return value[0], value[1]


class Keys(KeyedProcessFunction):
    def process_element(self, value, ctx):
        key = ctx.get_current_key()
        yield key, type(key).__name__, value[2]


@program(65, compare="ordered_by_key:0", parallelism=2)
def key_selector_class(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A KeySelector class, a declared key type, and keys that are tuples."""
    source = env.from_collection([("a", 1, 0.5), ("a", 2, 1.5), ("a", 1, 2.5), ("b", 1, 3.5)])
    return {
        "untyped": source.key_by(FirstTwo()).process(Keys()),
        "typed": source.key_by(
            FirstTwo(), key_type=Types.TUPLE([Types.STRING(), Types.INT()])
        ).process(Keys()),
        "text": source.key_by(lambda item: item[0], key_type=Types.STRING()).process(Keys()),
    }


class Count(KeyedProcessFunction):
    """How often a key has come, beside what ``shown`` makes of the key."""

    def __init__(self, shown):
        self.shown = shown

    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield self.shown(ctx.get_current_key()), self.count.value()


@program(66, compare="ordered_by_key:0", parallelism=2)
def keys_of_many_types(env: StreamExecutionEnvironment) -> DataStream:
    """Records meet their state again whatever the type of the key."""
    keys = [1, -1, 2**40, "a", "", 1.5, False, (1, "a"), b"x", date(2024, 1, 1), Decimal("2.50")]
    records = [(index, number) for number in range(3) for index in range(len(keys))]
    return env.from_collection(records).key_by(lambda pair: keys[pair[0]]).process(Count(repr))


@program(88, compare="ordered_by_key:0", mode="streaming")
def keys_equal_in_python(env: StreamExecutionEnvironment) -> DataStream:
    """Keys of different types that are equal in Python."""
    keys = [1, True, 1.0, 1.5, Decimal("1.50")]
    return (
        env.from_collection(list(range(5))).key_by(lambda index: keys[index]).process(Count(float))
    )


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, sorted(element[1] for element in elements)


@program(213, compare="multiset")
def window_by_keys_of_many_types(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Windows by keys of several types, each stream with one type of key."""
    keys_by_type = {
        "text": ["a", "b", "a"],
        "integer": [1, 2, 1],
        "boolean": [True, False, True],
        "float": [0.5, 1.5, 0.5],
        "tuple": [("a", 1), ("a", 2), ("a", 1)],
        "bytes": [b"a", b"b", b"a"],
        "decimal": [Decimal("1.5"), Decimal("2"), Decimal("1.5")],
        "none": [None, "b", None],
    }

    def counted(keys):
        events = [(key, number, 1_000 + number) for number, key in enumerate(keys)]
        return (
            timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Show())
        )

    return {name: counted(keys) for name, keys in keys_by_type.items()}


EVENTS = [("a", 1, 1_000), ("b", 2, 2_000), ("a", 3, 3_000), ("b", 12, 4_000)]


@program(214, compare="multiset", parallelism=2)
def window_by_typed_key(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Windows by a key of a declared type: an integer, a tuple."""
    length = timed(env, EVENTS).key_by(lambda event: event[1] % 2, key_type=Types.INT())
    pair = timed(env, EVENTS).key_by(
        lambda event: (event[0], event[1] % 2), key_type=Types.TUPLE([Types.STRING(), Types.INT()])
    )
    return {
        "integer": length.window(FIVE_SECONDS).process(Show()),
        "tuple": pair.window(FIVE_SECONDS).process(Show()),
    }


class ShowFields(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key[0], key[1], sorted(element[1] for element in elements)


@program(215, compare="multiset", mode="streaming")
def window_by_row_key(env: StreamExecutionEnvironment) -> DataStream:
    """Windows by a row as the key."""
    keyed = timed(env, EVENTS).key_by(lambda event: Row(event[0], event[1] % 2))
    return keyed.window(FIVE_SECONDS).process(ShowFields())


def tally(left, right):
    return left[0], left[1] + right[1]


@program(216, compare="multiset")
def list_and_dict_keys(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Lists and dicts as keys: equal ones are one key."""
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


class Place:
    def __init__(self, name):
        self.name = name


class ShowPlaces(ProcessWindowFunction):
    def process(self, key, context, elements):
        text = key.name if isinstance(key, Place) else str(key)
        yield text, sorted(element[1] for element in elements)


@program(217, compare="multiset", mode="streaming")
def list_and_object_keys_of_windows(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Lists and plain objects as keys of windows: the serialized form decides."""
    events = [("a", 1, 1_000), ("b", 2, 2_000), ("a", 3, 3_000)]
    return {
        "list": timed(env, events)
        .key_by(lambda event: [event[0], 1])
        .window(FIVE_SECONDS)
        .process(ShowPlaces()),
        "object": timed(env, events)
        .key_by(lambda event: Place(event[0]))
        .window(FIVE_SECONDS)
        .process(ShowPlaces()),
    }
