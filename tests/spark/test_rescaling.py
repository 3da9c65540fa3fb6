"""A job gets another parallelism: while it runs, and when it is started again."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.errors import JobError
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.metadata import CheckpointMetadata
from tests.goldens.job import written

from .test_savepoints import TO_THE_END, expected, start, wait_for_batches

pytestmark = pytest.mark.spark


def partitions(folder: Path) -> int:
    store = CheckpointFolder.of_job(str(folder / "checkpoints 0"), "tallies").store
    metadata = CheckpointMetadata.read(store)
    assert metadata is not None
    return metadata.partitions


def rescale(folder: Path, parallelism: int) -> None:
    base = ["tallies", "--dir", str(folder / "checkpoints 0")]
    done = CliRunner().invoke(app, ["rescale", *base, "-p", str(parallelism)])
    if done.exception is not None:
        raise done.exception


@pytest.mark.timeout(240)
def test_a_running_job_gets_another_parallelism_and_back(tmp_path: Path) -> None:
    """With list state and pending timers; it keeps it when it is started again."""
    client = start(tmp_path, 0)
    wait_for_batches(client, 2)
    rescale(tmp_path, 3)
    assert partitions(tmp_path) == 3
    rescale(tmp_path, 3)  # nothing to do
    wait_for_batches(client, 2)
    savepoint = client.trigger_savepoint(str(tmp_path / "saved")).result()
    assert Path(savepoint, "_savepoint").exists()
    rescale(tmp_path, 2)
    wait_for_batches(client, 1)
    client.cancel().result()
    assert partitions(tmp_path) == 2
    client = start(tmp_path, 0)  # its settings have the parallelism 1, as before
    wait_for_batches(client, 1)
    client.cancel().result()
    assert partitions(tmp_path) == 2
    settings = {"parallelism.default": "4", **TO_THE_END}
    start(tmp_path, 0, **settings).get_job_execution_result().result()
    assert partitions(tmp_path) == 4
    assert written(tmp_path / "out") == expected()


@pytest.mark.timeout(240)
def test_a_job_that_has_ended_is_not_rescaled(tmp_path: Path) -> None:
    start(tmp_path, 0, **TO_THE_END).get_job_execution_result().result()
    with pytest.raises(JobError, match="the job is not running"):
        rescale(tmp_path, 3)
    assert written(tmp_path / "out") == expected()
