"""Restore points on Spark: kept at an interval, and a job that goes back to one."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.common import Configuration, JobClient, JobStatus
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream._build.execution import _build_graph
from headrace.errors import CheckpointError
from headrace.runners import launch
from headrace.runners.observers import JobObserver, SaveFailed
from headrace.runners.retention import RemovesCheckpoint
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.retained import restore_points
from headrace.state import Savepoint
from tests.spark import test_savepoints as tallies
from tests.spark.test_state_of_checkpoints import check_is_of_one_moment

pytestmark = pytest.mark.spark


ENDLESS = 1_000 * tallies.RECORDS
"""So many records that the job has not ended, however slow the machine is, when it is cancelled."""


def environment(
    folder: Path, records: int = tallies.RECORDS, **settings: Any
) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "headrace.source.max-records-per-batch": "60",
                "execution.checkpointing.dir": str(folder / "checkpoints"),
                **settings,
            }
        )
    )
    tallies.build(env, folder, 0, records=records)
    return env


def wait_for(client: JobClient, found: Any) -> None:
    deadline = time.monotonic() + 90
    while not found():
        assert time.monotonic() < deadline and not client.get_job_execution_result().done()
        time.sleep(0.05)


@pytest.mark.timeout(240)
def test_a_job_goes_back_to_a_restore_point(tmp_path: Path) -> None:
    keeping = {
        "execution.checkpointing.interval": "300 ms",
        "execution.checkpointing.num-retained": "3",
    }
    folder = CheckpointFolder.of_job(str(tmp_path / "checkpoints"), "tallies")
    client = environment(tmp_path, **keeping).execute_async("tallies")
    wait_for(client, lambda: len(restore_points(folder)) == 2)
    oldest = restore_points(folder)[0].micro_batch
    wait_for(client, lambda: restore_points(folder)[0].micro_batch > oldest)  # some are removed
    client.cancel().result()
    points = restore_points(folder)
    assert [point.micro_batch for point in points] == sorted({p.micro_batch for p in points})
    commits = Path(folder.spark(0)) / "commits"
    newest = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    older = str(points[0].micro_batch)
    assert points[0].micro_batch < newest
    (commits / str(newest)).write_bytes(b"v1\n{damaged")
    with pytest.raises(CheckpointError):
        environment(tmp_path).execute("tallies")

    runner = CliRunner()
    listed = runner.invoke(
        app, ["checkpoints", "ls", "tallies", "--dir", str(tmp_path / "checkpoints"), "--json"]
    )
    assert listed.exit_code == 0 and f'"micro-batch": {points[0].micro_batch}' in listed.output
    restored = runner.invoke(
        app, ["checkpoints", "restore", "tallies", older, "--dir", str(tmp_path / "checkpoints")]
    )
    assert restored.exit_code == 0, restored.output
    assert f"after micro-batch {older}" in restored.output
    # The sink has later micro-batches than the restore point.
    with pytest.raises(CheckpointError, match="is older than the results in its sinks"):
        environment(tmp_path).execute("tallies")
    before = tallies.written(tmp_path / "out")
    again = {
        "headrace.restore.write-again": "true",
        "headrace.source.max-records-per-batch": str(tallies.RECORDS),
    }
    environment(tmp_path, **again).execute("tallies")
    after = tallies.written(tmp_path / "out")
    assert not tallies.expected() - after
    assert not (after - tallies.expected()) - before


class Failures(JobObserver):
    """Keeps the first restore point that fails."""

    def __init__(self) -> None:
        self.first: SaveFailed | None = None
        self.seen = threading.Event()

    def on_save_failed(self, failed: SaveFailed) -> None:
        self.first = self.first or failed
        self.seen.set()


@pytest.mark.timeout(240)
def test_a_restore_point_that_fails_is_reported_to_observers(tmp_path: Path) -> None:
    env = environment(
        tmp_path,
        **{
            "execution.checkpointing.interval": "100 ms",
            "execution.checkpointing.num-retained": "2",
            "execution.checkpointing.timeout": "1 ms",
        },
    )
    failures, configuration = Failures(), env._configuration
    graph = _build_graph(env._take_sinks(), configuration)
    job = launch.start(graph, configuration, "tallies", observers=[failures])
    assert failures.seen.wait(120)
    job.cancel()
    assert failures.first is not None and failures.first.folder is None
    assert "a restore point took" in f"{failures.first.error}"


@pytest.mark.timeout(240)
def test_savepoints_are_taken_while_restore_points_are_kept(tmp_path: Path) -> None:
    """One restore point after the other; each savepoint and each restore point is of one moment."""
    keeping = {
        "execution.checkpointing.interval": "1 ms",
        "execution.checkpointing.num-retained": "4",
        "headrace.source.max-records-per-batch": str(tallies.PER_BATCH),
    }
    folder = CheckpointFolder.of_job(str(tmp_path / "checkpoints"), "tallies")
    client = environment(tmp_path, ENDLESS, **keeping).execute_async("tallies")
    wait_for(client, lambda: len(restore_points(folder)) == 3)
    with ThreadPoolExecutor(3) as pool:
        asked = [
            pool.submit(client.trigger_savepoint(str(tmp_path / "saved")).result) for _ in range(3)
        ]
        taken = [each.result() for each in asked]
    client.cancel().result()
    assert len({*taken}) == 3 and not [*Path(folder.directory, "pins").iterdir()]
    points = restore_points(folder)
    assert len(points) == 3
    for place in (*taken, *(point.folder for point in points)):
        check_is_of_one_moment(Savepoint.load(place))


@pytest.mark.timeout(240)
def test_a_cancelled_job_removes_its_checkpoint_if_it_is_told_to(tmp_path: Path) -> None:
    retention = "execution.checkpointing.externalized-checkpoint-retention"
    folder = CheckpointFolder.of_job(str(tmp_path / "checkpoints"), "tallies")
    client = environment(tmp_path, **{retention: "DELETE_ON_CANCELLATION"}).execute_async("tallies")
    tallies.wait_for_batches(client, 1)
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert folder.store.get("job") is None and not Path(folder.spark(0)).exists()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("fails", [False, True], ids=["ends", "fails"])
@pytest.mark.parametrize("retention", [each.value for each in RemovesCheckpoint])
def test_a_job_that_was_not_cancelled_keeps_its_checkpoint(
    retention: str, fails: bool, tmp_path: Path
) -> None:
    """Only one without externalized checkpoints removes it, at the end of its input."""
    settings = {
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "execution.checkpointing.externalized-checkpoint-retention": retention,
        "headrace.source.max-records-per-batch": "2",
    }
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    numbers = env.from_sequence(0, 5).uid("numbers")
    numbers.map(lambda number: 1 // (4 - number) if fails else number).print().uid("printed")
    if fails:
        with pytest.raises(ZeroDivisionError):
            env.execute("short")
    else:
        env.execute("short")
    folder = CheckpointFolder.of_job(str(tmp_path / "checkpoints"), "short")
    is_removed = retention == "NO_EXTERNALIZED_CHECKPOINTS" and not fails
    assert Path(folder.spark(0)).exists() is not is_removed
    assert (folder.store.get("job") is None) is is_removed


@pytest.mark.timeout(240)
def test_failed_restore_points_fail_the_job_only_if_none_are_tolerated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {
        "execution.checkpointing.interval": "200 ms",
        "execution.checkpointing.num-retained": "2",
        "execution.checkpointing.timeout": "1 ms",  # no restore point is made so fast
        "restart-strategy.type": "none",
    }
    client = environment(tmp_path, **settings).execute_async("tallies")
    seen = threading.Event()
    wait_for(client, lambda: "(2 in a row)" in capsys.readouterr().err or seen.is_set())
    client.cancel().result()
    settings["execution.checkpointing.tolerable-failed-checkpoints"] = "1"
    with pytest.raises(CheckpointError, match="a restore point took"):
        environment(tmp_path, **settings).execute("tallies")
    assert Counter(tallies.written(tmp_path / "out")) <= tallies.expected()
    rest = {"headrace.source.max-records-per-batch": str(tallies.RECORDS)}
    environment(tmp_path, **rest).execute("tallies")
    assert tallies.written(tmp_path / "out") == tallies.expected()
