"""Jobs whose input, results and checkpoint are on a real HDFS or S3; kills, damage, moves."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from headrace.common._storage.locations import file_system_of
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.retained import restore
from tests.faults import sums_job
from tests.faults.processes import log_of, start
from tests.storage.jobs import run_job
from tests.storage.servers import Storage, in_proof

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("storage")]

LINES, KEYS = 400, 7
INPUT = "".join(f"k{n % KEYS},{n}\n" for n in range(LINES))
SUMS = Counter(str((f"k{n % KEYS}", sum(range(n % KEYS, n + 1, KEYS)))) for n in range(LINES))


def lines_in(folder: str) -> Counter[str]:
    """The lines of the published files, as any reader finds them."""
    files = file_system_of(folder)
    texts = ((files.read(file.path) or b"").decode() for file in files.walk(folder))
    return Counter(line for text in texts for line in text.splitlines())


def run(storage: Storage, base: str, fails_at: int = LINES, **further: str) -> str | None:
    """Run ``lines_job``; return its error output if it failed."""
    settings = {key.replace("_", "."): value for key, value in further.items()}
    return run_job("tests.storage.lines_job", storage, [base, str(fails_at)], settings)


@pytest.fixture
def filled(storage: Storage, base: str) -> str:
    file_system_of(base).replace(f"{base}/in/lines.csv", INPUT.encode())
    return base


def test_the_local_runner_reads_and_writes(storage: Storage, filled: str) -> None:
    assert run(storage, filled, execution_target="local") is None
    assert lines_in(f"{filled}/out") == SUMS


@in_proof("hdfs", "s3")
def test_a_failed_job_goes_on_and_names_what_is_lost(storage: Storage, filled: str) -> None:
    assert "ValueError: not now" in str(run(storage, filled, fails_at=250))
    checkpoint = f"{filled}/checkpoint/sums+20of+20lines"
    files = file_system_of(checkpoint)
    splits = max(file.path for file in files.all_files(checkpoint) if "/splits/" in file.path)
    before = files.read(splits)
    assert before is not None
    files.remove(splits)
    assert splits in str(run(storage, filled))
    files.replace(splits, before[:-3])
    assert splits in str(run(storage, filled))
    files.replace(splits, before)
    assert run(storage, filled) is None
    assert lines_in(f"{filled}/out") == SUMS


def test_a_job_goes_on_from_a_savepoint(storage: Storage, filled: str) -> None:
    """With other key groups and partitions; the restore point of the first job is in order.

    The savepoint is one that was written from tables of the first one's state.
    """
    module = "tests.storage.savepoints_job"
    failed = run_job(module, storage, [filled])
    assert failed is None, failed
    (saved,) = file_system_of(filled).names(f"{filled}/saved")
    name = "sums with savepoints"
    restore(CheckpointFolder.of_job(f"{filled}/checkpoint", name), None)
    failed = run_job("tests.storage.states_job", storage, [filled, saved])
    assert failed is None, failed
    path = {"execution.state-recovery.path": f"{filled}/changed"}
    failed = run_job(module, storage, [filled], path)
    assert failed is None, failed
    assert lines_in(f"{filled}/out") == SUMS


@pytest.mark.fault
@pytest.mark.timeout(400)
@in_proof("s3", "hdfs")
@pytest.mark.parametrize(
    "moments", [("after",), pytest.param((*sums_job.MOMENTS,), marks=pytest.mark.proof)]
)
def test_killed_at_a_commit(
    moments: tuple[str, ...], storage: Storage, base: str, tmp_path: Path
) -> None:
    output = tmp_path / "sums"
    for moment in {*sums_job.MOMENTS} - {*moments}:
        Path(f"{output}-killed-{moment}").touch()
    settings = [f"{key}={value}" for key, value in storage.settings.items()]
    codes: list[int] = []
    while not codes or codes[-1]:
        assert len(codes) <= len(moments), log_of(output)
        job = start("tests.faults.sums_job", str(output), f"{base}/out", *settings)
        try:
            codes.append(job.wait(180))
        finally:
            job.kill()
            job.wait()
    assert len(codes) == len(moments) + 1, log_of(output)
    expected = Counter(
        str((n % sums_job.KEYS, sum(range(n % sums_job.KEYS, n + 1, sums_job.KEYS))))
        for n in range(sums_job.RECORDS)
    )
    assert lines_in(f"{base}/out") == expected
