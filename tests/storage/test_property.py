"""The property on Spark, with input, results and checkpoints on a real HDFS or S3."""

from __future__ import annotations

import random

import pytest

from tests.storage.jobs import run_job
from tests.storage.servers import Storage, in_proof

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("storage")]


@pytest.mark.timeout(1800)
@in_proof("s3", "hdfs")
@pytest.mark.parametrize(
    ("examples", "programs"), [(1, 2), pytest.param(4, 3, marks=pytest.mark.proof)]
)
def test_property_on_a_storage(examples: int, programs: int, storage: Storage, base: str) -> None:
    """Each example: a job of some programs as a batch, and as a stream in three versions."""
    seed = random.SystemRandom().randrange(1 << 32)
    arguments = [base, str(seed), str(examples), str(programs)]
    failure = run_job("tests.storage.generated_job", storage, arguments, timeout_s=1700)
    assert failure is None, f"seed {seed}: {failure}"
