"""An HDFS whose WebHDFS is there over HTTPS only, with a certificate that was made for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.common._storage.locations import LOCAL_ONLY, file_system_of, use_access
from tests.storage import servers
from tests.storage.servers import Storage
from tests.storage.test_contracts import Files
from tests.storage.test_on_spark import INPUT, SUMS, lines_in, run

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.proof]


@pytest.fixture(scope="module")
def storage() -> Iterator[Storage]:
    with servers.hdfs(https=True) as found, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(found.certificate))
        use_access(found.access)
        try:
            yield found
        finally:
            use_access(LOCAL_ONLY)


class TestFiles(Files):
    pass


def test_a_job_reads_and_writes(storage: Storage, base: str) -> None:
    file_system_of(base).replace(f"{base}/in/lines.csv", INPUT.encode())
    assert run(storage, base) is None
    assert lines_in(f"{base}/out") == SUMS


def test_a_certificate_that_is_not_trusted_is_named_at_once(
    storage: Storage, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    use_access(LOCAL_ONLY)
    use_access(storage.access)
    with pytest.raises(OSError, match=r"is not trusted.*SSL_CERT_FILE"):
        file_system_of(base).size(f"{base}/x")
