"""The benchmark's jobs of two streams, on the local runner, and its plain loops."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from bench import expectation, jobs, two_stream_jobs, two_streams
from bench.peers import headrace_peer, plain_python
from bench.peers.protocol import Outcome, Task
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.testing import run_pipeline

pytestmark = pytest.mark.slow

RECORDS, KEYS = 4_000, 50


def task(job: str, folder: Path, **options: str) -> Task:
    chosen = {"runner": "local", **options}
    return Task(job, RECORDS, KEYS, "uniform", chosen, folder, folder)


def wrong(outcome: Outcome, job: str, folder: Path) -> str | None:
    wanted = expectation.expected(job, RECORDS, KEYS, "uniform", folder)
    assert wanted[0] > 0
    return expectation.difference(job, outcome.tally, wanted)


def test_the_plain_join_finds_the_pairs_that_a_search_does() -> None:
    records, keys = 30_000, 2_000  # more event time than a pair may span
    right = defaultdict(list)
    for key, value, time_ms in map(two_streams.side_function(True, keys), range(records // 2)):
        right[key].append((value, time_ms))
    found = [
        (key, value + other, other_ms - time_ms)
        for key, value, time_ms in map(two_streams.side_function(False, keys), range(records // 2))
        for other, other_ms in right[key]
        if abs(other_ms - time_ms) <= two_streams.REACH_MS
    ]
    assert sorted(two_streams.pairs(records, keys)) == sorted(found)


def test_a_record_meets_about_one_partner() -> None:
    records = 40_000
    count = sum(1 for _ in two_streams.pairs(records, 10_000))
    assert 0.7 < count / (records // 2) < 1.3


@pytest.mark.parametrize(
    ("job", "options"), [("join", {}), ("rules", {}), ("rules", {"rules": "constant"})]
)
def test_each_job_gives_out_what_a_plain_loop_does(
    job: str, options: dict[str, str], tmp_path: Path
) -> None:
    assert wrong(headrace_peer.run(task(job, tmp_path, **options)), job, tmp_path) is None


@pytest.mark.parametrize("job", two_streams.JOBS)
def test_the_plain_peer_runs_both_jobs(job: str, tmp_path: Path) -> None:
    assert wrong(plain_python.run(task(job, tmp_path)), job, tmp_path) is None


@pytest.mark.parametrize("buffers", ["list", "map"])
def test_the_join_by_hand_is_the_interval_join(buffers: str) -> None:
    env, half = StreamExecutionEnvironment(), 800
    sides = [
        env.from_source(
            DataGeneratorSource(two_streams.side_function(right, KEYS), count=half), None, name
        )
        for right, name in ((False, "left"), (True, "right"))
    ]
    found = two_stream_jobs.join_by_hand(jobs.Api("headrace"), *sides, buffers)
    assert sorted(run_pipeline(found).only) == sorted(two_streams.pairs(2 * half, KEYS))


def test_the_join_has_uniform_keys_only() -> None:
    with pytest.raises(ValueError, match="uniform"):
        two_streams.outputs("join", 10, 10, "zipf")
