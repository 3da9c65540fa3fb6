"""The folder that a process of Headrace has below the system's one for temporary files.

Others can write to the system's folder, and predict a name with a process id in it: a link that
lies there already would be followed. So everything is in one folder, whose name is random and which
only its owner may enter. It is removed when the process ends. What a process that was killed has
left is removed by its fork server, or by the next process.

Spark's log is in it too. It stays for a week where a job has failed, as the error's details are in
it, and where the process was killed.
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
"""A file in the folder that its process has locked, as long as it lives."""

_LOG = "spark.log"
_LOG_SECONDS = 7 * 86_400

_MAKING_SECONDS = 60
"""A process has locked the file by then."""

_folders: dict[int, Path] = {}
"""The folder by process id: a fork needs one of its own."""

_keeps_log: set[int] = set()
_lock = threading.Lock()


def process_folder() -> Path:
    """The folder of this process; it is made at the first call."""
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
    """A new folder in that of this process. Its name begins with ``prefix``."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=process_folder()))


def private_file(path: Path) -> int:
    """A descriptor that appends to a file which only its owner may read, whatever the umask is."""
    found = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    os.fchmod(found, 0o600)  # it may have been there
    return found


def write_private(path: Path, text: str) -> None:
    """Write a text to a file which only its owner may read."""
    with open(private_file(path), "w", encoding="utf-8") as file:
        file.truncate()
        file.write(text)


def log_path() -> Path:
    """Where the JVM of a session made here writes its log."""
    return process_folder() / _LOG


def keep_log() -> None:
    """A job has failed: the log stays when this process ends."""
    _keeps_log.add(os.getpid())


def _remove_all_but_log(folder: Path) -> None:
    """Remove the folder of a process that has ended; a log stays, in its folder."""
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
    """Wait for the end of a folder's process, and remove what it has left."""
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
    """Remove what processes of this user have left; ``now`` is in seconds since the epoch."""
    for path in folder.glob(f"{_PREFIX}*"):
        # Another process may be removing the same.
        with suppress(FileNotFoundError, NotADirectoryError):
            found = path.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                continue
            if _is_in_use(path, now - found.st_mtime):
                continue
            log = path / _LOG
            if log.exists() and log.stat().st_mtime < now - _LOG_SECONDS:
                log.unlink()
            _remove_all_but_log(path)


def _is_in_use(folder: Path, age_seconds: float) -> bool:
    """True when the process of a folder still runs, in whichever container."""
    try:
        owner = os.open(folder / _OWNER, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        # Its process has just made it, or it was removed in part.
        return age_seconds < _MAKING_SECONDS
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(owner)
    return False
