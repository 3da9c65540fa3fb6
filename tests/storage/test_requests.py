"""What a micro-batch costs in requests to S3."""

from __future__ import annotations

from collections import Counter

import pytest

from headrace.common._storage.locations import file_system_of
from tests.storage.jobs import run_job
from tests.storage.servers import Storage
from tests.storage.test_on_spark import INPUT, LINES, SUMS, lines_in
from tests.storage.troubled import with_proxy

pytestmark = [pytest.mark.spark, pytest.mark.proof, pytest.mark.xdist_group("storage")]

REQUESTS = 76
"""As many as docs/how-to/storage.md says, and a few for what is asked every few seconds."""


def requests_of(storage: Storage, base: str, records_per_batch: int) -> Counter[str]:
    with with_proxy(storage) as (reached, proxy):
        file_system_of(base).replace(f"{base}/in/lines.csv", INPUT.encode())
        settings = {
            f"headrace.source.{most}-records-per-batch": str(records_per_batch)
            for most in ("max", "min")
        }
        arguments = [base, str(LINES)]
        failed = run_job("tests.storage.lines_job", reached, arguments, settings)
        assert failed is None, failed
        assert lines_in(f"{base}/out") == SUMS
        return proxy.requests


@pytest.mark.parametrize("storage", ["s3"], indirect=True)
def test_a_micro_batch_makes_as_many_requests_as_the_page_says(storage: Storage, base: str) -> None:
    few, many = 4, 24
    of_few, of_many = (
        requests_of(storage, f"{base}/{number}", LINES // number) for number in (few, many)
    )
    each = {method: (of_many[method] - of_few[method]) / (many - few) for method in sorted(of_many)}
    print(each)
    assert 0 < sum(each.values()) <= REQUESTS, each
