"""The benchmark's patterns: their matches, and what open partial matches take."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import expectation, workload
from bench.measure import patterns_probe
from bench.measure.operators import HEAP, PAGES
from bench.peers import headrace_peer
from bench.peers.protocol import Task

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("job", ["p1", "p10", "p100"])
def test_each_job_gives_out_what_is_expected(job: str, tmp_path: Path) -> None:
    records, keys = 30_000, 20
    wanted = expectation.expected(job, records, keys, "uniform", tmp_path)
    assert wanted[0] > 10
    task = Task(job, records, keys, "uniform", {"runner": "local"}, tmp_path, tmp_path)
    assert tuple(headrace_peer.run(task).tally) == wanted


@pytest.mark.parametrize(("job", "share"), [("p1", 0.01), ("p10", 0.1), ("p100", 1)])
def test_as_many_events_are_relevant_as_the_job_says(job: str, share: float) -> None:
    below, least = workload.pattern_limits(job)
    values = [value for _, value, _ in map(workload.event_function(100), range(100_000))]
    small = sum(value < below for value in values)
    large = sum(value >= least for value in values)
    assert small + large == pytest.approx(share * len(values), rel=0.05)
    assert small == pytest.approx(large, rel=0.1)


@pytest.mark.parametrize("backend", [HEAP, PAGES])
def test_a_partial_match_takes_some_bytes(backend: str) -> None:
    assert 30 < patterns_probe.taken(backend, 500) / 500 < 2_000
