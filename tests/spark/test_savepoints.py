"""Savepoints on Spark: taken while a job runs, and the beginning of other jobs."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.common import Configuration, Encoder, JobClient, JobStatus, Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from headrace.errors import CheckpointError
from headrace.runners.savepoint_folders import is_savepoint
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.metadata import CheckpointMetadata
from headrace.runtime.savepoint.folder import StoredSavepoint, read_manifest, write_manifest
from headrace.runtime.savepoint.records import decode
from tests.goldens.job import written

pytestmark = pytest.mark.spark

RECORDS, KEYS = 6_000, 40
PER_BATCH = 100
"""Of a job that is stopped: so few that it has not ended when the stop reaches it."""
RESTORE = "execution.state-recovery.path"
TO_THE_END = {"headrace.source.max-records-per-batch": str(RECORDS)}
"""Settings of a job that is not stopped."""


class Tally(KeyedProcessFunction):
    """What came so far; at the end of each hundred a timer says how many there were."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.INT()))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[str]:
        self.total.update((self.total.value() or 0) + value)
        self.seen.add(value)
        ctx.timer_service().register_event_time_timer((value // 1_000 + 1) * 1_000)
        yield f"{ctx.get_current_key()} {self.total.value()} {len([*self.seen.get()])}"

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        before = [value for value in self.seen.get() if value < timestamp]
        yield f"{ctx.get_current_key()} before {timestamp}: {len(before)}"


def expected() -> Counter[str]:
    lines: Counter[str] = Counter()
    for key in range(KEYS):
        numbers = range(key, RECORDS, KEYS)
        total = 0
        for count, number in enumerate(numbers, 1):
            total += number
            lines[f"{key} {total} {count}"] += 1
        for end in range(1_000, RECORDS + 1_000, 1_000):
            lines[f"{key} before {end}: {len([n for n in numbers if n < end])}"] += 1
    return lines


def assert_all_after_a_moment(lines: Counter[str]) -> None:
    """Each key has its last lines, in both kinds, and all between; others are before the moment."""
    due = expected()
    assert not lines - due
    for key, timed in product(range(KEYS), (False, True)):
        own = [each for each in due if each.startswith(f"{key} ") and (" before " in each) is timed]
        found = [each for each in own if each in lines]
        assert found and found == own[-len(found) :], key


def environment(folder: Path, number: int, **settings: str) -> StreamExecutionEnvironment:
    """The n-th run's: another parallelism, another number of key groups, another checkpoint."""
    per_batch = PER_BATCH if number < 2 else RECORDS
    return StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "parallelism.default": str(number + 1),
                "pipeline.max-parallelism": str((128, 5, 16)[number]),
                "headrace.source.max-records-per-batch": str(per_batch),
                "headrace.source.min-records-per-batch": "1",
                "execution.checkpointing.dir": str(folder / f"checkpoints {number}"),
                **settings,
            }
        )
    )


def build(
    env: StreamExecutionEnvironment,
    folder: Path,
    number: int,
    function: KeyedProcessFunction | None = None,
    records: int = RECORDS,
) -> None:
    """The program; its second version has the operator in another stage."""
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v)
    numbers = env.from_sequence(0, records - 1).uid("numbers")
    timed = numbers.assign_timestamps_and_watermarks(times)
    if number == 1:
        timed = timed.rebalance().map(lambda v: v)
    tallies = timed.key_by(lambda v: v % KEYS).process(function or Tally(), Types.STRING())
    sink = FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder()).build()
    tallies.uid("tally").sink_to(sink).uid("files")


def start(
    folder: Path, number: int, function: KeyedProcessFunction | None = None, **settings: str
) -> JobClient:
    env = environment(folder, number, **settings)
    build(env, folder, number, function)
    return env.execute_async("tallies")


def wait_for_batches(client: JobClient, number: int) -> None:
    """Wait until the job has completed so many micro-batches more."""
    at_first = None
    deadline = time.monotonic() + 60
    while True:
        assert time.monotonic() < deadline and not client.get_job_execution_result().done()
        found = client.get_accumulators().result().get("microBatches")
        at_first = found if at_first is None else at_first
        if at_first is not None and found >= at_first + number:
            return
        time.sleep(0.05)


def scope_of(folder: Path, number: int) -> str:
    metadata = CheckpointMetadata.read(
        CheckpointFolder.of_job(str(folder / f"checkpoints {number}"), "tallies").store
    )
    assert metadata is not None
    return metadata.scope


