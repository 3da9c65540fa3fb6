"""A checkpoint does not grow with the number of micro-batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.measure.checkpoint_growth import growth

pytestmark = [pytest.mark.spark, pytest.mark.proof]


@pytest.mark.timeout(600)
def test_files_and_bytes_stay_bounded(tmp_path: Path) -> None:
    """Spark keeps 100 versions of the state, and removes older ones once a minute."""
    sizes = {count: rest for count, *rest in growth(900, str(tmp_path))}
    early = [rest for count, rest in sizes.items() if 250 <= count < 500]
    late = [rest for count, rest in sizes.items() if count >= 600]
    assert len(early) >= 2 and len(late) >= 2, sizes
    for of_early, of_late in zip(zip(*early, strict=True), zip(*late, strict=True), strict=True):
        assert max(of_late) < 1.3 * max(of_early), sizes
