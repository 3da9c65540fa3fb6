"""One cluster for all tests of the session."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.standalone import Cluster

# The servers of other tests.
from tests.connectors.conftest import kafka_server, kafka_servers
from tests.storage.conftest import base, hdfs_of_session, s3_of_session, storage

__all__ = [
    "base",
    "hdfs_of_session",
    "kafka_server",
    "kafka_servers",
    "s3_of_session",
    "storage",
]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers of one core each."""
    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc (Linux)")
    cluster = Cluster(Path(tmp_path_factory.mktemp("cluster")))
    try:
        cluster.start(workers=2)
        yield cluster
    finally:
        cluster.stop()
