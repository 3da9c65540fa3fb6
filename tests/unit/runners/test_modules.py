"""Which of a user's modules travel inside the program."""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from headrace.runners.spark.shipping.modules import dumps, user_paths

LOAD = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read())[0](20))"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the user's, imported from a folder."""
    path = tmp_path / "theirs_only.py"
    path.write_text("STEP = 3\n\n\ndef up(value):\n    return value + STEP\n")
    spec = importlib.util.spec_from_file_location("theirs_only", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "theirs_only", module)
    spec.loader.exec_module(module)
    return module


def elsewhere(data: bytes, *folders: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", LOAD],
        input=data,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        check=False,
    )


def test_a_module_outside_the_workers_folders_travels(module: ModuleType) -> None:
    assert elsewhere(dumps(module.up, [])).stdout == b"23\n"


def test_a_module_in_the_workers_folders_is_named(module: ModuleType, tmp_path: Path) -> None:
    data = dumps(module.up, [str(tmp_path)])
    assert pickle.loads(data)[0] is module.up
    assert elsewhere(data, str(tmp_path)).stdout == b"23\n"
    assert b"No module named 'theirs_only'" in elsewhere(data).stderr


def test_user_paths_are_absolute_and_not_the_interpreters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        sys, "path", ["", str(tmp_path), os.__file__, str(Path(os.__file__).parent)]
    )
    assert user_paths() == [os.getcwd(), str(tmp_path)]
