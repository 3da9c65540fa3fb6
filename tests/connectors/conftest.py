"""One server of each kind for all tests of the session, which take names of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers import Server, serving


@pytest.fixture(scope="session")
def kafka_server() -> Iterator[Server]:
    """A broker; who stops it starts it again."""
    pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")
    with serving("kafka") as server:
        yield server


@pytest.fixture(scope="session")
def kafka_servers(kafka_server: Server) -> str:
    """The address of a broker."""
    return kafka_server.url


@pytest.fixture(scope="session")
def registry_url() -> Iterator[str]:
    """The address of a schema registry."""
    with serving("registry") as server:
        yield server.url
