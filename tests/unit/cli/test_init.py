"""``headrace init`` makes projects that run and whose tests pass."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.cli.init import Template, _find_folders, project, remove_repository_imports
from headrace.errors import ConfigurationError

ROOT = Path(__file__).parents[3]


def made(folder: Path, *arguments: str) -> str:
    result = CliRunner().invoke(app, ["init", str(folder), *arguments])
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.mark.spark  # no Spark, but two more interpreters: the second part has room for them
def test_a_new_project_runs_and_passes(tmp_path: Path) -> None:
    folder = tmp_path / "at" / "lifts"
    assert made(folder).splitlines() == [
        f"made {folder}: job.py, test_job.py, charts.py, README.md, pyproject.toml",
        f"  cd {folder}",
        "  headrace run job.py",
        "  pytest",
    ]
    commands = [
        ["-c", "from headrace.cli import main; main()", "run", "job.py", "--local"],
        ["-m", "pytest", "-q", "-p", "no:cacheprovider"],
    ]
    processes = [
        subprocess.Popen(
            [sys.executable, *command],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for command in commands
    ]
    ran, tested = (process.communicate()[0] for process in processes)
    assert "drawn: ski_lifts.svg" in ran and (folder / "ski_lifts.svg").exists(), ran
    assert "passed" in tested and [process.returncode for process in processes] == [0, 0], tested


@pytest.mark.parametrize("template", Template)
def test_every_template_stands_alone(
    template: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "made"
    made(folder, "--from", template.value)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path[1:]])
    monkeypatch.setattr(sys, "path", [each for each in sys.path if Path(each) != ROOT / "examples"])
    for name in ("charts", "job", "test_job"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.invalidate_caches()
    test = importlib.import_module("test_job")
    job = sys.modules["job"]
    assert Path(str(test.__file__)).parent == Path(str(job.__file__)).parent == folder
    for name in ("charts", "job", "test_job"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    readme = (folder / "README.md").read_text()
    assert readme.startswith("# made\n") and f"--from {template.value}" in readme
    texts = [path.read_text() for path in folder.glob("*.py")]
    assert not any("examples/" in text or "tests." in text for text in texts)


@pytest.mark.parametrize("name", ["top-sellers", "top_sellers"])
def test_a_template_has_the_name_of_its_program_too(name: str, tmp_path: Path) -> None:
    made(tmp_path / "mine", "--from", name)
    assert "--from top-sellers" in (tmp_path / "mine" / "README.md").read_text()


def test_a_template_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["init", str(tmp_path / "mine"), "--from", "top sellers"])
    words = " ".join(result.output.split())
    assert result.exit_code == 2 and "'top sellers' is not one of" in words
    assert "top-sellers" in words and not (tmp_path / "mine").exists()


TEST = """\
import pytest
from tests.examples.printed import run_locally, shown

import job


@pytest.fixture
def output(tmp_path):
    return run_locally("job", tmp_path)


def test_job():
    assert job.run() == 1


@pytest.mark.parametrize("mode", ["a", "b"])
def test_page(output):
    assert output == "shown"


def test_again():
    assert job.run() == 1
"""


def test_a_test_comes_without_what_needs_the_repository() -> None:
    assert remove_repository_imports(TEST) == (
        "import pytest\n\nimport job\n\n\n"
        "def test_job():\n    assert job.run() == 1\n\n\n"
        "def test_again():\n    assert job.run() == 1\n"
    )
    assert remove_repository_imports("import job\n") == "import job\n"


@pytest.mark.parametrize("occupied", ["folder", "file"])
def test_what_is_there_is_left_alone(occupied: str, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    if occupied == "folder":
        folder.mkdir()
        (folder / "thesis.txt").write_text("years of work")
    else:
        folder.write_text("years of work")
    with pytest.raises(ConfigurationError, match="not empty" if folder.is_dir() else "is a file"):
        made(folder)
    assert [path.name for path in tmp_path.rglob("*.*")] == ["thesis.txt"] * folder.is_dir()


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    made(tmp_path)
    assert (tmp_path / "job.py").exists()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be written: "):
        made(tmp_path / "file" / "project")


def test_the_templates_are_in_the_wheel() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    included = settings["targets"]["wheel"]["force-include"]
    assert [ROOT / folder for folder in included] == list(_find_folders())
    assert list(included.values()) == ["headrace/cli/templates", "headrace/cli/templates/tests"]
    assert {f"/{folder}" for folder in included} <= set(settings["targets"]["sdist"]["include"])
    for template in Template:
        assert {"job.py", "test_job.py", "README.md"} <= set(project(template, "x"))
