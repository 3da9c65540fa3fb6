"""Savepoints of the local runner: taken, stopped with, drained, and begun from."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, JobClient, JobStatus, Types, WatermarkStrategy
from headrace.common._storage import pickles
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream._build.execution import _build_graph
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from headrace.errors import CheckpointError, ConfigurationError, JobError
from headrace.runners import local_job
from headrace.runners.launch import start
from headrace.runners.observers import JobObserver, SaveFailed
from headrace.runners.savepoint_folders import new_savepoint_folder, stored_savepoints
from headrace.runtime.savepoint.folder import StoredSavepoint, read_manifest

RECORDS, KEYS = 600, 7
RESTORE = "execution.state-recovery.path"


class Tally(KeyedProcessFunction):
    """A running total by key; a timer for each hundred says what it was."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.total.update((self.total.value() or 0) + value)
        ctx.timer_service().register_event_time_timer((value // 100 + 1) * 100 - 1)
        yield ctx.get_current_key(), self.total.value()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), "until", timestamp


def expected() -> Counter[Any]:
    found: Counter[Any] = Counter()
    for key in range(KEYS):
        total = 0
        for number in range(key, RECORDS, KEYS):
            total += number
            found[key, total] += 1
        for end in {(number // 100 + 1) * 100 - 1 for number in range(key, RECORDS, KEYS)}:
            found[key, "until", end] += 1
    return found


class Gate:
    """Lets a job read up to a number, and no further until it is opened."""

    def __init__(self, at: int) -> None:
        self._at = at
        self.reached, self._opened = threading.Event(), threading.Event()

    def wait(self, number: int) -> None:
        if number >= self._at and not self._opened.is_set():
            self.reached.set()
            self._opened.wait(60)

    def open(self) -> None:
        self._opened.set()


_gates: list[Gate] = []
"""The gate of the job that runs, which cannot be pickled with it."""


def through_the_gate(number: int) -> int:
    for gate in _gates:
        gate.wait(number)
    return number


def configured(**settings: str) -> Configuration:
    return Configuration.from_dict(
        {
            "execution.target": "local",
            "headrace.source.max-records-per-batch": "10",
            "headrace.source.min-records-per-batch": "10",
            **settings,
        }
    )


def environment(
    out: list[Any], gate: Gate | None = None, **settings: str
) -> StreamExecutionEnvironment:
    _gates[:] = [] if gate is None else [gate]
    env = StreamExecutionEnvironment(configured(**settings))
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v)
    numbers = env.from_sequence(0, RECORDS - 1).uid("numbers").map(through_the_gate, Types.INT())
    timed = numbers.assign_timestamps_and_watermarks(times)
    tallies = timed.key_by(lambda v: v % KEYS).process(Tally()).uid("tally")
    tallies.sink_to(FunctionSink(out.extend)).uid("out")
    return env


def started(out: list[Any], at: int, **settings: str) -> tuple[JobClient, Gate]:
    """A job that has read up to a number, and waits there."""
    gate = Gate(at)
    client = environment(out, gate, **settings).execute_async("tallies")
    assert gate.reached.wait(60)
    return client, gate


def test_a_job_goes_on_from_the_savepoint_it_was_stopped_with(tmp_path: Path) -> None:
    out: list[Any] = []
    client, gate = started(out, 200)
    stopped = client.stop_with_savepoint(False, str(tmp_path))
    gate.open()
    savepoint = stopped.result(60)
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert 0 < len(out) < sum(expected().values())
    environment(out, **{RESTORE: savepoint}).execute("tallies")
    assert Counter(out) == expected()


def test_a_savepoint_of_a_running_job(tmp_path: Path) -> None:
    first: list[Any] = []
    settings = {"execution.checkpointing.savepoint-dir": str(tmp_path)}
    client, gate = started(first, 300, **settings)
    taken = client.trigger_savepoint()
    gate.open()
    savepoint = taken.result(60)
    client.get_job_execution_result().result(60)
    assert Counter(first) == expected()
    second: list[Any] = []
    environment(second, **{RESTORE: savepoint}).execute("tallies")
    assert second and first[-len(second) :] == second


def test_a_savepoint_says_when_it_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []
    for moment_ms in (9_000, 5_000):
        monkeypatch.setattr(local_job, "wall_clock_ms", lambda now_ms=moment_ms: now_ms)
        client, gate = started([], 100)
        stopped = client.stop_with_savepoint(False, str(tmp_path))
        gate.open()
        taken.append(stopped.result(60))
    found = [(folder, manifest.created_ms) for folder, manifest in stored_savepoints(str(tmp_path))]
    assert found == [(taken[1], 5_000), (taken[0], 9_000)]


class Failures(JobObserver):
    def __init__(self) -> None:
        self.found: list[SaveFailed] = []

    def on_save_failed(self, failed: SaveFailed) -> None:
        self.found.append(failed)


def test_a_savepoint_that_fails_is_reported_and_the_job_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("headrace.runtime.savepoint.folder.write_savepoint", full)
    out, gate, failures = list[Any](), Gate(300), Failures()
    graph = _build_graph(environment(out, gate)._take_sinks(), configured())
    job = start(graph, configured(), "tallies", observers=[failures])
    assert gate.reached.wait(60)
    taken = job.savepoint(str(tmp_path))
    gate.open()
    with pytest.raises(OSError, match="full"):
        taken()
    job.wait()
    assert Counter(out) == expected()
    (failed,) = failures.found
    assert f"{failed.error}" == "the disk is full" and failed.started_ms <= failed.failed_ms
    assert failed.folder is not None and failed.folder.startswith(str(tmp_path))


def test_a_drained_job_fires_all_timers(tmp_path: Path) -> None:
    out: list[Any] = []
    client, gate = started(out, 250)
    stopped = client.stop_with_savepoint(True, str(tmp_path))
    gate.open()
    manifest = read_manifest(stopped.result(60))
    assert all(source["ended"] for source in manifest.offset["sources"].values())
    assert {key for key, *rest in out if rest[0] == "until" and rest[1] == 299} == {*range(KEYS)}


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    out: list[Any] = []
    client, gate = started(out, 100)
    with pytest.raises(ConfigurationError, match="no folder is given for the savepoint"):
        client.trigger_savepoint().result(60)
    gate.open()
    client.get_job_execution_result().result(60)
    with pytest.raises(JobError, match="has ended"):
        client.trigger_savepoint(str(tmp_path)).result(60)
    with pytest.raises(CheckpointError, match="there is no savepoint in this folder"):
        environment(out, **{RESTORE: str(tmp_path / "none")}).execute("tallies")


def test_a_file_is_no_savepoint(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    out: list[Any] = []
    with pytest.raises(CheckpointError, match="this is a file, and a savepoint is a folder"):
        environment(out, **{RESTORE: str(file)}).execute("tallies")
    client, gate = started(out, 100)
    with pytest.raises(ConfigurationError, match="savepoints go into a folder"):
        client.trigger_savepoint(str(file)).result(60)
    gate.open()
    client.get_job_execution_result().result(60)


@dataclass
class Trade:
    number: int


class Trades(KeyedProcessFunction):
    """Keeps each number as an object, beside the total."""

    keeps_trades = True

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.INT()))
        if self.keeps_trades:
            self.trades = runtime_context.get_list_state(ListStateDescriptor("trades"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.total.update((self.total.value() or 0) + value)
        if self.keeps_trades:
            self.trades.add(Trade(value))
        yield ctx.get_current_key(), self.total.value()


class NoTrades(Trades):
    keeps_trades = False


def trading(
    out: list[Any], function: Trades, gate: Gate | None = None, **settings: str
) -> StreamExecutionEnvironment:
    _gates[:] = [] if gate is None else [gate]
    per_batch = {"headrace.source.max-records-per-batch": "10"}
    settings = {"execution.target": "local", **per_batch, **settings}
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    numbers = env.from_sequence(0, RECORDS - 1).uid("numbers").map(through_the_gate, Types.INT())
    totals = numbers.key_by(lambda v: v % KEYS).process(function).uid("trades")
    totals.sink_to(FunctionSink(out.extend)).uid("out")
    return env


@pytest.fixture
def traded(tmp_path: Path) -> tuple[str, list[Any]]:
    """The savepoint of a job that keeps trades, and its results so far."""
    out: list[Any] = []
    gate = Gate(300)
    client = trading(out, Trades(), gate).execute_async("trades")
    assert gate.reached.wait(60)
    stopped = client.stop_with_savepoint(False, str(tmp_path / "saved"))
    gate.open()
    return stopped.result(60), out


@pytest.mark.parametrize("allowed", ["true", "false"])
def test_a_state_that_the_program_has_no_more_does_no_harm(
    traded: tuple[str, list[Any]], tmp_path: Path, allowed: str
) -> None:
    """It stays where it is: a program that has it again finds it."""
    saved, out = traded
    settings = {"execution.state-recovery.ignore-unclaimed-state": allowed, RESTORE: saved}
    gate = Gate(450)
    client = trading(out, NoTrades(), gate, **settings).execute_async("trades")
    assert gate.reached.wait(60)
    stopped = client.stop_with_savepoint(False, str(tmp_path / "saved"))
    gate.open()
    again = stopped.result(60)
    trading(out, NoTrades(), **{RESTORE: again}).execute("trades")
    totals = {key: [total for k, total in out if k == key] for key in range(KEYS)}
    assert totals == {k: [*accumulate(range(k, RECORDS, KEYS))] for k in range(KEYS)}
    states = [record for record in StoredSavepoint(again).read("states/trades/0")]
    kept = Counter(record.state for record in states)
    before = Counter(record.state for record in StoredSavepoint(saved).read("states/trades/0"))
    assert kept == before and kept["trades"] >= 300


@pytest.mark.parametrize("allowed", ["true", "false"])
def test_a_state_whose_class_is_gone_is_named(
    traded: tuple[str, list[Any]], tmp_path: Path, allowed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, out = traded
    monkeypatch.delattr(sys.modules[__name__], "Trade")
    pickles._data_class.cache_clear()
    settings = {"execution.state-recovery.ignore-unclaimed-state": allowed, RESTORE: saved}
    with pytest.raises(
        CheckpointError, match="the state 'trades' of operator 'trades' has objects"
    ) as no:
        trading(out, NoTrades(), **settings).execute("trades")
    assert "Trade" in str(no.value) and "SavepointWriter.remove_state" in (no.value.hint or "")


class Total:
    """An object of a class that may do anything when it is read."""

    def __init__(self, value: int) -> None:
        self.value = value


class Totals(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        before = self.total.value()
        self.total.update(Total((before.value if before else 0) + value))
        yield self.total.value().value


def test_objects_of_any_class_need_a_word(tmp_path: Path) -> None:
    def job(out: list[Any], **settings: str) -> StreamExecutionEnvironment:
        settings = {"execution.target": "local", **settings}
        env = StreamExecutionEnvironment(Configuration.from_dict(settings))
        numbers = env.from_sequence(1, 4).uid("numbers").map(through_the_gate, Types.INT())
        totals = numbers.key_by(lambda v: v % 2).process(Totals()).uid("totals")
        totals.sink_to(FunctionSink(out.extend)).uid("out")
        return env

    out: list[Any] = []
    gate = Gate(3)
    _gates[:] = [gate]
    each = {"headrace.source.max-records-per-batch": "1"}
    client = job(out, **each).execute_async("totals")
    assert gate.reached.wait(60)
    stopped = client.stop_with_savepoint(False, str(tmp_path))
    gate.open()
    saved = stopped.result()
    with pytest.raises(
        CheckpointError, match=r"test_local_savepoints\.Total is pickled"
    ) as refused:
        job([], **{RESTORE: saved}).execute("totals")
    assert "--allow-pickles" in (refused.value.hint or "")
    job(out, **{RESTORE: saved, "headrace.restore.allow-pickles": "true"}).execute("totals")
    assert sorted(out) == [1, 2, 1 + 3, 2 + 4]


def test_a_relative_folder_is_below_the_directory_of_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = new_savepoint_folder("saved", "totals")
    assert Path(target).parent == tmp_path / "saved"
