"""``headrace run`` runs a program as ``python`` would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cli.run import split_fresh
from headrace.common import Configuration

pytestmark = pytest.mark.slow

PROGRAM = """
import os, sys
import beside

def mapped(value):
    return value

print(sys.argv[1:], __name__, mapped.__module__, sys.modules["__main__"].mapped is mapped)
print("fresh", os.environ.get("HEADRACE_FRESH"), beside.VALUE)
"""


def headrace(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {k: v for k, v in os.environ.items() if k != "HEADRACE_FRESH"}
    return subprocess.run(
        [sys.executable, "-c", "from headrace.cli import main; main()", *arguments],
        cwd=folder,
        env={**environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "beside.py").write_text("VALUE = 7\n")
    path = folder / "job.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.parametrize(
    ("before", "after", "passed", "fresh"),
    [
        ([], [], [], None),
        (["--fresh"], ["a", "--rate=5", "-x"], ["a", "--rate=5", "-x"], "1"),
        ([], ["--help", "--fresh"], ["--help"], "1"),
        ([], ["--", "--fresh"], ["--", "--fresh"], None),
    ],
)
def test_a_program_gets_its_arguments(
    program: Path, before: list[str], after: list[str], passed: list[str], fresh: str | None
) -> None:
    done = headrace(program.parent.parent, "run", *before, "jobs/job.py", *after)
    assert done.stdout == f"{passed} __main__ __main__ True\nfresh {fresh} 7\n", done.stderr
    assert done.returncode == 0


def test_our_option_after_the_program_is_passed_to_it_with_a_notice(program: Path) -> None:
    done = headrace(program.parent.parent, "run", "jobs/job.py", "--local", "--", "--no-drain")
    assert done.stdout.startswith("['--local', '--', '--no-drain']")
    assert "--local after jobs/job.py is passed to the program" in done.stderr
    assert "--no-drain" not in done.stderr


def test_a_programs_exception_begins_in_the_program(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("def broken():\n    raise KeyError('k')\n\nbroken()\n")
    by_headrace = headrace(tmp_path, "run", "job.py")
    by_python = subprocess.run(
        [sys.executable, "job.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert by_headrace.returncode == by_python.returncode == 1
    lines = by_headrace.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert 'job.py", line 4, in <module>' in lines[1]
    assert lines[-1] == by_python.stderr.splitlines()[-1] == "KeyError: 'k'"
    assert "runpy" not in by_headrace.stderr


def test_a_syntax_error_is_shown(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("def (:\n")
    done = headrace(tmp_path, "run", "job.py")
    assert done.returncode == 1
    assert 'job.py", line 1' in done.stderr and "SyntaxError" in done.stderr


def test_a_programs_exit_code_is_kept(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("raise SystemExit(3)\n")
    assert headrace(tmp_path, "run", "job.py").returncode == 3


def test_no_such_program(tmp_path: Path) -> None:
    done = headrace(tmp_path, "run", "job.py")
    assert done.returncode == 1
    assert done.stderr.startswith("ConfigurationError: there is no program at job.py")
    assert "hint:" in done.stderr and "Traceback" not in done.stderr


SETTINGS = """
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment

mine = Configuration().set_string("execution.target", "spark").set_integer("parallelism.default", 3)
env = StreamExecutionEnvironment.get_execution_environment(mine)
print(env.get_parallelism(), env.get_max_parallelism())
env.from_collection([1, 2]).map(lambda value: value * 10).print()
env.execute("here")
"""


def test_settings_from_outside_count_where_the_program_has_none(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(SETTINGS)
    given = ["-D", "parallelism.default=7", "-Dpipeline.max-parallelism=40"]
    done = headrace(tmp_path, "run", "--local", *given, "job.py")
    assert done.stdout.splitlines()[0] == "3 40", done.stderr
    # The program asks for Spark, and --local counts.
    assert [line.split()[-1] for line in done.stdout.splitlines()[1:]] == ["10", "20"]
    assert "runs on" not in done.stderr


def test_settings_are_added_to_those_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.py").write_text("import os\nprint(os.environ['HEADRACE_SETTINGS'])")
    outside = {"state.checkpoints.dir": "old", "parallelism.default": "3", "pipeline.name": "a"}
    monkeypatch.setenv("HEADRACE_SETTINGS", json.dumps(outside))
    given = ["-D", "parallelism.default=2", "-D", "execution.checkpointing.dir=new"]
    done = headrace(tmp_path, "run", *given, "job.py")
    settings = Configuration.from_dict(json.loads(done.stdout)).to_dict()
    assert settings["parallelism.default"] == "2" and settings["pipeline.name"] == "a"
    assert settings["execution.checkpointing.dir"] == "new", done.stderr


def test_options_about_a_savepoint_are_settings(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("import os\nprint(os.environ['HEADRACE_SETTINGS'])")
    flags = ["--allow-non-restored-state", "--allow-pickles"]
    given = ["--from-savepoint", "s3a://saved/a", "--claim-mode", "no-claim", *flags]
    done = headrace(tmp_path, "run", *given, "job.py")
    settings = Configuration.from_dict(json.loads(done.stdout)).to_dict()
    assert settings == {
        "execution.state-recovery.path": "s3a://saved/a",
        "execution.state-recovery.claim-mode": "NO_CLAIM",
        "execution.state-recovery.ignore-unclaimed-state": "true",
        "headrace.restore.allow-pickles": "true",
    }, done.stderr
    done = headrace(tmp_path, "run", "--claim-mode", "claim", "job.py")
    assert done.returncode == 1 and "--claim-mode needs a savepoint" in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [("parallelism.default", "has no value"), ("parallelism.defalt=2", "parallelism.default")],
)
def test_a_setting_that_is_none_is_refused(program: Path, given: str, said: str) -> None:
    done = headrace(program.parent, "run", "-D", given, "job.py")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("ConfigurationError:") and said in done.stderr


def test_the_cluster_is_given_as_to_spark_submit(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("import os\nprint(os.environ['PYSPARK_SUBMIT_ARGS'])")
    given = ["--master", "spark://there:7077", "--conf", "spark.a=b c", "--conf", "spark.d=e"]
    done = headrace(tmp_path, "run", *given, "job.py")
    assert done.stdout.strip() == (
        "--master spark://there:7077 --conf 'spark.a=b c' --conf spark.d=e pyspark-shell"
    ), done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--local", "--master", "yarn"], "--local runs jobs without Spark"),
        (["--conf", "spark.a"], "--conf spark.a is not a setting of Spark"),
        (["--conf", "parallelism.default=2"], "are given as -D key=value"),
    ],
)
def test_what_contradicts_is_refused(program: Path, given: list[str], said: str) -> None:
    done = headrace(program.parent, "run", *given, "job.py")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("ConfigurationError:") and said in done.stderr


def test_split_fresh() -> None:
    assert split_fresh([]) == (False, [])
    assert split_fresh(["--fresh", "--fresh", "a"]) == (True, ["a"])
    assert split_fresh(["a", "--fresh", "b"]) == (True, ["a", "b"])
    assert split_fresh(["a", "--", "--fresh"]) == (False, ["a", "--", "--fresh"])
    assert split_fresh(["--fresh", "--", "--fresh"]) == (True, ["--", "--fresh"])


def test_an_option_leaves_windows_open(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import os\nprint(os.environ['HEADRACE_SETTINGS'])")
    done = headrace(tmp_path, "run", "--no-drain", "-D", "parallelism.default=2", str(program))
    assert done.stdout.strip() == '{"parallelism.default": "2", "headrace.stop.drain": "false"}'
