"""Values of many types, declared and not, from sources and from functions."""

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from pyflink.common import Row, Types
from pyflink.common.time import Instant
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ValueStateDescriptor

from .common import program


@program(2, compare="ordered")
def collection_untyped_values(env: StreamExecutionEnvironment) -> DataStream:
    """Values of many kinds but None travel unharmed where no type is declared."""
    values = [
        1,
        2**70,
        1.5,
        float("inf"),
        True,
        "text \u00e9\u4e16",
        b"\x00\xff",
        (1, "a", None),
        [1, [2, [3]]],
        {"k": 1, 2: [None]},
        {1, 2, 3},
        Row(1, "a"),
        Row(name="a", value=1),
        Decimal("12.3400"),
        date(2024, 2, 29),
        time(12, 30, 1, 250),
        datetime(2024, 2, 29, 12, 30, 1, 250),
        datetime(2024, 2, 29, 12, 30, tzinfo=UTC),
        timedelta(days=1, seconds=2, microseconds=3),
    ]
    return env.from_collection(values).map(lambda value: value)


@program(3, compare="ordered", mode="streaming")
def types_basic(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Every basic type that PyFlink 2.3 carries, declared at the source and after a map.

    PyFlink cannot take a CHAR at all, keeps a BIG_INT whole only while no Python function sees it,
    and cannot collect an INSTANT: it is seen through an untyped map.
    """
    cases = {
        "string": (Types.STRING(), ["a", "", "\u00e9"]),
        "byte": (Types.BYTE(), [1, -128, 127]),
        "boolean": (Types.BOOLEAN(), [True, False]),
        "short": (Types.SHORT(), [1, -32768]),
        "int": (Types.INT(), [1, -(2**31), 2**31 - 1]),
        "long": (Types.LONG(), [1, -(2**63), 2**63 - 1]),
        "float": (Types.FLOAT(), [1.5, -0.25]),
        "double": (Types.DOUBLE(), [1.5, 0.1]),
        "big_dec": (Types.BIG_DEC(), [Decimal("1.50"), Decimal("-0.001")]),
    }
    streams = {
        name: env.from_collection(values, type_info=kind).map(lambda value: value, output_type=kind)
        for name, (kind, values) in cases.items()
    }
    streams["big_int"] = env.from_collection([2**70, -(2**65)], type_info=Types.BIG_INT())
    streams["instant"] = env.from_collection(
        [Instant.of_epoch_milli(1_700_000_000_123)], type_info=Types.INSTANT()
    ).map(lambda value: (value, value.seconds, value.nanos))
    return streams


@program(4, compare="ordered", mode="streaming")
def types_time(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """SQL dates, times and timestamps; a timestamp is seen through an untyped map.

    PyFlink 2.3 cannot collect a stream whose declared type is SQL_TIMESTAMP.
    """
    dates = env.from_collection([date(2024, 2, 29), date(1969, 12, 31)], type_info=Types.SQL_DATE())
    times = env.from_collection([time(0, 0, 1), time(23, 59, 59)], type_info=Types.SQL_TIME())
    stamps = env.from_collection(
        [datetime(2024, 2, 29, 12, 30, 1, 250000)], type_info=Types.SQL_TIMESTAMP()
    )
    return {
        "date": dates.map(lambda value: value, output_type=Types.SQL_DATE()),
        "time": times.map(lambda value: value, output_type=Types.SQL_TIME()),
        "timestamp": stamps.map(lambda value: value),
    }


@program(5, compare="ordered", mode="streaming")
def types_containers(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Lists, maps, arrays and pickled values with a declared type.

    PyFlink 2.3 takes LIST and PICKLED_BYTE_ARRAY from a map, not from a collection.
    """
    cases = {
        "list": (Types.LIST(Types.INT()), [[1, 2], []]),
        "map": (Types.MAP(Types.STRING(), Types.LONG()), [{"a": 1}, {}]),
        "basic_array": (Types.BASIC_ARRAY(Types.STRING()), [["a", "b"]]),
        "object_array": (Types.OBJECT_ARRAY(Types.STRING()), [["a", "b"]]),
        "pickled": (Types.PICKLED_BYTE_ARRAY(), [{"a": {1, 2}}, (1, None)]),
    }
    streams = {
        name: env.from_collection(list(range(len(values)))).map(
            lambda index, values=values: values[index], output_type=kind
        )
        for name, (kind, values) in cases.items()
    }
    streams["map_from_collection"] = env.from_collection(
        [{"a": 1}, {}], type_info=Types.MAP(Types.STRING(), Types.LONG())
    )
    streams["basic_array_from_collection"] = env.from_collection(
        [["a", "b"]], type_info=Types.BASIC_ARRAY(Types.STRING())
    )
    streams["primitive_array_from_collection"] = env.from_collection(
        [[1, 2, 3]], type_info=Types.PRIMITIVE_ARRAY(Types.INT())
    )
    return streams


@program(6, compare="ordered")
def types_row(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Rows with positional and named types, nested, with None in a field."""
    plain_type = Types.ROW([Types.INT(), Types.STRING()])
    named_type = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    nested_type = Types.ROW_NAMED(["id", "inner"], [Types.INT(), named_type])
    plain = env.from_collection([Row(1, "a"), Row(2, None)], type_info=plain_type)
    named = env.from_collection([Row(1, "a"), Row(2, None)], type_info=named_type)
    nested = env.from_collection([Row(1, Row(2, "b"))], type_info=nested_type)
    return {
        "plain": plain,
        "named": named,
        "nested": nested,
        "mapped": named.map(lambda row: Row(row.id + 1, row["name"]), output_type=named_type),
        "inner": nested.map(lambda row: (row.inner.name, row[1][0])),
    }


@program(7, compare="ordered")
def types_tuple(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Tuples with a declared type, nested, and with None in a field."""
    pair_type = Types.TUPLE([Types.INT(), Types.STRING()])
    nested_type = Types.TUPLE([Types.INT(), pair_type, Types.LIST(Types.DOUBLE())])
    pairs = env.from_collection([(1, "a"), (2, "b")], type_info=pair_type)
    nested = env.from_collection([(1, (2, "b"), [0.5, 1.5])], type_info=nested_type)
    return {
        "pairs": pairs,
        "nested": nested,
        "mapped": pairs.map(lambda pair: (pair[0] * 2, pair[1] * 2), output_type=pair_type),
    }


@program(8, compare="ordered", mode="streaming")
def types_dict_input_for_row(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Tuples and named Rows given where a named Row type is declared."""
    named_type = Types.ROW_NAMED(["b", "a"], [Types.INT(), Types.STRING()])
    return {
        "tuples": env.from_collection([(1, "x")], type_info=named_type),
        "dicts": env.from_collection([{"a": "x", "b": 1}], type_info=named_type),
        "named_rows": env.from_collection([Row(a="x", b=1)], type_info=named_type),
        "mapped_named_rows": env.from_collection([1, 2]).map(
            lambda number: Row(a=str(number), b=number), output_type=named_type
        ),
    }


def describe(row: Row) -> tuple[object, ...]:
    return (row.name, row["age"], row[0], len(row), "age" in row, row.as_dict(), str(row))


@program(9, compare="ordered")
def untyped_row_fields(env: StreamExecutionEnvironment) -> DataStream:
    """Fields of an untyped named Row by name, index and attribute, and the Row's own methods."""
    return env.from_collection([Row(name="ann", age=30), Row(age=7, name="bob")]).map(describe)


@dataclass(frozen=True)
class Order:
    id: str
    quantity: int
    tags: tuple[str, ...] = ()


@dataclass
class Total:
    quantity: int = 0
    seen: list[str] = field(default_factory=list)


class SumOfOrders(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.total = runtime_context.get_state(
            ValueStateDescriptor("total", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        total = self.total.value() or Total()
        seen = [*total.seen, *value.tags]
        total = replace(total, quantity=total.quantity + value.quantity, seen=seen)
        self.total.update(total)
        yield ctx.get_current_key(), value, total


@program(10, compare="ordered_by_key:0", parallelism=2)
def dataclasses(env: StreamExecutionEnvironment) -> DataStream:
    """Untyped dataclasses, frozen and plain, through a key and a process function."""
    orders = [Order("a", 1, ("x",)), Order("b", 2), Order("a", 3, ("y", "z"))]
    return env.from_collection(orders).key_by(lambda order: order.id).process(SumOfOrders())


@program(16, compare="ordered")
def none_travels(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """None as a record of an untyped collection, collected and filtered."""
    source = env.from_collection([1, None, 2])
    return {
        "collection": source,
        "seen": source.map(lambda value: (value, value is None)),
    }


@program(90, compare="ordered", mode="streaming")
def float_collected(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A FLOAT that single precision cannot hold: as functions see it, and as it is collected."""
    floats = env.from_collection([0.1, 1 / 3], type_info=Types.FLOAT())
    return {"seen": floats.map(repr, output_type=Types.STRING()), "collected": floats}
