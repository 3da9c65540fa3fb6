"""State by key: every kind of it, its time to live, and functions that use it."""

from datetime import datetime, timedelta
from decimal import Decimal

from pyflink.common import Row, Types
from pyflink.common.time import Time
from pyflink.datastream import (
    AggregateFunction,
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)

from .common import program


class ValueCommands(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.state = runtime_context.get_state(
            ValueStateDescriptor("value", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        key, command, argument = value
        before = self.state.value()
        if command == "set":
            self.state.update(argument)
        elif command == "clear":
            self.state.clear()
        yield key, command, before, self.state.value()


@program(45, compare="ordered_by_key:0", parallelism=2)
def value_state(env: StreamExecutionEnvironment) -> DataStream:
    """Value state: its default, an update, an update to None, and clear."""
    commands = [
        ("a", "look", None),
        ("a", "set", {"x": [1]}),
        ("b", "look", None),
        ("a", "look", None),
        ("a", "set", 0),
        ("a", "clear", None),
        ("a", "look", None),
        ("a", "clear", None),
        ("b", "set", (1, "t")),
        ("b", "look", None),
    ]
    return env.from_collection(commands).key_by(lambda item: item[0]).process(ValueCommands())


class ListCommands(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.state = runtime_context.get_list_state(ListStateDescriptor("list", Types.LONG()))

    def process_element(self, value, ctx):
        key, command, argument = value
        if command == "add":
            self.state.add(argument)
        elif command == "add_all":
            self.state.add_all(argument)
        elif command == "update":
            self.state.update(argument)
        elif command == "clear":
            self.state.clear()
        yield key, command, list(self.state.get()), [item for item in self.state]


@program(46, compare="ordered_by_key:0", parallelism=2)
def list_state(env: StreamExecutionEnvironment) -> DataStream:
    """List state: get on empty, add, add_all, update, clear, and iteration."""
    commands = [
        ("a", "look", None),
        ("a", "add", 1),
        ("b", "add", 7),
        ("a", "add_all", [2, 3]),
        ("a", "update", [9]),
        ("a", "add", 9),
        ("a", "clear", None),
        ("a", "add", 4),
        ("b", "update", []),
        ("b", "add", 8),
    ]
    return env.from_collection(commands).key_by(lambda item: item[0]).process(ListCommands())


class MapCommands(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.state = runtime_context.get_map_state(
            MapStateDescriptor("map", Types.STRING(), Types.LONG())
        )

    def process_element(self, value, ctx):
        key, command, argument = value
        state = self.state
        answer = None
        if command == "put":
            state.put(*argument)
        elif command == "setitem":
            state[argument[0]] = argument[1]
        elif command == "put_all":
            state.put_all(argument)
        elif command == "get":
            answer = state.get(argument)
        elif command == "getitem":
            answer = state[argument]
        elif command == "contains":
            answer = (state.contains(argument), argument in state)
        elif command == "remove":
            state.remove(argument)
        elif command == "del":
            del state[argument]
        elif command == "clear":
            state.clear()
        yield (
            key,
            command,
            answer,
            state.is_empty(),
            sorted(state.items()),
            sorted(state.keys()),
            sorted(state.values()),
            sorted(iter(state)),
        )


@program(47, compare="ordered_by_key:0", parallelism=2, mode="streaming")
def map_state(env: StreamExecutionEnvironment) -> DataStream:
    """Map state: every method and operator of it.

    PyFlink 2.3's put_all takes the keys of a dict apart as pairs, so it is given pairs. In BATCH it
    takes records without timestamps in no certain order.
    """
    commands = [
        ("a", "look", None),
        ("a", "put", ("x", 1)),
        ("a", "setitem", ("y", 2)),
        ("b", "put_all", [("p", 5), ("q", 6)]),
        ("a", "get", "x"),
        ("a", "get", "missing"),
        ("a", "getitem", "y"),
        ("a", "contains", "x"),
        ("a", "contains", "missing"),
        ("a", "put", ("x", 10)),
        ("a", "remove", "x"),
        ("b", "del", "p"),
        ("b", "clear", None),
        ("b", "put", ("z", 0)),
        ("a", "remove", "missing"),
    ]
    return env.from_collection(commands).key_by(lambda item: item[0]).process(MapCommands())


class Product(ReduceFunction):
    def reduce(self, value1, value2):
        return value1 * value2


class SumAndProduct(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.sum = runtime_context.get_reducing_state(
            ReducingStateDescriptor("sum", lambda left, right: left + right, Types.LONG())
        )
        self.product = runtime_context.get_reducing_state(
            ReducingStateDescriptor("product", Product(), Types.LONG())
        )

    def process_element(self, value, ctx):
        before = self.sum.get()
        self.sum.add(value[1])
        self.product.add(value[1])
        result = (value[0], before, self.sum.get(), self.product.get())
        if value[1] == 4:
            self.sum.clear()
        yield result


@program(48, compare="ordered_by_key:0", parallelism=2)
def reducing_state(env: StreamExecutionEnvironment) -> DataStream:
    """Reducing state: get on empty, add, clear; with a callable and with a ReduceFunction."""
    pairs = [("a", 2), ("b", 3), ("a", 4), ("a", 5), ("b", 6)]
    return env.from_collection(pairs).key_by(lambda pair: pair[0]).process(SumAndProduct())


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Means(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.mean = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        before = self.mean.get()
        if value[1] is None:
            self.mean.clear()
        else:
            self.mean.add(value[1])
        yield value[0], before, self.mean.get()


@program(49, compare="ordered_by_key:0", parallelism=2)
def aggregating_state(env: StreamExecutionEnvironment) -> DataStream:
    """Aggregating state: get on empty, add, clear."""
    pairs = [("a", 2), ("b", 3), ("a", 4), ("a", None), ("a", 5), ("b", 6)]
    return env.from_collection(pairs).key_by(lambda pair: pair[0]).process(Means())


class Kept(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        hour = (
            StateTtlConfig.new_builder(Time.hours(1))
            .set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
            .set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)
            .build()
        )
        day = (
            StateTtlConfig.new_builder(Time.days(1))
            .update_ttl_on_create_and_write()
            .return_expired_if_not_cleaned_up()
            .use_processing_time()
            .cleanup_incrementally(10, True)
            .build()
        )
        value = ValueStateDescriptor("value", Types.LONG())
        value.enable_time_to_live(hour)
        items = ListStateDescriptor("list", Types.LONG())
        items.enable_time_to_live(day)
        entries = MapStateDescriptor("map", Types.LONG(), Types.LONG())
        entries.enable_time_to_live(day)
        self.value = runtime_context.get_state(value)
        self.items = runtime_context.get_list_state(items)
        self.entries = runtime_context.get_map_state(entries)

    def process_element(self, value, ctx):
        self.value.update((self.value.value() or 0) + value[1])
        self.items.add(value[1])
        self.entries.put(value[1], value[1] * 2)
        yield value[0], self.value.value(), list(self.items.get()), sorted(self.entries.items())


@program(50, compare="ordered_by_key:0", mode="streaming")
def state_ttl(env: StreamExecutionEnvironment) -> DataStream:
    """State with a time to live far longer than the run, in every spelling of its options."""
    pairs = [("a", 1), ("b", 2), ("a", 3)]
    return env.from_collection(pairs).key_by(lambda pair: pair[0]).process(Kept())


class Twice(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.one = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.same = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.one.update((self.one.value() or 0) + 1)
        yield ctx.get_current_key(), self.same.value(), value[-1]


@program(86, compare="ordered_by_key:0", parallelism=2, mode="streaming")
def state_by_name(env: StreamExecutionEnvironment) -> DataStream:
    """Two descriptors of one name are one state; two functions' states of one name are two."""
    return (
        env.from_collection([("a", 10), ("b", 20), ("a", 30)])
        .key_by(lambda pair: pair[0])
        .process(Twice())
        .key_by(lambda item: item[0])
        .process(Twice())
    )


class Append(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.items = runtime_context.get_state(
            ValueStateDescriptor("items", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        items = self.items.value() or []
        items.append(value[1])
        self.items.update(items)
        yield value[0], list(items), len(self.items.value())


@program(87, compare="ordered_by_key:0", mode="streaming")
def list_in_value_state(env: StreamExecutionEnvironment) -> DataStream:
    """A list kept in value state, appended to and stored again by an update."""
    pairs = [("a", 1), ("b", 2), ("a", 3), ("a", 4)]
    return env.from_collection(pairs).key_by(lambda pair: pair[0]).process(Append())


class Ledger(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        pickled = Types.PICKLED_BYTE_ARRAY()
        self.balance = runtime_context.get_state(ValueStateDescriptor("balance", pickled))
        self.days = runtime_context.get_map_state(MapStateDescriptor("days", pickled, pickled))

    def process_element(self, value, ctx):
        balance = (self.balance.value() or Decimal("0.00")) + value.amount
        self.balance.update(balance)
        day = value.at.date()
        self.days.put(day, (self.days.get(day) or ()) + ((value.at, value.note),))
        yield value.account, balance, sorted(self.days.items()), value.at + timedelta(days=1)


@program(67, compare="ordered_by_key:0", parallelism=2)
def decimal_and_datetime_in_state(env: StreamExecutionEnvironment) -> DataStream:
    """Decimal, datetime and None inside rows, tuples and state."""
    noon = datetime(2024, 2, 28, 12)
    rows = [
        Row(account="a", amount=Decimal("10.10"), at=noon, note=None),
        Row(account="b", amount=Decimal("1e3"), at=noon, note="x"),
        Row(account="a", amount=Decimal("-0.10"), at=noon + timedelta(hours=13), note="y"),
    ]
    return env.from_collection(rows).key_by(lambda row: row.account).process(Ledger())


class RunningSum(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def map(self, value):
        total = (self.sum.value() or 0) + value[1]
        self.sum.update(total)
        return value[0], total


class SumWithPrevious(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def flat_map(self, value):
        last = self.last.value()
        if last is not None:
            yield value[0], last + value[1]
        self.last.update(value[1])


class Grows(FilterFunction):
    def open(self, runtime_context: RuntimeContext):
        self.most = runtime_context.get_state(ValueStateDescriptor("most", Types.LONG()))

    def filter(self, value):
        most = self.most.value()
        self.most.update(value[1] if most is None else max(most, value[1]))
        return most is None or value[1] > most


@program(34, compare="ordered_by_key:0", parallelism=2)
def keyed_functions_with_state(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Keyed map, flat_map and filter that get their state in open."""
    pairs = env.from_collection(
        [("a", 1), ("b", 5), ("a", 3), ("a", 2), ("b", 4), ("a", 9)],
        type_info=Types.TUPLE([Types.STRING(), Types.LONG()]),
    )
    keyed = pairs.key_by(lambda pair: pair[0], key_type=Types.STRING())
    return {
        "map": keyed.map(RunningSum()),
        "flat_map": keyed.flat_map(SumWithPrevious()),
        "filter": keyed.filter(Grows()),
    }


class Number(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def map(self, value):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return value[0], count


@program(218, compare="ordered_by_key:0")
def keyed_map_with_state(env: StreamExecutionEnvironment) -> DataStream:
    """A map function on a keyed stream keeps state by key."""
    events = [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5)]
    return env.from_collection(events).key_by(lambda event: event[0]).map(Number())


class Fresh(FilterFunction):
    def open(self, runtime_context: RuntimeContext):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def filter(self, value):
        repeated = self.last.value() == value[1]
        self.last.update(value[1])
        return not repeated


class PairUp(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.LONG()))

    def flat_map(self, value):
        self.waiting.add(value[1])
        gathered = list(self.waiting.get())
        if len(gathered) == 2:
            self.waiting.clear()
            yield value[0], *gathered


@program(219, compare="ordered_by_key:0")
def keyed_filter_and_flat_map_with_state(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A filter drops repeats, a flat map gives what it has gathered, both with state by key."""
    events = [("a", 1), ("a", 1), ("b", 2), ("a", 3), ("a", 3), ("b", 4), ("b", 2)]

    def keyed():
        return env.from_collection(events).key_by(lambda event: event[0])

    return {"filter": keyed().filter(Fresh()), "flat_map": keyed().flat_map(PairUp())}
