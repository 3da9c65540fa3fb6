"""Fields of an untyped named Row by name, by index and by attribute, and the Row's own methods.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Row
from pyflink.datastream import DataStream, StreamExecutionEnvironment


def describe(row: Row) -> tuple[object, ...]:
    return (row.name, row["age"], row[0], len(row), "age" in row, row.as_dict(), str(row))


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([Row(name="ann", age=30), Row(age=7, name="bob")]).map(describe)
