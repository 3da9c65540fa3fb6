"""What sinks and lookups of databases take and refuse, without a server."""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import pytest

from headrace.common import Row, Time
from headrace.datastream.connectors._external.addresses import without_secrets
from headrace.datastream.connectors._postgres.client import is_outage, psycopg
from headrace.datastream.connectors._postgres.statements import FieldsOf, append_sql, upsert_sql
from headrace.datastream.connectors._redis.client import check_url
from headrace.datastream.connectors.http import HttpLookup
from headrace.datastream.connectors.postgres import (
    PostgresLookup,
    PostgresSink,
    PostgresSnapshotSource,
)
from headrace.datastream.connectors.redis import RedisCommand, RedisLookup, RedisSink
from headrace.errors import PlanError, TypeMismatchError

URL = "postgresql://ann:s3cret@db/shop"
REDIS = "redis://:s3cret@cache:6379/0"


def command(value: Any) -> RedisCommand:
    return RedisCommand.set("a", value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PostgresSink(URL), "either table and columns, or sql and values"),
        (lambda: PostgresSink(URL, table="t", sql="x"), "either table and columns"),
        (lambda: PostgresSink(URL, table="t"), "columns= is missing"),
        (lambda: PostgresSink(URL, table="t", columns="ab"), "a list of names"),
        (lambda: PostgresSink(URL, table="t", columns=["a"], key=["b"]), "'b' is not among"),
        (lambda: PostgresSink(URL, sql="x", columns=["a"], values=list), "neither columns nor key"),
        (lambda: PostgresSink(URL, sql="x"), "takes values"),
        (lambda: PostgresSink(URL, table="t", columns=["a"], max_retries=-1), "max_retries"),
        (lambda: PostgresSink(URL, table="t", columns=["a"], values=7), "values must be a func"),  # type: ignore[arg-type]
        (lambda: PostgresSnapshotSource(URL, "t", key="id"), "a list of names"),
        (lambda: PostgresSnapshotSource(URL, ""), "the table must be"),
        (lambda: PostgresLookup(URL, ""), "the query"),
        (lambda: PostgresLookup(URL, "SELECT 1", key=7), "key of a PostgresLookup"),  # type: ignore[arg-type]
        (lambda: RedisSink("http://:s3cret@db", command), "is not a URL of Redis"),
        *(
            (lambda make=make, url=url: make(url), words)
            for make in (lambda url: RedisSink(url, command), RedisLookup)
            for url, words in (
                ("redis://:s3cret@db/notadb", "'notadb' is not the number of a database"),
                ("redis://:s3cret@db/0/1", "'0/1' is not the number"),
                ("redis://:s3cret@db/-1", "'-1' is not the number"),
                ("rediss://:s3cret@db?db=x", "'x' is not the number"),
                ("unix://:s3cret@/run/redis.sock?db=x", "'x' is not the number"),
                ("redis://:s3cret@db:port/0", "is not a URL of Redis"),
                ("redis://:s3cret#@db/0", "is not a URL of Redis"),
                ("redis://:63/s3cret@db/0", r"\*\*\* is not the number"),
                ("unix://:s3cret@", "is not a URL of Redis"),
            )
        ),
        (lambda: RedisSink(REDIS, 7), "command must be a function"),  # type: ignore[arg-type]
        (lambda: RedisLookup(REDIS, read="HGET"), "reads with GET"),
        (lambda: RedisLookup(REDIS, read="DEL"), "not with 'DEL'"),
        (lambda: RedisLookup(REDIS, join=7), "join of a RedisLookup"),  # type: ignore[arg-type]
        (lambda: HttpLookup("http://prices/"), "no place for the key"),
        (lambda: HttpLookup("ftp://prices/{}"), "not an HTTP address"),
        (lambda: HttpLookup("http://ann:s3cret@prices/{}"), "has a user in it"),
    ],
)
def test_refused_when_they_are_made(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(PlanError, match=words) as caught:
        make()
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "made",
    [
        PostgresSink(URL, table="t", columns=["a"]),
        PostgresSink("host=db", table="t", columns=["a"], password="s3cret"),
        PostgresLookup(URL, "SELECT 1"),
        RedisSink(REDIS, command),
        RedisLookup(REDIS),
        HttpLookup("http://prices/{}?token=s3cret", headers={"Authorization": "s3cret"}),
    ],
)
def test_secrets_are_not_shown(made: Any) -> None:
    assert "s3cret" not in repr(made) + str(made) + getattr(made, "locator", "")


