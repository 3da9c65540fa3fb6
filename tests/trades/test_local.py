"""The job in one process: many seeds, any cuts, as a stream and as a batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.demo.trades import generator
from tests.trades.results import assert_equal_to_the_oracle, in_pieces, run_job

LOCAL = {"execution.target": "local"}
KINDS = {
    "MALFORMED",
    "UNKNOWN_INSTRUMENT",
    "UNKNOWN_ACCOUNT",
    "DUPLICATE",
    "OVERFILL",
    "CLOSED_ORDER",
    "ORPHAN",
}
MANY = generator.Rates(
    malformed=0.02,
    duplicate=0.02,
    unknown_instrument=0.02,
    unknown_account=0.02,
    orphan=0.02,
    overfill=0.1,
    closed_order=0.1,
    bust=0.1,
    early_reference=0.2,
)


@pytest.mark.parametrize("seed", range(3))
def test_a_stream_cut_anywhere(seed: int, tmp_path: Path) -> None:
    day = tmp_path / "day"
    generator.generate(day, events=700, seed=seed, rates=MANY)
    most = str([37, 400, 5_000][seed])
    run_job(day, tmp_path / "out", {**LOCAL, "headrace.source.max-records-per-batch": most})
    found = assert_equal_to_the_oracle(day, tmp_path / "out")
    assert {anomaly["kind"] for anomaly in found.anomalies} == KINDS


@pytest.mark.parametrize("seed", range(10, 11))
def test_a_batch(seed: int, tmp_path: Path) -> None:
    day = tmp_path / "day"
    generator.generate(day, events=700, seed=seed, rates=MANY)
    run_job(day, tmp_path / "out", {**LOCAL, "execution.runtime-mode": "BATCH"})
    assert_equal_to_the_oracle(day, tmp_path / "out")


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_feeds_in_pieces(mode: str, tmp_path: Path) -> None:
    whole = tmp_path / "day"
    generator.generate(whole, events=700, seed=20, rates=MANY)
    pieces = in_pieces(whole, tmp_path / "pieces", seed=20)
    settings = {"execution.runtime-mode": mode, "headrace.source.max-records-per-batch": "200"}
    run_job(pieces, tmp_path / "out", {**LOCAL, **settings})
    assert_equal_to_the_oracle(whole, tmp_path / "out", pieces)
