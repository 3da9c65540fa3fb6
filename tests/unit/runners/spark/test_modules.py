"""Which of a user's modules travel inside the program."""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import cloudpickle
import pyspark.sql.dataframe
import pytest

import headrace.runtime.block
from headrace.runners.spark.modules import _modules_outside, dumps, user_paths

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


def test_an_alias_of_an_installed_module_does_not_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the engine nor a library is sent for being known by a second name."""
    monkeypatch.setitem(sys.modules, "hr", headrace.runtime.block)
    monkeypatch.setitem(sys.modules, "frames", pyspark.sql.dataframe)
    sent = {found.__name__.partition(".")[0] for found in _modules_outside([])}
    assert not sent & {"headrace", "pyspark"}
    envelope = headrace.runtime.block.Envelope
    assert pickle.loads(dumps(envelope, []))[0] is envelope


def test_a_module_with_an_alias_travels_once(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "another_name", module)
    assert elsewhere(dumps(module.up, [])).stdout == b"23\n"
    assert not cloudpickle.list_registry_pickle_by_value()


def test_a_module_known_by_an_alias_only_travels(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "theirs_only")
    monkeypatch.setitem(sys.modules, "another_name", module)
    assert elsewhere(dumps(module.up, [])).stdout == b"23\n"


def test_a_module_of_that_name_with_another_file_is_not_the_workers(
    module: ModuleType, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "theirs_only.py").write_text("def up(value):\n    return 0\n")
    assert elsewhere(dumps(module.up, [str(other)]), str(other)).stdout == b"23\n"
