"""``headrace replay`` makes a failed call again, with the modules as they are now."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from headrace.cli import app
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.runtime.tasks import capture

MODULE = """
import json

from headrace.datastream import KeyedProcessFunction
from headrace.datastream.state import ValueStateDescriptor


class Totals(KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(self, value, ctx):
        total = (self.total.value() or 0) + value[1]
        if total > 3:
            json.loads("no number")
        self.total.update(total)
        yield total
"""
MENDED = MODULE.replace("total > 3", "total > 1000")
ELSEWHERE = MODULE.replace('json.loads("no number")', 'raise KeyError("another")')


def has(module: str) -> None:
    """The module's file is as given, and it was not imported yet."""
    path = Path("totals_of_a_test.py")
    path.write_text(module)
    sys.modules.pop("totals_of_a_test", None)
    importlib.invalidate_caches()
    for cached in Path().glob("__pycache__/totals_of_a_test.*"):
        cached.unlink()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a job leaves that fails in its third micro-batch; its module is in this folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setenv("HEADRACE_FULL_TRACEBACK", "")
    has(MODULE)
    settings = {
        "execution.target": "local",
        "headrace.source.max-records-per-batch": "2",
        "headrace.failure.capture-dir": "failed",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    totals = importlib.import_module("totals_of_a_test").Totals()
    records = [(key, amount) for amount in (1, 2, 3) for key in "ab"]
    env.from_collection(records).key_by(lambda record: record[0]).process(totals).name("t").print()
    with pytest.raises(ValueError, match="Expecting value"):
        env.execute("totals")
    sys.modules.pop("totals_of_a_test")
    (path,) = (tmp_path / "failed").glob("*.headrace-call")
    return path


def replay(file: Path, *options: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, ["replay", str(file), *options], input=typed)


def test_it_fails_again(file: Path) -> None:
    done = replay(file)
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("job:      totals, at 20")
    assert lines[1:5] == [
        "operator: t",
        "group:    0 of 1",
        "failed:   JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        "records:  2",
    ]
    assert "totals_of_a_test.py" in done.stderr
    assert "JSONDecodeError: Expecting value: line 1 column 1 (char 0)" in done.stderr
    assert "key:      'a'\nrecord:   ('a', 3)" in done.stderr
    assert "runtime" not in done.stderr, "frames of Headrace are left out"


def test_a_mended_module_is_run_as_it_is_now(file: Path) -> None:
    has(MENDED)
    done = replay(file)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "It no longer fails." in done.stdout


def test_it_may_fail_in_another_way(file: Path) -> None:
    has(ELSEWHERE)
    done = replay(file)
    assert done.exit_code == 1
    assert "KeyError: 'another'" in done.stderr


def test_state_that_the_file_does_not_hold(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    has(MENDED)
    monkeypatch.setattr(capture._CapturedPages, "get", lambda pages, name: _lacking(pages, name))
    done = replay(file)
    assert done.exit_code == 3
    assert "needs state that the file does not contain" in done.stdout


def _lacking(pages: capture._CapturedPages, name: str) -> bytes:
    pages.lacks = name
    raise KeyError(name)


def test_the_debugger_stands_in_the_users_function(file: Path) -> None:
    """Not in the library that it called."""
    done = replay(file, "--pdb", typed="p 'total:', total, value\nq\n")
    assert done.exit_code == 1
    assert "('total:', 6, ('a', 3))" in done.stdout


def test_a_module_that_is_not_here(file: Path, tmp_path: Path) -> None:
    (tmp_path / "totals_of_a_test.py").unlink()
    importlib.invalidate_caches()
    done = replay(file)
    assert done.exit_code == 1
    assert "ModuleNotFoundError: No module named 'totals_of_a_test'" in done.stderr
    assert "replay in the folder of the program" in done.stderr


SCRIPT = """
from dataclasses import dataclass

from headrace.common import Configuration
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.state import ValueStateDescriptor


@dataclass
class Click:
    user: str
    n: int


class Last(KeyedProcessFunction):
    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value, ctx):
        before = self.last.value()
        if value.n == 3:
            raise ValueError(f"after {before}")
        self.last.update(value)
        yield value.n


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({
        "execution.target": "local",
        "headrace.source.max-records-per-batch": "1",
        "headrace.failure.capture-dir": "failed",
    }))
    clicks = env.from_collection([Click("ann", n) for n in range(5)])
    clicks.key_by(lambda click: click.user).process(Last()).print()
    env.execute("clicks")
"""


@pytest.mark.slow
def test_classes_of_a_script_travel_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(SCRIPT)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def python(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)

    job = python("job.py", folder=tmp_path)
    (path,) = (tmp_path / "failed").glob("*.headrace-call")
    assert f"headrace replay {path}" in job.stderr
    (tmp_path / "job.py").unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    program = "from headrace.cli import main; main()"
    again = python("-c", program, "replay", str(path), folder=elsewhere)
    assert again.returncode == 1
    for said in (job.stderr, again.stderr):
        assert "ValueError: after Click(user='ann', n=2)" in said
        assert "record:   Click(user='ann', n=3)" in said
