"""What a process has, and leaves, in the system's folder for temporary files."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from headrace.runners import temporary_files
from headrace.runners.spark.startup.session import _local_settings
from headrace.runners.temporary_files import (
    private_file,
    process_folder,
    remove_abandoned,
    write_private,
)

PROGRAM = """\
import os, signal, sys
from headrace.runners.temporary_files import keep_log, log_path, new_subfolder, private_file
os.write(private_file(log_path()), b"a line")
(new_subfolder("plan-") / "program").write_text("a password")
if sys.argv[1] == "failed":
    keep_log()
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "waits":
    print(log_path().parent, flush=True)
    sys.stdin.read()
"""
DAY = 86_400


def start(end: str, tmp: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, end],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp), "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder, for a process that has none of its own in it yet."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(temporary_files, "_folders", {})
    return tmp_path


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("headrace-*/**/*") if not path.is_dir())


@pytest.mark.parametrize(
    ("end", "files"),
    [("well", []), ("failed", ["spark.log"]), ("killed", ["owner", "program", "spark.log"])],
)
def test_what_a_process_leaves(end: str, files: list[str], tmp_path: Path) -> None:
    start(end, tmp_path).communicate()
    assert left(tmp_path) == files
    if end != "killed":
        assert len([*tmp_path.iterdir()]) == len(files)


def test_the_next_process_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    start("killed", tmp_path).communicate()
    start("well", tmp_path).communicate()
    assert left(tmp_path) == ["spark.log"]


def test_a_process_that_runs_keeps_its_files(tmp_path: Path) -> None:
    runs = start("waits", tmp_path)
    assert runs.stdout is not None
    folder = Path(runs.stdout.readline().strip())
    remove_abandoned(tmp_path, 2_000_000_000)
    assert left(folder.parent) == ["owner", "program", "spark.log"]
    runs.communicate()


def test_a_log_stays_for_a_week(tmp_path: Path) -> None:
    start("failed", tmp_path).communicate()
    (log,) = tmp_path.glob("headrace-*/spark.log")
    for path in (log, log.parent):
        os.utime(path, (0, 10 * DAY))
    remove_abandoned(tmp_path, 16 * DAY)
    assert log.exists()
    remove_abandoned(tmp_path, 18 * DAY)
    assert not [*tmp_path.iterdir()]


def test_what_others_have_made_stays(tmp_path: Path) -> None:
    (tmp_path / "of-another").mkdir()
    (tmp_path / "headrace-run-link").symlink_to(tmp_path / "of-another")
    (tmp_path / "headrace-run-file").write_text("")
    (tmp_path / "headrace-run-made-just-now").mkdir()
    remove_abandoned(tmp_path, (tmp_path / "headrace-run-made-just-now").stat().st_mtime + 1)
    assert len([*tmp_path.iterdir()]) == 4


def test_a_link_with_a_predicted_name_is_not_followed(shared: Path) -> None:
    victim = shared / "victim"
    victim.write_text("of another user")
    for name in ("headrace-log4j2-{}.properties", "headrace-spark-{}.log"):
        (shared / name.format(os.getpid())).symlink_to(victim)
    _local_settings({}, 1)
    assert victim.read_text() == "of another user"
    with pytest.raises(OSError):  # nor is one within the folder
        (process_folder() / "spark.log").symlink_to(victim)
        private_file(process_folder() / "spark.log")


def test_only_the_owner_may_read(shared: Path) -> None:
    umask = os.umask(0)
    try:
        _local_settings({}, 1)
        write_private(process_folder() / "text", "a")
        (shared / "was-there").touch(0o666)
        write_private(shared / "was-there", "b")
    finally:
        os.umask(umask)
    made = [process_folder(), *process_folder().iterdir(), shared / "was-there"]
    assert {path.name: oct(stat.S_IMODE(path.stat().st_mode) & 0o077) for path in made} == {
        path.name: "0o0" for path in made
    }


SERVER = """\
from headrace.runners.spark.startup import fork_server
fork_server._import_everything = lambda: None
fork_server.main()
"""


@pytest.mark.parametrize(
    ("last_words", "files"), [(b"", ["spark.log"]), (b"\n", ["owner", "program", "spark.log"])]
)
def test_a_fork_server_removes_what_its_driver_has_left(
    last_words: bytes, files: list[str], tmp_path: Path
) -> None:
    start("killed", tmp_path).communicate()
    (folder,) = tmp_path.iterdir()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number = listener.fileno()
        subprocess.run(
            [sys.executable, "-c", SERVER, str(number), str(folder)],
            check=True,
            pass_fds=[number],
            input=last_words,
        )
    assert left(tmp_path) == files