@pytest.mark.parametrize(
    "url",
    [
        "redis://cache",
        "redis://cache/",
        "redis://cache:6379/15",
        "rediss://ann:s3cret@cache/?db=2",
        "unix:///run/redis.sock?db=1",
        "redis://[::1]:6379/0",
    ],
)
def test_urls_of_redis_that_are_taken(url: str) -> None:
    assert check_url(url) == url


def test_addresses() -> None:
    assert without_secrets("redis://u:p@h:1/0?password=x") == "redis://u:***@h:1/0?***"
    assert without_secrets("redis://h:1/0") == "redis://h:1/0"
    assert without_secrets("https://h/{}?key=pw&mail=a@b") == "https://h/{}?***"
    for wrong in ("redis//u:pw@h", "redis:u:pw@h", "redis://u:p/w@h", "redis://u:p?w@h", "u:pw@h"):
        assert "w@" not in without_secrets(wrong) and "p" not in without_secrets(wrong)


Named = namedtuple("Named", ["b", "a"])


@dataclasses.dataclass
class Data:
    b: int
    a: int


@pytest.mark.parametrize(
    "record",
    [{"b": 2, "a": 1, "c": 3}, Row(b=2, a=1), Row(1, 2), (1, 2), [1, 2], Named(2, 1), Data(2, 1)],
)
def test_fields_of_records(record: Any) -> None:
    assert [*FieldsOf(("a", "b"))(record)] == [1, 2]


@pytest.mark.parametrize("record", [{"a": 1}, (1,), Row(a=1), Data(1, 2), 7])
def test_a_record_without_a_field_is_shown(record: Any) -> None:
    with pytest.raises(TypeMismatchError, match="2 columns a, c") as caught:
        FieldsOf(("a", "c"))(record)
    assert repr(record) in str(caught.value)


