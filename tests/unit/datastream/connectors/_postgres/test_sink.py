"""The rows of a sink on their way to PostgreSQL, without a server."""

from __future__ import annotations

from typing import Any

from headrace.common import Types
from headrace.connector import WriterContext
from headrace.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)


class Cursor:
    """Writes down what it is to run."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, list[Any]]] = []

    def executemany(self, statement: str, rows: Any) -> None:
        self.ran.append((statement, [*rows]))


def test_a_statement_gets_as_many_rows_at_once_as_its_batch_size() -> None:
    connection = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    sink = JdbcSink.sink(
        "INSERT INTO t VALUES (?)",
        Types.ROW([Types.STRING()]),
        connection.with_url("jdbc:postgresql://db/shop").build(),
        JdbcExecutionOptions.builder().with_batch_size(2).build(),
    )
    writer: Any = sink.writer(WriterContext("s", "job", 0, 0, "a"))
    writer.write([("a",), ("b",), ("c",)], [None] * 3)
    cursor = Cursor()
    writer._write_rows(cursor)
    statement = "INSERT INTO t VALUES (%s)"
    assert cursor.ran == [(statement, [["a"], ["b"]]), (statement, [["c"]])]
