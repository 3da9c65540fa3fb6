"""A storage that is slow or answers with errors for a while: the job counts each line once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.storage.servers import Storage
from tests.storage.test_gone import LinesJob
from tests.storage.test_on_spark import SUMS, lines_in
from tests.storage.troubled import Trouble, with_proxy

pytestmark = [pytest.mark.spark, pytest.mark.fault, pytest.mark.xdist_group("storage")]

SOME = Trouble(failing=0.3, executed=0.5)
ALL = Trouble(failing=1.0)
SLOW = Trouble(delay_seconds=2.0)


@pytest.mark.timeout(500)
@pytest.mark.parametrize(
    ("storage", "trouble", "seconds"),
    [
        pytest.param("s3", SOME, 10, id="s3 some", marks=pytest.mark.proof),
        pytest.param("hdfs", SOME, 10, id="hdfs some", marks=pytest.mark.proof),
        *(
            pytest.param(name, trouble, seconds, id=f"{name} {said}", marks=pytest.mark.proof)
            for name in ("s3", "hdfs")
            for said, trouble, seconds in (
                ("all", ALL, 20),
                ("all for long", ALL, 75),
                ("slow", SLOW, 30),
            )
        ),
    ],
    indirect=["storage"],
)
def test_a_storage_in_trouble_for_a_while(
    trouble: Trouble, seconds: int, storage: Storage, base: str, tmp_path: Path
) -> None:
    with (
        with_proxy(storage) as (reached, proxy),
        LinesJob(reached, base, tmp_path / "log") as job,
    ):
        proxy.trouble = trouble
        time.sleep(seconds)
        proxy.trouble = Trouble()
        job.assert_ends()
    assert proxy.met, "no request met the trouble"
    print(dict(proxy.met), job.log.count("failed and restarts"), "restarts")
    assert lines_in(f"{base}/out") == SUMS
