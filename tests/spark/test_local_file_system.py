"""The local file system of a session of ours."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError

from headrace.runners.spark.startup import session
from headrace.runners.spark.startup.local_file_system import CLASS_FOLDER, PACKAGE, SOURCE
from headrace.runners.spark.startup.session import get_session
from scripts.java_classes import compiled

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def jvm() -> Any:
    return get_session({}, None)._jvm


def file_system(jvm: Any) -> Any:
    configuration = get_session({}, None)._jsparkSession.sessionState().newHadoopConf()
    return jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI("file:///"), configuration)


def test_the_classes_are_those_of_the_source(jvm: Any) -> None:
    classes = compiled(jvm)
    assert classes == {name: (CLASS_FOLDER / f"{name}.class").read_bytes() for name in classes}
    assert sorted(classes) == [SOURCE, f"{SOURCE}$Raw"]


def test_permissions_are_set_without_a_process(
    jvm: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = file_system(jvm)
    assert system.getClass().getName() == f"{PACKAGE}.{SOURCE}"
    path = jvm.org.apache.hadoop.fs.Path(str(tmp_path / "file"))
    system.create(path).close()
    for mode in (0o640, 0o755, 0o400, 0o000):
        system.setPermission(path, jvm.org.apache.hadoop.fs.permission.FsPermission(mode))
        assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode
    folder = jvm.org.apache.hadoop.fs.Path(str(tmp_path / "folder"))
    system.mkdirs(folder)
    sticky = jvm.org.apache.hadoop.fs.permission.FsPermission("1777")
    system.setPermission(folder, sticky)
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o1777


def test_a_missing_file_is_the_error_of_hadoop(jvm: Any, tmp_path: Path) -> None:
    path = jvm.org.apache.hadoop.fs.Path(str(tmp_path / "none"))
    mode = jvm.org.apache.hadoop.fs.permission.FsPermission(0o600)
    with pytest.raises(Py4JError, match="NoSuchFile"):
        file_system(jvm).setPermission(path, mode)
    assert not os.path.exists(tmp_path / "none")


def test_the_users_file_system_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.threading.Thread, "start", lambda thread: None)
    key = "spark.hadoop.fs.file.impl"
    assert session._Launch({}, 1).own_file_system
    assert not session._Launch({key: f"{PACKAGE}.LocalFileSystem"}, 1).own_file_system
