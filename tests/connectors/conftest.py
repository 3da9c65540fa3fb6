"""Real servers for tests, started by the code of ``headrace dev``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from headrace.dev import servers
from headrace.errors import JobError
from headrace.runners.spark.startup.java import find_java


@contextmanager
def serving(name: str, folder: Path) -> Iterator[str]:
    """The address of a server on a free port; without one the test is skipped."""
    try:
        if name in ("kafka", "registry"):
            find_java()
        (server,) = servers.up(folder, [name], {name: 0}).values()
    except JobError as error:
        pytest.skip(f"missing: {name}: {error.message}; {error.hint}")
    if server is None:
        pytest.skip(f"missing: {name} is not installed: the system's packages have it")
    try:
        yield server.url
    finally:
        server.stop()


@pytest.fixture(scope="session")
def kafka_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker for all tests of the session, which take topics of their own."""
    if find_spec("confluent_kafka") is None:
        pytest.skip("missing: confluent-kafka: pip install 'headrace[kafka]'")
    with serving("kafka", tmp_path_factory.mktemp("kafka")) as url:
        yield url


@pytest.fixture(scope="session")
def registry_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A schema registry for all tests of the session."""
    with serving("registry", tmp_path_factory.mktemp("registry")) as url:
        yield url


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Starts a server by its name, for one test alone, and gives its address."""
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(serving(name, tmp_path / "servers"))