def test_statements() -> None:
    assert append_sql("s.t", ["a", 'b"']) == 'COPY "s"."t" ("a", "b""") FROM STDIN'
    assert upsert_sql("t", ["a", "b"], ["a"]) == (
        'INSERT INTO "t" ("a", "b") VALUES (%s, %s) '
        'ON CONFLICT ("a") DO UPDATE SET "b" = EXCLUDED."b"'
    )
    assert upsert_sql("t", ["a"], ["a"]).endswith('ON CONFLICT ("a") DO NOTHING')


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        (RedisCommand.set("a", 1), ("SET", "a", 1)),
        (RedisCommand.set("a", 1, expires=Time.seconds(2)), ("SET", "a", 1, "PX", 2000)),
        (RedisCommand.hset("h", {"a": 1, "b": 2.5}), ("HSET", "h", "a", 1, "b", 2.5)),
        (RedisCommand.hincrby("h", "a"), ("HINCRBY", "h", "a", 1)),
        (
            RedisCommand.xadd("s", {"a": 1}, max_length=9),
            ("XADD", "s", "MAXLEN", "~", 9, "*", "a", 1),
        ),
        (RedisCommand.zadd("z", {"a": 1.5, "b": 2}), ("ZADD", "z", 1.5, "a", 2, "b")),
    ],
)
def test_commands(given: RedisCommand, arguments: tuple[Any, ...]) -> None:
    assert given.arguments == arguments
    assert given == RedisCommand(*arguments) and hash(given) == hash(RedisCommand(*arguments))
    assert eval(repr(given)) == given


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RedisCommand.set("a", None), "not None"),  # type: ignore[arg-type]
        (lambda: RedisCommand.set("a", True), "not True"),
        (lambda: RedisCommand.hset("a", {"b": [1]}), "convert it first"),  # type: ignore[dict-item]
        (lambda: RedisCommand.hset("a", {}), "a dict with at least one field"),
        (lambda: RedisCommand(), "begin with its name"),
        (lambda: RedisCommand(" ", 1), "begin with its name"),
        (lambda: RedisCommand(b"SELECT", 1), "begin with its name"),
    ],
)
def test_commands_that_are_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeMismatchError, match=words):
        make()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("SELECT", 1), "SELECT changes the connection"),
        (("select 1",), "SELECT changes the connection"),  # the client splits the name at spaces
        ((" Select ", 1), "SELECT changes the connection"),
        (("CLIENT", "REPLY", "OFF"), "CLIENT changes the connection"),
        (("QUIT",), "QUIT changes the connection"),
        (("RESET",), "RESET changes the connection"),
        (("AUTH", "ann", "s3cret"), "AUTH changes the connection"),
        (("HELLO", 3, "AUTH", "ann", "s3cret"), "HELLO changes the connection"),
        (("SUBSCRIBE", "news"), "SUBSCRIBE changes the connection"),
        (("PUNSUBSCRIBE",), "PUNSUBSCRIBE changes the connection"),
        (("MONITOR",), "MONITOR changes the connection"),
        (("SCRIPT", "DEBUG", "YES"), "SCRIPT DEBUG changes the connection"),
        (("EXEC",), "EXEC belongs to a transaction"),
        (("DISCARD",), "DISCARD belongs to a transaction"),
        (("MULTI",), "MULTI belongs to a transaction"),
        (("WATCH", "a"), "WATCH belongs to a transaction"),
        (("UNWATCH",), "UNWATCH belongs to a transaction"),
        (("BLPOP", "a", 0), "BLPOP waits"),
        (("WAIT", 1, 0), "WAIT waits"),
        (("XREAD", "block", 0, "STREAMS", "s", "$"), "XREAD with BLOCK waits"),
        (("XREADGROUP", "GROUP", "g", "c", b"BLOCK", 0, "STREAMS", "s", ">"), "BLOCK waits"),
        (("SHUTDOWN", "NOSAVE"), "SHUTDOWN stops or moves the server"),
        (("REPLICAOF", "NO", "ONE"), "REPLICAOF stops or moves the server"),
        (("FLUSHALL",), "FLUSHALL removes the markers"),
        (("SWAPDB", 0, 1), "SWAPDB removes the markers"),
    ],
)
def test_commands_that_a_sink_or_lookup_cannot_send(given: Any, words: str) -> None:
    with pytest.raises(PlanError, match=words) as caught:
        RedisCommand(*given)
    assert caught.value.hint and "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        ("EVAL", "return 1", 0),
        ("SCRIPT", "LOAD", "return 1"),
        ("PUBLISH", "news", "select"),
        ("XREAD", "STREAMS", "block", 0),
        ("XREADGROUP", "GROUP", "g", "block", "STREAMS", "s", ">"),
        ("SET", "exec", "SELECT"),
        ("DEL", "a"),
        ("LMPOP", 1, "a", "LEFT"),
    ],
)
def test_commands_that_only_look_alike_are_taken(given: Any) -> None:
    assert RedisCommand(*given).arguments == given


@pytest.mark.parametrize(
    ("error", "away"),
    [
        ("connection refused", True),
        ("FATAL: the database system is starting up", True),
        ('FATAL: password authentication failed for user "ann"', False),
        ('FATAL: database "shop" does not exist', False),
    ],
)
def test_which_errors_mean_that_a_database_is_away(error: str, away: bool) -> None:
    library = psycopg()
    assert is_outage(library.OperationalError(error)) is away
    assert is_outage(library.errors.AdminShutdown("x")) and not is_outage(ValueError("x"))
    assert not is_outage(library.errors.UniqueViolation("x"))