@pytest.mark.timeout(240)
def test_a_job_goes_on_elsewhere_from_its_savepoint(tmp_path: Path) -> None:
    """Twice: with other key groups, partitions and stages, each record once in one sink."""
    saved = str(tmp_path / "saved")
    first = start(tmp_path, 0)
    wait_for_batches(first, 2)
    first_savepoint = savepoint = first.stop_with_savepoint(False, saved).result()
    assert first.get_job_status().result() is JobStatus.FINISHED
    assert not [*(tmp_path / "checkpoints 0" / "tallies" / "pins").iterdir()]
    second = start(tmp_path, 1, **{RESTORE: savepoint})
    wait_for_batches(second, 3)
    savepoint = second.stop_with_savepoint(False, saved).result()
    assert scope_of(tmp_path, 0) != scope_of(tmp_path, 1)
    start(tmp_path, 2, **{RESTORE: savepoint}).get_job_execution_result().result()
    assert written(tmp_path / "out") == expected()
    assert not (tmp_path / "checkpoints 2" / "tallies" / "restored").exists()
    # It has begun from the savepoint, so it continues from its checkpoint: nothing is left to do.
    start(tmp_path, 2, **{RESTORE: savepoint}).get_job_execution_result().result()
    assert written(tmp_path / "out") == expected()
    with pytest.raises(CheckpointError, match="has a checkpoint already"):
        start(tmp_path, 2, **{RESTORE: first_savepoint})


@pytest.mark.timeout(240)
def test_a_savepoint_of_a_running_job_is_of_one_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job goes on; from the savepoint another one ends with the same results."""
    settings = {
        "execution.checkpointing.savepoint-dir": str(tmp_path / "saved"),
        "headrace.source.max-records-per-batch": "400",
    }
    client = start(tmp_path, 0, **settings)
    wait_for_batches(client, 1)
    savepoint = client.trigger_savepoint().result()
    client.get_job_execution_result().result()
    assert written(tmp_path / "out") == expected()
    manifest = read_manifest(savepoint)
    assert 0 < manifest.batch_id < RECORDS / 400
    local = StoredSavepoint(savepoint)
    totals = [state for group in range(128) for state in local.read(f"states/tally/{group}")]
    assert {decode(state.key) for state in totals} <= {*range(KEYS)}
    with pytest.raises(CheckpointError, match=r"uid=files\) has micro-batch \d+: results"):
        start(tmp_path, 1, **{RESTORE: savepoint})
    # A refusal removes nothing, not even with --fresh.
    monkeypatch.setenv("HEADRACE_FRESH", "1")
    job = tmp_path / "checkpoints 0" / "tallies" / "job"
    with pytest.raises(CheckpointError, match=r"uid=files\) has micro-batch \d+: results"):
        start(tmp_path, 0, **{RESTORE: savepoint})
    monkeypatch.delenv("HEADRACE_FRESH")
    assert job.exists()
    (tmp_path / "out").rename(tmp_path / "out of the first")
    start(tmp_path, 1, **TO_THE_END, **{RESTORE: savepoint}).get_job_execution_result().result()
    assert_all_after_a_moment(written(tmp_path / "out"))


@pytest.mark.timeout(240)
def test_commands_reach_the_driver_beside_its_checkpoint(tmp_path: Path) -> None:
    """And a claimed savepoint is removed once the next job has taken its state over."""
    base = ["tallies", "--dir", str(tmp_path / "checkpoints 0"), "--to", str(tmp_path / "saved")]
    client = start(tmp_path, 0)
    wait_for_batches(client, 1)
    taken = CliRunner().invoke(app, ["savepoint", *base], catch_exceptions=False)
    stopped = CliRunner().invoke(app, ["stop", *base, "--savepoint"], catch_exceptions=False)
    client.get_job_execution_result().result()
    first, second = (read_manifest(done.stdout.strip()) for done in (taken, stopped))
    assert 0 < first.batch_id < second.batch_id <= RECORDS / PER_BATCH
    assert client.get_job_status().result() is JobStatus.FINISHED
    claim = {
        **TO_THE_END,
        RESTORE: stopped.stdout.strip(),
        "execution.state-recovery.claim-mode": "CLAIM",
    }
    start(tmp_path, 1, **claim).get_job_execution_result().result()
    assert written(tmp_path / "out") == expected()
    assert not Path(stopped.stdout.strip()).exists() and Path(taken.stdout.strip()).exists()
    # It has begun from the savepoint, which is gone: it continues from its checkpoint.
    start(tmp_path, 1, **claim).get_job_execution_result().result()


@pytest.mark.timeout(240)
def test_a_drained_job_fires_everything_and_has_ended(tmp_path: Path) -> None:
    client = start(tmp_path, 0)
    wait_for_batches(client, 2)
    savepoint = client.stop_with_savepoint(True, str(tmp_path / "saved")).result()
    found = written(tmp_path / "out")
    read = max(int(line.split()[1]) for line in found if "before" not in line)
    assert read and any("before" in line for line in found)
    assert all(source["ended"] for source in read_manifest(savepoint).offset["sources"].values())
    fired = {line.split()[0] for line in found if "before" in line}
    assert fired == {line.split()[0] for line in found if "before" not in line}


@pytest.mark.timeout(240)
def test_state_goes_to_the_local_runner_and_back(tmp_path: Path) -> None:
    """From Spark's pages to the heap, and to pages again; each record once."""
    saved = str(tmp_path / "saved")
    local = {"execution.target": "local", "headrace.source.max-records-per-batch": "1"}
    client = start(tmp_path, 0)
    wait_for_batches(client, 2)
    savepoint = client.stop_with_savepoint(False, saved).result()
    client = start(tmp_path, 0, **local, **{RESTORE: savepoint})
    savepoint = client.stop_with_savepoint(False, saved).result()
    start(tmp_path, 2, **{RESTORE: savepoint}).get_job_execution_result().result()
    assert written(tmp_path / "out") == expected()


