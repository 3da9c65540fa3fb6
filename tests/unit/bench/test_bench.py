"""The benchmark's own arithmetic, and its jobs on the local runner."""

from __future__ import annotations

import json
import math
import os
import pickle
import platform
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bench import (
    against,
    cluster,
    expectation,
    layers,
    processes,
    quick,
    report,
    throughput,
    workload,
)
from bench.__main__ import is_whole
from bench.contenders import CASES, CONTENDERS, Case, Contender, size
from bench.environments import OWN, versions
from bench.measure import doubling, memory, trickle
from bench.peers.headrace_peer import micro_batches, run
from bench.peers.protocol import Task
from bench.targets import TARGETS, Measured, ratio
from bench.throughput import Plan, figures

pytestmark = pytest.mark.slow

LOCAL = {"runner": "local"}


@pytest.mark.parametrize("distribution", ["uniform", "zipf", "each"])
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
    assert wanted[2] == pytest.approx(wanted[0] * 50_000 * 500, rel=0.1)


def test_a_wrong_count_is_reported() -> None:
    assert expectation.difference("a", [10, 5, 7, 100], (11, 5, 7, 100)) is not None
    assert expectation.difference("a", [10_000, 5, 7, 100], (10_000, 5, 7, 200)) is not None
    assert expectation.difference("b", [10, 5, 7], (10, 5, 8)) is not None


def test_uniform_keys_are_all_there() -> None:
    uniform = workload.record_function(1_000)
    assert {uniform(i)[0] for i in range(10_000)} == set(range(1_000))


@pytest.mark.parametrize("keys", [1, 20, 1_000, 10_000])
def test_each_key_comes_once_in_as_many_records(keys: int) -> None:
    each = workload.record_function(keys, "each")
    for start in (0, keys, 7 * keys):
        found = [each(index)[0] for index in range(start, start + keys)]
        assert sorted(found) == list(range(keys))
    if keys == 10_000:
        assert sum(abs(a - b) == 1 for a, b in pairwise(found)) == 0  # in a scattered order


def test_zipf_keys_come_as_often_as_they_should() -> None:
    keys, records = 3_000, 200_000
    zipf = workload.record_function(keys, "zipf")
    found = Counter(zipf(index)[0] for index in range(records))
    weights = [(rank + 1) ** -workload.ZIPF_EXPONENT for rank in range(keys)]
    whole = sum(weights)
    assert min(found) >= 0
    assert max(found) < keys
    assert len(found) > 0.99 * keys
    for key in range(50):
        assert found[key] / records == pytest.approx(weights[key] / whole, rel=0.01)
    for start, end in pairwise([0, 10, 100, 1_000, workload.ZIPF_HEAD, 2_000, keys]):
        share = sum(found[key] for key in range(start, end)) / records
        assert share == pytest.approx(sum(weights[start:end]) / whole, rel=0.01)


@pytest.mark.parametrize("keys", [1, 5, workload.ZIPF_HEAD, workload.ZIPF_HEAD + 1, 10_000_000])
def test_the_last_number_belongs_to_the_last_zipf_key(keys: int) -> None:
    zipf = workload.ZipfRecords(keys)
    assert zipf._key(0) == 0
    assert zipf._key(workload.MODULUS - 1) == keys - 1


def test_the_first_zipf_key_has_its_share() -> None:
    weights = [(rank + 1) ** -workload.ZIPF_EXPONENT for rank in range(10_000)]
    share = workload.ZipfRecords(10_000).share_of_first()
    assert share == pytest.approx(weights[0] / sum(weights), rel=1e-4)


def test_zipf_records_travel_as_their_parameters() -> None:
    zipf = workload.record_function(10_000, "zipf")
    data = pickle.dumps(zipf)
    again = pickle.loads(data)
    assert len(data) < 200
    assert [again(i) for i in range(100)] == [zipf(i) for i in range(100)]


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


