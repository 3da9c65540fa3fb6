"""JdbcSink without a database: URLs, statements, options, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from headrace.common import Row, Types
from headrace.connector import CommitBy
from headrace.datastream.connectors import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from headrace.datastream.connectors._postgres.client import PostgresConnection
from headrace.datastream.connectors._postgres.jdbc_urls import libpq_parameters, with_percent_marks
from headrace.errors import HeadraceError, PlanError, TypeMismatchError, UnsupportedError

TWO = Types.ROW([Types.INT(), Types.STRING()])
INSERT = "INSERT INTO t VALUES (?, ?)"


def options(url: str = "jdbc:postgresql://db/shop") -> JdbcConnectionOptions:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url)
    return builder.with_user_name("ann").with_password("s3cret").build()


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("shop", {"host": "localhost", "dbname": "shop"}),
        ("/", {"host": "localhost"}),
        ("//db/shop", {"host": "db", "port": "5432", "dbname": "shop"}),
        ("//db:1/my%20shop", {"host": "db", "port": "1", "dbname": "my shop"}),
        ("//[::1]:1/", {"host": "::1", "port": "1"}),
        ("//a,b:1/s", {"host": "a,b", "port": "5432,1", "dbname": "s"}),
        (
            "//db/s?user=bob&password=p%26q&ssl=true&ApplicationName=x&reWriteBatchedInserts=true",
            {
                **{"host": "db", "port": "5432", "dbname": "s", "user": "bob"},
                **{"password": "p&q", "sslmode": "verify-full", "application_name": "x"},
            },
        ),
        (
            "//db/s?currentSchema=a,b&targetServerType=primary&tcpKeepAlive=true",
            {
                **{"host": "db", "port": "5432", "dbname": "s", "keepalives": "1"},
                **{"options": "-c search_path=a,b", "target_session_attrs": "primary"},
            },
        ),
    ],
)
def test_urls(url: str, found: dict[str, str]) -> None:
    assert libpq_parameters(f"jdbc:postgresql:{url}") == found


@pytest.mark.parametrize(
    ("url", "error", "words"),
    [
        ("postgresql://u:s3cret@db/s", PlanError, "is not a JDBC URL"),
        ("jdbc:mysql://db/s?password=s3cret", UnsupportedError, "not to jdbc:mysql"),
        ("jdbc:postgresql://db:port/s?password=s3cret", PlanError, "place in a JDBC URL"),
        ("jdbc:postgresql://db/s?passwort=s3cret", PlanError, "property passwort"),
    ],
)
def test_urls_that_are_refused(url: str, error: type[HeadraceError], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        JdbcSink.sink(INSERT, TWO, options(url))
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "text", "count"),
    [
        (INSERT, "INSERT INTO t VALUES (%s, %s)", 2),
        ("SELECT '?', \"a?\", 'it''s ?', ?", "SELECT '?', \"a?\", 'it''s ?', %s", 1),
        ("SELECT ? -- why?\n, ? /* ? */", "SELECT %s -- why?\n, %s /* ? */", 2),
        ("SELECT $$?$$, $a$ ? $$ $a$, ?", "SELECT $$?$$, $a$ ? $$ $a$, %s", 1),
        (r"SELECT E'\'?', ?", r"SELECT E'\'?', %s", 1),
        ("SELECT a ?? 'k', '5%', c % ?", "SELECT a ? 'k', '5%%', c %% %s", 1),
    ],
)
def test_marks(sql: str, text: str, count: int) -> None:
    assert with_percent_marks(sql) == (text, count)


def test_options_as_in_pyflink() -> None:
    found = options("jdbc:postgresql://u:s3cret@db/s?password=s3cret")
    assert (found.get_user_name(), found.get_password()) == ("ann", "s3cret")
    assert found.get_db_url().startswith("jdbc:postgresql:") and found.get_driver_name() is None
    assert "s3cret" not in repr(found)
    usual = JdbcExecutionOptions.defaults()
    assert usual == JdbcExecutionOptions.builder().build()
    assert usual.get_batch_size() == 5000
    assert (usual.get_batch_interval_ms(), usual.get_max_retries()) == (0, 3)
    builder = JdbcExecutionOptions.builder().with_batch_size(7).with_batch_interval_ms(9)
    made = builder.with_max_retries(1).build()
    assert (made.get_batch_size(), made.get_batch_interval_ms(), made.get_max_retries()) == (
        7,
        9,
        1,
    )
    with pytest.raises(PlanError, match="max_retries"):
        JdbcExecutionOptions.builder().with_max_retries(-1).build()
    with pytest.raises(PlanError, match="need a URL"):
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder().build()


def test_the_sink() -> None:
    how = JdbcExecutionOptions.builder().with_batch_size(7).with_max_retries(1).build()
    sink = pickle.loads(pickle.dumps(JdbcSink.sink(INSERT, TWO, options(), how)))
    assert (sink.commits, sink.kind) == (CommitBy.TASK, "jdbc")
    assert (sink.batch_rows, sink.max_retries) == (7, 1)
    assert [*sink.values(Row(1, "a"))] == [*sink.values((1, "a"))] == [1, "a"]
    with pytest.raises(TypeMismatchError, match="INT: it is a str"):
        sink.values(("1", "a"))
    assert dict(sink.connection.parameters)["password"] == "s3cret"
    assert repr(sink) == "JdbcSink('postgresql://db:5432/shop')"
    assert "s3cret" not in repr(sink.connection) + sink.locator


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((INSERT, Types.ROW([Types.INT()]), options()), "2 '[?]' for 1 fields"),
        ((INSERT, Types.INT(), options()), "takes a row type"),
        ((INSERT, TWO, "jdbc:postgresql:shop"), "JdbcConnectionOptions are wanted, not str"),
        ((INSERT, Types.ROW([Types.INT(), TWO]), options()), "cannot be a row"),
    ],
)
def test_what_a_sink_refuses(given: Any, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        JdbcSink.sink(*given)


def test_a_connection_string_that_cannot_be_read_is_not_shown() -> None:
    with pytest.raises(PlanError, match="cannot be parsed") as caught:
        PostgresConnection.of("postgresql://ann:s3%cret@db/shop")
    assert caught.value.__cause__ is None and "cret" not in str(caught.value)
