"""The temporary folder of a process, which only its owner can read.

In the system's temporary folder others could place a link under a predictable name. So all files
are in one folder with a random name, which is removed at the end of the process. After a process
that was killed, its fork server or a later process removes the folder.

Spark's log is in this folder. It is kept for a week if a job failed, for the details of the error,
or if the process was killed.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import stat
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

_PREFIX = "headrace-run-"
_OWNER = "owner"
"""A file in the folder that the process keeps locked."""

_LOG = "spark.log"
_LOG_SECONDS = 7 * 86_400

_MAKING_SECONDS = 60
"""Within this time after its folder was made, a process has locked the file."""

_folders: dict[int, Path] = {}
"""Folders by process id, as a forked process needs its own."""

_keeps_log: set[int] = set()
_lock = threading.Lock()


def process_folder() -> Path:
    """Return the folder of this process, made at the first call."""
    pid = os.getpid()
    with _lock:
        if pid not in _folders:
            remove_abandoned(Path(tempfile.gettempdir()), time.time())
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX))  # mode 0700
            draft = folder / f"{_OWNER}.draft"
            # It stays open and locked as long as the process lives.
            owner = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            fcntl.flock(owner, fcntl.LOCK_EX)
            draft.rename(folder / _OWNER)  # locked before another process can find it
            _folders[pid] = folder
            atexit.register(_remove_at_exit, pid, folder)
        return _folders[pid]


def new_subfolder(prefix: str) -> Path:
    """Make a folder in that of this process; its name starts with ``prefix``."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=process_folder()))


def private_file(path: Path) -> int:
    """Open a file for appending, with permissions for its owner only; return the descriptor."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    os.fchmod(descriptor, 0o600)  # it may have existed
    return descriptor


def write_private(path: Path, text: str) -> None:
    """Write a text file that only its owner can read."""
    with open(private_file(path), "w", encoding="utf-8") as file:
        file.truncate()
        file.write(text)


def log_path() -> Path:
    """Return the path of Spark's log, for sessions made by this process."""
    return process_folder() / _LOG


def keep_log() -> None:
    """Keep the log at the end of this process, as a job has failed."""
    _keeps_log.add(os.getpid())


def _remove_all_but_log(folder: Path) -> None:
    """Remove the folder of a process that has ended; keep a log in it."""
    if not (folder / _LOG).exists():
        shutil.rmtree(folder, ignore_errors=True)
        return
    for path in folder.iterdir():
        if path.name == _LOG:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def remove_after_owner(folder: Path) -> None:
    """Wait until a folder's process ends, then remove the folder."""
    with suppress(FileNotFoundError), open(folder / _OWNER, "rb") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        _remove_all_but_log(folder)


def _remove_at_exit(pid: int, folder: Path) -> None:
    if os.getpid() != pid:
        return  # a fork: the folder is its parent's
    if pid not in _keeps_log:
        (folder / _LOG).unlink(missing_ok=True)
    _remove_all_but_log(folder)


def remove_abandoned(folder: Path, now: float) -> None:
    """Remove folders of this user's ended processes. ``now``: seconds since the epoch."""
    for path in folder.glob(f"{_PREFIX}*"):
        # Another process may remove it at the same time.
        with suppress(FileNotFoundError, NotADirectoryError):
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                continue
            if _is_in_use(path, now - status.st_mtime):
                continue
            log = path / _LOG
            if log.exists() and log.stat().st_mtime < now - _LOG_SECONDS:
                log.unlink()
            _remove_all_but_log(path)


def _is_in_use(folder: Path, age_seconds: float) -> bool:
    """Return whether the folder's process is still running, in any container."""
    try:
        owner = os.open(folder / _OWNER, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        # Its process is starting, or the folder was removed in part.
        return age_seconds < _MAKING_SECONDS
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(owner)
    return False