def test_a_rate_by_two_runs_has_the_memory_of_the_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*given: Any) -> processes.Run:
        records = int(next(a for a in given[2] if a.startswith("--records=")).split("=")[1])
        answer = {"seconds": records / 1_000, "tally": [1], "facts": {}}
        found = processes.Run([], records / 500, 0.0, answer)
        found.peak_mib = {"worker": records // 1_000} if given[4] else None
        return found

    monkeypatch.setattr(processes, "run", run)
    monkeypatch.setattr(expectation, "difference", lambda *given: None)
    (found,) = memory.measure(Plan(1, 0.001))
    assert found["values"] == {"records_per_second": pytest.approx(1_000), "worker_mib": 20}
    assert found["point"] == "keys 10,000"


def test_a_failure_stays_in_the_figures() -> None:
    figure = figures([{**row(0, 100, 3.0), "failure": "exit code 1"}])["headrace"]
    assert figure.rate is None
    assert figure.failure == "exit code 1"


def test_a_round_without_a_slope_is_reported_and_the_others_count() -> None:
    rows = [row(0, 100, 3.0), row(0, 1_100, 5.0), row(1, 100, 3.0), row(1, 1_100, 2.9)]
    figure = figures(rows)["headrace"]
    assert figure.rate == 500.0
    assert figure.failure == f"1 of 2 rounds lost: {throughput.NO_SLOPE}"


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


def result(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"rows": list(rows)}


def rated(contender: str, rate: float, number: int = 0) -> list[dict[str, Any]]:
    small, large = row(number, 100, 1.0), row(number, 1_100, 1.0 + 1_000 / rate)
    return [{**small, "contender": contender}, {**large, "contender": contender}]


def asked(text: str, results: dict[str, Any]) -> tuple[float, int]:
    (target,) = (target for target in TARGETS if target.text.startswith(text))
    found = target.ask(Measured(results))
    assert found is not None
    return pytest.approx(found.median), found.least


def test_the_best_of_a_peer_may_be_one_that_was_tuned_in_a_run_of_its_own() -> None:
    results = {
        "a": result(
            *rated("headrace", 1_000), *rated("headrace", 1_000, 1), *rated("bytewax", 400)
        ),
        "tune": result(
            *rated("headrace", 1_200),  # the machine was faster
            *rated("bytewax-flat-map", 600),
            *rated("pyflink-process-loopback", 50),
        ),
    }
    assert asked("(a) to Bytewax", results) == (2, 1)
    assert asked("(a) to PyFlink", results) == (24, 1)
    slower = {**results, "a": result(*rated("headrace", 1_000), *rated("bytewax", 800))}
    assert asked("(a) to Bytewax", slower) == (1.25, 1)
    alone = {**results, "tune": result(*rated("bytewax-flat-map", 600))}
    assert asked("(a) to Bytewax", alone) == (2.5, 1)


def test_a_ratio_is_of_the_rounds_that_one_command_took() -> None:
    rates = [(1_000, 500), (4_000, 1_000), (2_000, 2_000)]
    own = [row for n, (rate, _) in enumerate(rates) for row in rated("headrace", rate, n)]
    other = [row for n, (_, rate) in enumerate(rates) for row in rated("headrace", rate, n)]
    together = {"a": result(*own), "exchange": result(*other)}
    assert asked("(a) to the same source", together) == (2, 3)
    apart = {"a": result(*own), "exchange": {**result(*other), "arguments": ["exchange"]}}
    assert asked("(a) to the same source", apart) == (2, 3)
    found = ratio(Measured(together).rate("a"), Measured(together).rate("exchange"))
    assert found is not None
    assert [*found.values.values()] == pytest.approx([2, 4, 1])
    found = ratio(Measured(apart).rate("a"), Measured(apart).rate("exchange"))
    assert found is not None
    assert [*found.values.values()] == pytest.approx([2_000 / 1_000])


def test_a_target_is_met_by_three_rounds_only() -> None:
    (target,) = (target for target in TARGETS if target.text.startswith("local runner"))
    fast = [row for n in range(3) for row in rated("headrace-local", 400_000, n)]
    said = [
        report._said(target, found)
        for rows in (fast, fast[:4])
        if (found := target.ask(Measured({"a": result(*rows)}))) is not None
    ]
    assert said == ["met", "too few rounds"]


def test_a_further_stage_is_what_c_costs_more_than_a() -> None:
    results = {"a": result(*rated("headrace", 1_000)), "c": result(*rated("headrace", 400))}
    assert asked("a further stage", results) == (0.75, 1)


def test_a_small_batch_is_compared_with_the_faster_of_two_settings() -> None:
    costs = {"headrace": 120, "spark-shape": 150, "spark-shape-light": 100, "spark-state": 60}
    rows = [{"contender": c, "round": 0, "values": {"ms_per_batch": ms}} for c, ms in costs.items()]
    results = {"trickle": result(*rows)}
    assert asked("a micro-batch of 100 records", results) == (2, 1)
    assert asked("the same to a query", results) == (1.2, 1)


def test_the_batch_runner_is_linear_by_the_medians() -> None:
    seconds = {100: (1, 2, 9), 200: (2, 3, 9), 400: (4, 5, 9), 800: (9, 9, 9)}
    rows = [
        {"records": records, "round": number, "values": {"seconds": value}}
        for records, values in seconds.items()
        for number, value in enumerate(values)
    ]
    results = {"batch-linear": result(*rows)}
    assert asked("batch runner: a record's cost", results) == (1, 3)


def test_the_report_names_the_point_of_a_failure() -> None:
    failed = {"contender": "headrace", "point": "keys 1,000", "failure": "exit code 1"}
    text = "".join(report._measure([failed]))
    assert "- headrace keys 1,000: `exit code 1`" in text


def layer_row(layer: str) -> dict[str, Any]:
    values = {"us_per_record": 1.0}
    return {"contender": "10,000 keys", "point": layer, "round": 0, "values": values}


def test_the_report_tells_the_exchange_from_the_layers() -> None:
    runs = [
        {**found, "facts": {"processor_seconds": {"worker": seconds, "jvm": 0.0, "driver": 0.0}}}
        for found, seconds in zip(rated("headrace", 1_000), (1.0, 1.005), strict=True)
    ]
    apart = [layer_row(layer) for layer in report.LAYERS_OF_EXCHANGE]
    measured = Measured({"exchange": result(*runs), "layers": result(*apart)})
    (text,) = report._exchange(measured)
    assert "5.00 us" in text
    assert "The other 2.00 us" in text
    assert report._exchange(Measured({"layers": result(*apart)})) == []


def fixed_prices(driver_ms: float) -> list[dict[str, Any]]:
    return [
        {
            "contender": "headrace",
            "point": f"partitions {at}",
            "round": 0,
            "values": {"driver_ms_per_batch": driver_ms * at, "task_ms_per_batch": 10.0 * at},
        }
        for at in (2, 8, 32, 128)
    ]


def test_a_cluster_is_worked_out_from_two_cores() -> None:
    runs = [
        {**found, "facts": {"processor_seconds": {"worker": seconds}}}
        for found, seconds in zip(rated("headrace", 1_000), (1.0, 1.004), strict=True)
    ]
    rate = {"contender": "headrace", "point": "key groups 1,024", "round": 0, "runs": runs}
    layers = result(*map(layer_row, cluster.STAGE))
    results = {"growth": result(rate, *fixed_prices(2.0)), "layers": layers}
    found = {what: figure for what, figure, _ in cluster.lines(Measured(results))}
    assert found["processor time of a record"] == "4.00 us"
    assert found["400 cores at that price"] == "100.0 million records/s"
    assert found["the driver's part of it with 400 partitions"] == "800 ms"
    assert found["duration of an almost empty micro-batch: the lowest latency"] == "0.8 s"
    assert found["rate in micro-batches of 10 s"] == "91.9 million records/s"
    dear = {**results, "growth": result(rate, *fixed_prices(20.0))}
    found_dear = {what: figure for what, figure, _ in cluster.lines(Measured(dear))}
    assert found_dear["rate in micro-batches of 24 s"] == "66.7 million records/s"
    too_dear = {**results, "growth": result(rate, *fixed_prices(200.0))}
    found_dear = {what: figure for what, figure, _ in cluster.lines(Measured(too_dear))}
    assert found_dear["rate in micro-batches of 60 s"] == "0.0 million records/s"
    zipf = [(rank + 1) ** -1.1 for rank in range(10_000)]
    most = f"{1e6 / 2.0 / (zipf[0] / sum(zipf)) / 1e6:.1f} million records/s"
    assert found["rate at which the most frequent of 10,000 Zipf keys uses all of its core"] == most
    some = result(rate, *fixed_prices(2.0)[:3])
    assert [*cluster.lines(Measured({**results, "growth": some}))] == []


def test_a_table_goes_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- it -->\nold\n<!-- /it -->\nafter\n")
    report.put(page, "it", "new\n")
    assert page.read_text() == "before\n<!-- it -->\nnew\n<!-- /it -->\nafter\n"


def test_a_micro_batch_costs_its_tasks_and_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    def one(case: Case, contender: Contender, records: int) -> dict[str, Any]:
        seconds = records / 1_000
        used = {"jvm": 1 + 0.3 * seconds, "driver": 0.1 * seconds, "executor": 9 * seconds}
        facts = {"task_seconds": 3 * seconds, "processor_seconds": used}
        return {"records": records, "seconds": seconds, "facts": facts}

    monkeypatch.setattr(trickle, "one", one)
    values = trickle.cost(trickle.headrace(events="1"), 20, 60)["values"]
    assert values == {
        "ms_per_batch": pytest.approx(100),
        "processor_ms_per_batch": pytest.approx(940),
        "task_ms_per_batch": pytest.approx(300),
        "driver_ms_per_batch": pytest.approx(40),
    }


def test_fewer_micro_batches_than_wanted_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def one(case: Case, contender: Contender, records: int) -> dict[str, Any]:
        return {"records": records, "seconds": records / 1_000, "facts": {"micro_batches": 20}}

    monkeypatch.setattr(trickle, "one", one)
    found = trickle.cost(trickle.headrace(), 20, 60)
    assert found["failure"] == "20 micro-batches, not 60"
    found = trickle.cost(trickle.headrace(), 7, 20)
    assert found["values"]["ms_per_batch"] == pytest.approx(100)


def test_micro_batches_are_counted_by_their_commits(tmp_path: Path) -> None:
    folder = tmp_path / "job" / "spark" / "commits"
    folder.mkdir(parents=True)
    assert micro_batches(tmp_path) == 0
    for name in ("7", "19", "metadata", ".19.crc"):
        (folder / name).touch()
    assert micro_batches(tmp_path) == 20


def test_only_a_whole_run_takes_the_place_of_the_results() -> None:
    plans = [Plan(3, 1.0), Plan(2, 1.0), Plan(3, 0.1), Plan(3, 1.0, ("bytewax",))]
    assert [is_whole(plan) for plan in plans] == [True, False, False, False]


def test_the_first_two_cores_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[Any] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {5, 1, 3}, raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", lambda *given: chosen.append(given), raising=False)
    processes.stay_on_two_cores()
    assert chosen == [(0, [1, 3])]


def test_a_ratio_lies_between_the_ends_of_its_interval() -> None:
    # By hand: the logs are 0 and ±0.1, their deviation 0.1, Student's quantile of three 4.303.
    low, ratio, high = against.interval([math.exp(-0.1), 1.0, math.exp(0.1)])
    assert ratio == pytest.approx(1)
    assert (math.log(low), math.log(high)) == pytest.approx((-0.2484, 0.2484), abs=1e-4)
    assert against.interval([1.25]) == (0.0, pytest.approx(1.25), math.inf)


def test_a_loss_is_one_in_every_try() -> None:
    before = {"source alone": 2.0, "stage in pages": 1.0}
    noisy = [
        {"plain loop": 1.0, "source alone": 2.9, "stage in pages": 1.1},
        {"plain loop": 0.5, "source alone": 1.15, "stage in pages": 0.9},
    ]
    assert quick.lost(quick.ratios(noisy[0]), before) == ["source alone"]
    took = quick.least(noisy)
    assert took == {"plain loop": 0.5, "source alone": 1.15, "stage in pages": 0.9}
    assert quick.ratios(took) == {"source alone": 2.3, "stage in pages": 1.8}
    assert quick.lost(quick.ratios(took), before) == ["stage in pages"]


def test_encoding_is_compared_with_plain_pickling() -> None:
    took = {"plain loop": 1.0, "plain dumps": 0.5, "plain loads": 0.25, "encode": 1, "decode": 1}
    assert quick.ratios(took) == {"encode": 2.0, "decode": 4.0}


def test_every_layer_that_is_guarded_has_a_committed_figure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [*layers.PLAIN, "source alone", "source and chain", "encode", "decode"]
    names += ["stage on the heap", "stage in pages", *layers.SMALL]
    monkeypatch.setattr(layers, "measure", lambda *given: dict.fromkeys(names, 1.0))
    committed = json.loads(quick.BASELINE.read_text())
    assert quick.ratios(quick.measure()).keys() == committed.keys()


def test_versions_are_those_that_are_installed() -> None:
    found = versions(OWN)
    assert found["python"] == platform.python_version()
    assert "pyspark" in found
    assert "bytewax" not in found


def test_a_process_that_does_not_end_is_ended_and_reported() -> None:
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


def test_two_engines_take_turns_and_the_ratio_is_the_median(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def measure(plan: Plan) -> dict[str, float]:
        asked.append(processes._engine.name)
        return {"a": 30.0 if processes._engine == against.ROOT else 10.0 * (1 + len(asked) // 2)}

    monkeypatch.setitem(against.MEASURES, "a", measure)
    found = against.compare(tmp_path / "older", ["a"], Plan(3, 1.0))
    here = against.ROOT.name
    assert asked == ["older", here, here, "older", "older", here]
    assert found == {"a": [3.0, 1.0, 1.0]}
    assert processes._engine == against.ROOT
