"""What lookups know of passwords, and how a file of a failed call goes without."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.connector import KeepsSecrets
from headrace.datastream.connectors.http import HttpLookup
from headrace.datastream.connectors.postgres import PostgresLookup
from headrace.datastream.connectors.redis import RedisLookup
from headrace.runners import program_classes
from headrace.runners.program_classes import missing_secrets


def lookups() -> list[KeepsSecrets]:
    pytest.importorskip("redis", reason="missing: redis, pip install headrace[redis]")
    pytest.importorskip("psycopg", reason="missing: psycopg, pip install headrace[postgres]")
    database = PostgresLookup("postgresql://ann@db/shop", "SELECT %s", password="s3cret")
    return [
        RedisLookup("redis://ann:s3cret%40@cache:1/0?protocol=3"),
        RedisLookup("redis://cache/0?password=s3cret%40&protocol=3"),
        RedisLookup("unix://:s3cret%40@/run/redis.sock"),
        database._connection,
        HttpLookup(
            "http://x/?id={}&key=s3cret", headers={"Authorization": "s3cret", "Accept": "*"}
        ),
    ]


def test_each_lookup_is_what_it_was_with_its_secrets_again() -> None:
    for lookup in lookups():
        bare = lookup.with_secrets({})
        assert lookup.secrets and not bare.secrets
        assert bare.with_secrets(lookup.secrets).secrets == lookup.secrets
        assert type(bare) is type(lookup)


def test_addresses_without_and_with_a_password() -> None:
    urls = []
    for lookup in lookups()[:3]:
        bare: Any = lookup.with_secrets({})
        urls += [bare._url, bare.with_secrets(lookup.secrets)._url]
    assert urls == [
        "redis://ann@cache:1/0?protocol=3",
        "redis://ann:s3cret%40@cache:1/0?protocol=3",
        "redis://cache/0?protocol=3",
        "redis://:s3cret%40@cache/0?protocol=3",
        "unix:///run/redis.sock",
        "unix://:s3cret%40@/run/redis.sock",
    ]


def test_what_needs_no_password_is_left_as_it_is() -> None:
    pytest.importorskip("redis", reason="missing: redis, pip install headrace[redis]")
    for lookup in (RedisLookup("redis://cache:1/0"), HttpLookup(str)):
        assert lookup.secrets == {}
        data = program_classes.dumps(lookup, secrets=False)
        assert type(program_classes.loads(data)[0]) is type(lookup) and not missing_secrets()


def test_wherever_a_lookup_is_its_secrets_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """In an attribute of a user's object, say. In what goes to workers they stay."""
    held = [SimpleNamespace(inner=lookup) for lookup in lookups()]
    data = program_classes.dumps(held, secrets=False)
    assert b"s3cret" not in data and b"s3cret" in program_classes.dumps(held)
    for variable in ("PGPASSWORD", "REDISCLI_AUTH", "HEADRACE_QUERY_KEY"):
        monkeypatch.setenv(variable, "again")
    monkeypatch.delenv("HEADRACE_HEADER_AUTHORIZATION", raising=False)
    found, _ = program_classes.loads(data)
    assert [dict(each.inner.secrets) for each in found] == [
        *[{"REDISCLI_AUTH": "again"}] * 3,
        {"PGPASSWORD": "again"},
        {"HEADRACE_QUERY_KEY": "again"},
    ]
    (missing,) = missing_secrets()
    assert missing == "HEADRACE_HEADER_AUTHORIZATION, for HttpLookup('http://x/?***')"