def test_what_the_program_does_not_claim_is_refused(tmp_path: Path) -> None:
    client = start(tmp_path, 0)
    wait_for_batches(client, 1)
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "saved")).result()
    env = environment(tmp_path, 1, **{RESTORE: savepoint})
    env.from_sequence(0, RECORDS - 1).uid("numbers").map(str).print()
    with pytest.raises(CheckpointError, match=r"uid=tally.*its states: seen, total"):
        env.execute("tallies")
    assert not (tmp_path / "checkpoints 1" / "tallies" / "job").exists()


@pytest.mark.timeout(240)
def test_periodic_savepoints_are_taken_and_removed(tmp_path: Path) -> None:
    """Only those of this job: another one, and one that was asked for, stay."""
    saved = tmp_path / "saved"
    settings = {
        "execution.checkpointing.savepoint-dir": str(saved),
        "headrace.savepoint.interval": "200 ms",
        "headrace.savepoint.num-retained": "2",
        # So few that the job has not ended before its fifth savepoint.
        "headrace.source.max-records-per-batch": "10",
    }
    other = saved / "tallies-periodic-of-another"
    client = start(tmp_path, 0, **settings)
    wait_for_batches(client, 1)
    asked = client.trigger_savepoint().result()
    shutil.copytree(asked, other)
    manifest = read_manifest(str(other))
    write_manifest(replace(manifest, scope="another"), str(other))
    seen: set[str] = set()
    deadline = time.monotonic() + 90
    while len(seen) < 4:
        assert time.monotonic() < deadline and not client.get_job_execution_result().done()
        seen |= {*periodic(saved)} - {other.name}
        time.sleep(0.05)
    client.cancel().result()
    left = [name for name in periodic(saved) if is_savepoint(str(saved / name))]
    assert other.name in left and is_savepoint(asked)
    assert 3 <= len(left) <= 4  # the job may have been cancelled before it removed one
    left.remove(other.name)
    newest = max(left, key=lambda name: read_manifest(str(saved / name)).created_ms)
    (tmp_path / "out").rename(tmp_path / "out of the first")
    restored = {**TO_THE_END, RESTORE: str(saved / newest)}
    start(tmp_path, 1, **restored).get_job_execution_result().result()
    assert_all_after_a_moment(written(tmp_path / "out"))


def periodic(saved: Path) -> list[str]:
    return [found.name for found in saved.glob("tallies-periodic-*")]


def test_a_batch_begins_from_a_savepoint(tmp_path: Path) -> None:
    """On a developer's machine: without a checkpoint to keep, up to the end of the input."""
    client = start(tmp_path, 0)
    wait_for_batches(client, 2)
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "saved")).result()
    env = environment(tmp_path, 1, **{RESTORE: savepoint, "execution.runtime-mode": "BATCH"})
    env._configuration.remove_config("execution.checkpointing.dir")
    build(env, tmp_path, 1)
    env.execute("tallies")
    assert written(tmp_path / "out") == expected()
    assert not (tmp_path / "checkpoints 1").exists()


class OnlyTotals(KeyedProcessFunction):
    """A later version of the operator, without the list."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[str]:
        self.total.update((self.total.value() or 0) + value)
        yield f"{ctx.get_current_key()} {self.total.value()} {value // KEYS + 1}"

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        yield f"{ctx.get_current_key()} before {timestamp}: fired"


@pytest.mark.timeout(240)
def test_a_state_that_the_program_has_no_more_stays_in_its_savepoints(tmp_path: Path) -> None:
    """Also where unclaimed state is dropped: its operator is there."""
    saved = str(tmp_path / "saved")
    client = start(tmp_path, 0)
    wait_for_batches(client, 2)
    savepoint = client.stop_with_savepoint(False, saved).result()
    kept = seen_in(savepoint)
    drops = {"execution.state-recovery.ignore-unclaimed-state": "true"}
    client = start(tmp_path, 1, OnlyTotals(), **{RESTORE: savepoint}, **drops)
    wait_for_batches(client, 1)
    savepoint = client.stop_with_savepoint(False, saved).result()
    assert seen_in(savepoint) == kept > 0
    client = start(tmp_path, 2, OnlyTotals(), **{RESTORE: savepoint})
    client.get_job_execution_result().result()
    found = written(tmp_path / "out")
    totals = {line: count for line, count in found.items() if "before" not in line}
    assert totals == {line: n for line, n in expected().items() if "before" not in line}


def seen_in(savepoint: str) -> int:
    """The number of elements of the list in a savepoint."""
    stored = StoredSavepoint(savepoint)
    groups = range(stored.manifest.max_parallelism)
    records = (record for group in groups for record in stored.read(f"states/tally/{group}"))
    return sum(record.state == "seen" for record in records)
