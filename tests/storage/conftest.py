"""Storages that all tests of a session share; each test has a folder of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from headrace.common._storage.locations import LOCAL_ONLY, use_access
from tests.storage import servers
from tests.storage.servers import Storage


@pytest.fixture(scope="session")
def hdfs_of_session() -> Iterator[Storage]:
    with servers.hdfs() as storage:
        yield storage


@pytest.fixture(scope="session")
def s3_of_session() -> Iterator[Storage]:
    with servers.s3() as storage:
        yield storage


@pytest.fixture(scope="session")
def azure_of_session() -> Iterator[Storage]:
    with servers.azure() as storage:
        yield storage


@pytest.fixture(params=["hdfs", "s3"])
def storage(request: pytest.FixtureRequest) -> Iterator[Storage]:
    found: Storage = request.getfixturevalue(f"{request.param}_of_session")
    use_access(found.access)
    try:
        yield found
    finally:
        use_access(LOCAL_ONLY)


@pytest.fixture
def base(storage: Storage) -> str:
    return f"{storage.base}/{uuid.uuid4().hex[:12]}"
