"""One server of each kind for all tests of the session; those that end it start their own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.servers import Server, serving

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def redis_of_session() -> Iterator[Server]:
    pytest.importorskip("redis", reason="missing: redis, pip install headrace[redis]")
    with serving("redis") as server:
        yield server


@pytest.fixture
def redis(redis_of_session: Server) -> Iterator[Any]:
    """A client of an empty Redis; ``url`` is its address."""
    from redis import Redis

    with Redis.from_url(redis_of_session.url, decode_responses=True) as client:
        client.flushall()
        client.url = redis_of_session.url
        yield client


@pytest.fixture(scope="session")
def postgres_of_session() -> Iterator[Server]:
    pytest.importorskip("psycopg", reason="missing: psycopg, pip install headrace[postgres]")
    with serving("postgres") as server:
        yield server


@pytest.fixture
def database(postgres_of_session: Server) -> Iterator[Any]:
    """A connection to an empty schema of its own; ``url`` is its address."""
    import psycopg

    schema = f"test{next(_numbers)}"
    url = f"{postgres_of_session.url}?options=-csearch_path%3D{schema}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.url = url  # type: ignore[attr-defined]
        yield connection
