"""Rows of any kind are records to reduce, sum, max and max_by; and which kind comes out.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Row, RowKind, Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment

PAIR = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.INT()])
KINDS = ["INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE", "DELETE", "INSERT"]


def first(row: Row, other: Row) -> Row:
    row["n"] = row["n"] * 10 + other["n"]
    return row


def last(row: Row, other: Row) -> Row:
    return other


def made(row: Row, other: Row) -> Row:
    return Row(name=row[0], n=row[1] + other[1])


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    names = env.from_collection([(name, n * 7 % 5) for n, name in enumerate(KINDS)])
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
