"""The kinds of Rows (insert, update, delete) through functions and aggregations."""

from pyflink.common import Row, RowKind, Types
from pyflink.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment

from .common import program


@program(85, compare="ordered", mode="streaming")
def row_kinds(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """The kind of a Row through typed and untyped maps."""
    row_type = Types.ROW_NAMED(["n"], [Types.INT()])
    kinds = env.from_collection([kind.name for kind in RowKind])
    return {
        "typed": kinds.map(lambda name: Row.of_kind(RowKind[name], 1), output_type=row_type),
        "untyped": kinds.map(lambda name: Row.of_kind(RowKind[name], 1)),
        "seen": kinds.map(lambda name: Row.of_kind(RowKind[name], 1), output_type=row_type).map(
            lambda row: (row.get_row_kind().name, row[0])
        ),
    }


PAIR = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.INT()])


class Twice(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value
        yield Row.of_kind(RowKind.DELETE, value[0], -value[1])


@program(320, compare="ordered")
def row_kinds_passed_on(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A Row's kind through filter, flat_map, process, an exchange, and a map that makes one."""
    names = env.from_collection([(kind.name, n) for n, kind in enumerate(RowKind)])
    rows = names.map(lambda pair: Row.of_kind(RowKind[pair[0]], "a", pair[1]), output_type=PAIR)
    return {
        "filter": rows.filter(lambda row: row[1] != 2),
        "flat_map": rows.flat_map(lambda row: [row, row], output_type=PAIR),
        "made": rows.map(lambda row: Row(row[0], row[1] + 1), output_type=PAIR),
        "rebalanced": rows.rebalance().map(lambda row: row, output_type=PAIR),
        "keyed": rows.key_by(lambda row: row[0]).map(lambda row: row, output_type=PAIR),
        "process": rows.key_by(lambda row: row[0]).process(Twice(), output_type=PAIR),
        "without a type": rows.filter(lambda row: True).map(lambda row: row),
    }


def first(row: Row, other: Row) -> Row:
    row["n"] = row["n"] * 10 + other["n"]
    return row


def last(row: Row, other: Row) -> Row:
    return other


def made(row: Row, other: Row) -> Row:
    return Row(name=row[0], n=row[1] + other[1])


@program(321, compare="ordered")
def row_kinds_are_no_changes(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Rows of any kind are records to reduce, sum, max and max_by; and which kind comes out."""
    kinds = ["INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE", "DELETE", "INSERT"]
    names = env.from_collection([(name, n * 7 % 5) for n, name in enumerate(kinds)])
    rows = names.map(lambda pair: Row.of_kind(RowKind[pair[0]], "a", pair[1]), output_type=PAIR)
    keyed = rows.key_by(lambda row: row[0])
    return {
        "first": keyed.reduce(first),
        "last": keyed.reduce(last),
        "made": keyed.reduce(made),
        "sum": keyed.sum("n"),
        "max": keyed.max("n"),
        "max_by": keyed.max_by("n"),
    }
