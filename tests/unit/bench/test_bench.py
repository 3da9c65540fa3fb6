"""The benchmark's own arithmetic, and its jobs on the local runner."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import expectation, processes, throughput, workload
from bench.contenders import CASES, CONTENDERS, Case, Contender, size
from bench.measure import doubling
from bench.peers.headrace_peer import run
from bench.peers.protocol import Task
from bench.targets import TARGETS, Measured
from bench.throughput import Plan, figures

LOCAL = {"runner": "local"}


@pytest.mark.parametrize("distribution", ["uniform", "zipf"])
@pytest.mark.parametrize("job", ["a", "b", "c", "c2", "ct", "exchange"])
def test_each_job_gives_out_what_a_plain_loop_does(
    job: str, distribution: str, tmp_path: Path
) -> None:
    records, keys = 5_000, 20
    outcome = run(Task(job, records, keys, distribution, LOCAL, tmp_path, tmp_path))
    wanted = expectation.expected(job, records, keys, distribution, tmp_path)
    assert expectation.difference(job, outcome.tally, wanted) is None


def test_the_stateless_job_passes_half_of_the_lines(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    outcome = run(Task("d", 2_000, 1, "uniform", LOCAL, tmp_path, folder))
    wanted = expectation.expected("d", 2_000, 1, "uniform", tmp_path)
    assert tuple(outcome.tally) == wanted
    assert wanted[0] == pytest.approx(1_000, rel=0.1)


def test_a_wrong_count_is_told() -> None:
    assert expectation.difference("a", [10, 5, 7, 100], (11, 5, 7, 100)) is not None
    assert expectation.difference("a", [10_000, 5, 7, 100], (10_000, 5, 7, 200)) is not None
    assert expectation.difference("b", [10, 5, 7], (10, 5, 8)) is not None


def test_keys_are_in_range_and_the_zipf_ones_are_skewed() -> None:
    uniform = workload.record_function(1_000)
    zipf = workload.record_function(1_000, "zipf")
    keys = [zipf(i)[0] for i in range(10_000)]
    assert {uniform(i)[0] for i in range(10_000)} == set(range(1_000))
    assert max(keys) < 1_000
    assert keys.count(0) > 100 * keys.count(500)


def row(number: int, records: int, seconds: float) -> dict[str, Any]:
    return {
        "contender": "headrace",
        "round": number,
        "records": records,
        "seconds": seconds,
        "wall_seconds": seconds + 1,
    }


def test_the_slope_is_the_cost_and_the_rest_is_the_start() -> None:
    rows = [row(0, 100, 3.0), row(0, 1_100, 5.0), row(1, 100, 3.0), row(1, 1_100, 4.0)]
    figure = figures(rows)["headrace"]
    assert figure.rates == (500.0, 1_000.0)
    assert figure.rate == 750.0
    assert figure.starts == pytest.approx((3.8, 3.9))


def test_cases_take_turns_and_a_failure_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def one(case: Case, contender: Contender, records: int) -> dict[str, Any]:
        found = {**row(0, records, records / 1000), "case": case.name, "contender": contender.name}
        return {**found, "failure": "broken"} if contender.name == "bytewax" else found

    monkeypatch.setattr(throughput, "one", one)
    sizes = {"headrace": (1_000, 2_000), "bytewax": (1_000, 2_000)}
    cases = [Case("first", "a", sizes=sizes), Case("second", "a", sizes=sizes)]
    counts = [
        {name: len(rows) for name, rows in found.items()}
        for found in throughput.measure(cases, Plan(2, 1.0))
    ]
    assert counts == [{"first": 3, "second": 3}, {"first": 5, "second": 5}]


def test_a_failure_stays_in_the_figures() -> None:
    figure = figures([{**row(0, 100, 3.0), "failure": "exit code 1"}])["headrace"]
    assert figure.rate is None
    assert figure.failure == "exit code 1"


def test_every_size_belongs_to_a_contender_and_is_a_whole_number_of_batches() -> None:
    for case in CASES.values():
        for name, sizes in case.sizes.items():
            step = int(CONTENDERS[name].options.get("batch", case.step))
            assert sizes == tuple(size(records, 1, step) for records in sizes)


def test_peers_are_chosen_by_their_beginnings() -> None:
    plan = Plan(1, 1, ("pyflink", "bytewax-threads"))
    assert [plan.takes(n) for n in ("pyflink-thread", "bytewax", "headrace")] == [
        True,
        False,
        False,
    ]


def test_targets_without_results_are_not_measured() -> None:
    assert [target.ask(Measured({})) for target in TARGETS] == [None] * len(TARGETS)


def test_a_process_that_does_not_end_is_ended_and_told() -> None:
    server = ["0", "--bind", "127.0.0.1"]
    found = processes.run(sys.executable, "http.server", server, 0.5)
    assert found.answer is None
    assert found.failure is not None
    assert found.failure.startswith("no end within 0.5 s")


def test_the_last_json_line_counts() -> None:
    assert processes.last_json('{"a": 1}\nlog {\n{"a": 2}\n{broken}\n') == {"a": 2}


def test_a_record_is_due_when_so_many_are() -> None:
    ends_ms = [1000 * doubling.PHASE_SECONDS * n for n in range(4)]
    assert [doubling.due(end) for end in ends_ms] == [0, 1_800_000, 5_400_000, 7_200_000]
    assert doubling.due(10 * ends_ms[-1]) == 7_200_000
    for index in (0, 7, 1_800_000, 1_800_001, 5_399_999, 7_100_000):
        assert doubling.due(doubling.due_ms(index) + 0.01) == pytest.approx(index, abs=1)


def test_what_left_the_session_belongs_to_it_while_its_parent_does() -> None:
    child = "import time; print('up', flush=True); time.sleep(60)"
    parent = (
        "import subprocess, sys;"
        f"subprocess.Popen([sys.executable, '-c', {child!r}], start_new_session=True).wait()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", parent], start_new_session=True, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        members = processes._members(process.pid)
        processes.end_session(process)
    assert len(members) == 2
    assert not members & processes._running().keys()
