"""What a user sees of a failure: the user's lines first, and no frame of a library."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from headrace.errors import JobError, PlanError
from headrace.runners.spark.failures import TaskFailure, failure_in, raise_encoded
from headrace.tracebacks import (
    FULL_VARIABLE,
    FrameLocation,
    format_error,
    frame_locations,
    rebuild_traceback,
    trim_tracebacks,
)

HEAD = """\
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment(
    Configuration.from_dict({"execution.target": "local"})
)
numbers = env.from_collection([1, 0])
"""
FAILS = f"""{HEAD}
def invert(value):
    return 1 // value

numbers.map(invert).name("invert").uid("i").print()
env.execute("job")
"""
NO_FUNCTION = f"""{HEAD}
numbers.map(3)
"""
NOT_PICKLED = f"""{HEAD}
import threading
lock = threading.Lock()
numbers.map(lambda value: lock)
"""
FAILS_LATER = f"""{HEAD}
import time
from headrace.common import JobStatus

def invert(value):
    return 1 // value

numbers.map(invert).name("invert").print()
client = env.execute_async("later")
while client.get_job_status().result() is JobStatus.RUNNING:
    time.sleep(0.01)
"""


def run(
    folder: Path, text: str, by: str = "python", **environ: str
) -> subprocess.CompletedProcess[str]:
    (folder / "job.py").write_text(text)
    program = ["job.py"]
    if by == "headrace":
        program = ["-c", "from headrace.cli import main; main()", "run", *program]
    return subprocess.run(
        [sys.executable, *program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def without_marks(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip(" ~^")]


@pytest.mark.slow
@pytest.mark.parametrize("by", ["python", "headrace"])
def test_a_failing_function_is_reported_in_a_few_lines(tmp_path: Path, by: str) -> None:
    done = run(tmp_path, FAILS, by)
    assert done.returncode == 1
    told = [line for line in without_marks(done.stderr) if "is shown at http://" not in line]
    first, program, call, function, line, error, operator, record = told
    assert first == "Traceback (most recent call last):"
    assert 'job.py", line 13, in <module>' in program and call == '    env.execute("job")'
    assert 'job.py", line 10, in invert' in function and line == "    return 1 // value"
    assert error.startswith("ZeroDivisionError: ")
    assert operator.startswith("operator: invert (uid=i)") and record == "record:   0"


@pytest.mark.slow
@pytest.mark.parametrize(("text", "line"), [(NO_FUNCTION, 9), (NOT_PICKLED, 11)])
def test_a_program_that_cannot_be_built_shows_its_line(
    tmp_path: Path, text: str, line: int
) -> None:
    done = run(tmp_path, text)
    assert f'job.py", line {line}, in <module>' in done.stderr.splitlines()[1]
    assert done.stderr.count("  File ") == 1
    assert "headrace.errors." in done.stderr.splitlines()[3]


@pytest.mark.slow
def test_every_frame_is_shown_to_whom_asks(tmp_path: Path) -> None:
    done = run(tmp_path, FAILS, **{FULL_VARIABLE: "1"})
    assert "launch.py" in done.stderr and "local.py" in done.stderr


@pytest.mark.slow
def test_a_failed_job_that_nobody_waits_for_is_reported_once(tmp_path: Path) -> None:
    done = run(tmp_path, FAILS_LATER)
    assert done.returncode == 0
    assert done.stderr.startswith("headrace: 'later' failed\nTraceback")
    assert done.stderr.count("ZeroDivisionError") == 1
    assert "in invert" in done.stderr and "record:   0" in done.stderr


@pytest.mark.slow
def test_a_failed_job_that_is_waited_for_is_reported_once(tmp_path: Path) -> None:
    waiting = FAILS_LATER.replace(
        "return 1 // value", "time.sleep(0.3)\n    return 1 // value"
    ).partition("while client")[0]
    done = run(tmp_path, f"{waiting}client.get_job_execution_result().result()\n")
    assert done.returncode == 1
    assert done.stderr.count("ZeroDivisionError: ") == 1
    assert "headrace: 'later' failed" not in done.stderr


def test_a_place_of_another_process_is_a_frame() -> None:
    here = Path(__file__)
    line = next(n for n, x in enumerate(here.read_text().splitlines(), 1) if x.endswith("= here"))
    trace = rebuild_traceback(
        [
            FrameLocation("job", "/gone/job.py", 7, "outer"),
            FrameLocation("job", str(here), line, "f"),
        ]
    )
    assert frame_locations(trace) == [
        FrameLocation("job", "/gone/job.py", 7, "outer"),
        FrameLocation("job", str(here), line, "f"),
    ]
    assert "".join(traceback.format_tb(trace)).splitlines() == [
        '  File "/gone/job.py", line 7, in outer',
        f'  File "{here}", line {line}, in f',
        "    there = here",
    ]


def there(here: str) -> str:
    there = here
    raise ValueError(there)


def test_an_exception_travels_with_its_frames_and_what_it_came_from() -> None:
    def caused() -> None:
        try:
            there("first")
        except ValueError as error:
            raise KeyError("second") from error

    with pytest.raises(TaskFailure) as raised:
        try:
            caused()
        except KeyError as error:
            raise_encoded(error)
    found = failure_in(str(raised.value))
    assert isinstance(found, KeyError) and isinstance(found.__cause__, ValueError)
    assert frame_locations(found.__traceback__)[-1].name == "caused"
    assert frame_locations(found.__cause__.__traceback__)[-1].name == "there"
    assert "raise ValueError(there)" in format_error(found)


@pytest.mark.parametrize("raises", [SystemExit(3), KeyboardInterrupt()], ids=repr)
def test_what_ends_a_program_is_an_error_of_the_job(raises: BaseException) -> None:
    with pytest.raises(TaskFailure) as raised:
        raise_encoded(raises)
    found = failure_in(str(raised.value))
    assert isinstance(found, JobError)
    assert ("sys.exit(3)" if isinstance(raises, SystemExit) else "KeyboardInterrupt") in str(found)


def test_an_exception_of_the_engine_keeps_the_frame_that_raised_it() -> None:
    def fails() -> None:
        rebuild_traceback([None])  # type: ignore[list-item]

    with pytest.raises(AttributeError) as raised:
        fails()
    names = [place.name for place in frame_locations(trim_tracebacks(raised.value).__traceback__)]
    assert names == ["test_an_exception_of_the_engine_keeps_the_frame_that_raised_it", "fails",
                     "_frame_at"]  # fmt: skip


def test_an_error_of_headrace_drops_what_its_text_says() -> None:
    with pytest.raises(PlanError) as raised:
        try:
            rebuild_traceback([None])  # type: ignore[list-item]
        except AttributeError as error:
            error.__traceback__ = None
            raise PlanError("so it is") from error
    assert trim_tracebacks(raised.value).__cause__ is None
