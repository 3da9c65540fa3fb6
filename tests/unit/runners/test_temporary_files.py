"""What a driver leaves in the system's folder for temporary files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.runners.spark.startup.temporary_files import remove_left

PROGRAM = """\
import sys
from headrace.runners.spark.startup.temporary_files import keep_log, log_path, log_settings
log_settings("level = warn").read_text()
log_path().write_text("a line")
if sys.argv[1] == "failed":
    keep_log()
"""


@pytest.mark.parametrize(("end", "left"), [("well", 0), ("failed", 1)])
def test_a_driver_leaves_its_log_where_a_job_failed(end: str, left: int, tmp_path: Path) -> None:
    path = os.pathsep.join(sys.path)
    subprocess.run(
        [sys.executable, "-c", PROGRAM, end],
        check=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": path},
    )
    found = [each.name for each in tmp_path.iterdir()]
    assert len(found) == left and all(name.startswith("headrace-spark-") for name in found)


def test_what_killed_drivers_left_goes_by_and_by(tmp_path: Path) -> None:
    dead = _dead_pid()
    day = 86_400
    for name, age in {
        f"headrace-log4j2-{dead}.properties": 2 * day,
        f"headrace-spark-{dead}.log": 8 * day,
        f"headrace-log4j2-{os.getpid()}.properties": 9 * day,
        f"headrace-spark-{os.getpid()}.log": 9 * day,
        "headrace-spark-notes.log": 9 * day,
    }.items():
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (0, 10 * day - age))
    young = tmp_path / f"headrace-spark-{dead}1.log"
    young.write_text("")
    os.utime(young, (0, 4 * day))
    remove_left(tmp_path, 10 * day)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        [
            f"headrace-log4j2-{os.getpid()}.properties",
            f"headrace-spark-{os.getpid()}.log",
            "headrace-spark-notes.log",
            young.name,
        ]
    )


def _dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid
