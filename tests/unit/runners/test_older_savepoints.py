"""Which periodic savepoints are removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.runners.savepoint_folders import older_savepoints
from headrace.runtime.savepoint.folder import MANIFEST, write_manifest
from headrace.runtime.savepoint.manifest import Manifest


def save(base: Path, name: str, scope: str, created_ms: int) -> str:
    folder = base / name
    folder.mkdir()
    manifest = Manifest("job", 128, 1, (), {}, {}, scope=scope, created_ms=created_ms)
    write_manifest(manifest, str(folder))
    return str(folder)


def test_the_older_ones_of_the_job_that_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, newer = (save(tmp_path, f"job-periodic-{n}", "mine", n) for n in (2, 3))
    newest = save(tmp_path, "job-periodic-1", "mine", 9)
    save(tmp_path, "job-periodic-0", "another's", 1)
    save(tmp_path, "job-0", "mine", 1)
    (tmp_path / "job-periodic-not-complete").mkdir()
    damaged = save(tmp_path, "job-periodic-9", "mine", 1)
    Path(damaged, MANIFEST).write_text("{")
    assert older_savepoints(str(tmp_path), "job-periodic", "mine", 1) == [old, newer]
    assert older_savepoints(str(tmp_path), "job-periodic", "mine", 3) == []
    assert "cannot be read" in capsys.readouterr().err and Path(newest).exists()
