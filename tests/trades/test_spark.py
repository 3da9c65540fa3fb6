"""The job on Spark: in micro-batches and as a batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.demo.trades import generator
from tests.trades.results import assert_equal_to_the_oracle, in_pieces, run_job

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("mode", "seed"), [("STREAMING", 101), ("STREAMING", 102), ("BATCH", 103), ("BATCH", 104)]
)
def test_the_job(mode: str, seed: int, tmp_path: Path) -> None:
    whole = tmp_path / "day"
    generator.generate(whole, events=4_000, seed=seed)
    pieces = in_pieces(whole, tmp_path / "pieces", seed) if seed % 2 == 0 else None
    settings = {
        "execution.runtime-mode": mode,
        "headrace.source.max-records-per-batch": "900",
        "execution.checkpointing.dir": str(tmp_path / "checkpoint"),
    }
    run_job(pieces or whole, tmp_path / "out", settings)
    assert_equal_to_the_oracle(whole, tmp_path / "out", pieces)
