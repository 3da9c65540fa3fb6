"""An archive of a program and its packages."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from headrace.cli import package
from headrace.errors import ConfigurationError
from headrace.runners.dependencies import environment
from headrace.runners.dependencies.environment import (
    find_distributions,
    find_modules,
    make_environment,
)
from headrace.runners.dependencies.folder import extract

PROGRAM = """
import json, os.path
from beside import VALUE
from package.inner import thing
from . import not_followed
def later():
    import headrace.datastream
    import typer
print(VALUE)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "jobs"
    (folder / "package" / "__pycache__").mkdir(parents=True)
    (folder / "package" / "__init__.py").touch()
    (folder / "package" / "__pycache__" / "old.pyc").touch()
    (folder / "package" / "inner.py").write_text("import deep\nthing = 1")
    (folder / "beside.py").write_text("import yaml_or_so\nVALUE = 7")
    (folder / "deep.py").write_text("import beside")
    (folder / "not_used.py").touch()
    (folder / "job.py").write_text(PROGRAM)
    return folder / "job.py"


def test_modules_beside_the_program_are_found_by_their_imports(program: Path) -> None:
    modules, others = find_modules(program)
    names = {path.name for path in modules}
    assert names == {"job.py", "beside.py", "deep.py", "package"}
    assert others == {"json", "os", "headrace", "typer", "yaml_or_so"}


def test_a_package_comes_with_what_it_requires() -> None:
    found = find_distributions(["pandas"], ["pytz"])
    assert {"pandas", "numpy", "python-dateutil"} <= found.keys()
    assert "pytz" not in found
    with pytest.raises(ConfigurationError, match="needs the package 'not-there-at-all'"):
        find_distributions(["not-there-at-all"], [])


@pytest.fixture
def archive(program: Path, tmp_path: Path) -> Path:
    """Without the largest packages."""
    target = tmp_path / "job.tar.gz"
    content = make_environment(
        program, target, ["pytest"], ["pandas", "pyarrow", "confluent-kafka"]
    )
    assert {"headrace", "cloudpickle", "typer", "pytest", "pluggy"} <= content.packages.keys()
    assert not {"pyspark", "py4j", "pandas", "mypy"} & content.packages.keys()
    return target


@pytest.mark.slow
def test_the_archive_works_wherever_it_is(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "some where"
    with tarfile.open(archive) as tar:
        names = tar.getnames()
    extract(archive, folder)
    assert "program/package/inner.py" in names and "program/not_used.py" not in names
    assert not [name for name in names if "old.pyc" in name or "direct_url.json" in name]
    script = (
        "import headrace.datastream, pytest, package; print(headrace.__file__, pytest.__file__)"
    )
    done = subprocess.run(
        [str(folder / "bin" / "python"), "-c", script],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HEADRACE_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.count(f"{folder}/site-packages") == 2, done.stderr


@pytest.mark.slow
def test_a_machine_without_the_right_python_says_so(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python").write_text(environment._launcher().replace("python3 ", "none "))
    (tmp_path / "python").chmod(0o755)
    for name in ("sh", "dirname", "uname"):
        (tmp_path / "tools").mkdir(exist_ok=True)
        (tmp_path / "tools" / name).symlink_to(f"/bin/{name}")
    done = subprocess.run(
        [str(tmp_path / "python")],
        env={"PATH": str(tmp_path / "tools")},
        capture_output=True,
        text=True,
        check=False,
    )
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert done.returncode == 127
    assert done.stderr.startswith(f"headrace: Python {version} is not on the path of ")


def test_no_program(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no program"):
        make_environment(tmp_path / "none.py", tmp_path / "job.tar.gz")
    (tmp_path / "broken.py").write_text("def (:")
    with pytest.raises(ConfigurationError, match="cannot be parsed"):
        make_environment(tmp_path / "broken.py", tmp_path / "job.tar.gz")
    assert not [*tmp_path.glob("job*")]


def test_the_command_says_how_to_run_it(
    program: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = tmp_path / "job.tar.gz"

    def made(*arguments: object) -> environment.Content:
        target.write_bytes(b"x")
        return environment.Content({"headrace": "1"}, [program])

    monkeypatch.setattr(environment, "make_environment", made)
    package.package(program, target)
    text = capsys.readouterr().out
    assert f"--archives {target}#environment" in text
    assert "spark.pyspark.python=./environment/bin/python" in text
    assert text.rstrip().endswith("environment/program/job.py")
