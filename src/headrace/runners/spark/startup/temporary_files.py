"""The two files that a driver has in the system's temporary folder: Spark's log, and its settings.

They are named by the driver's process id, and go when it ends. The log of a driver in which a job
has failed stays, as the error's details are in it, for a week; so does what a driver leaves that
was killed, for a day.
"""

from __future__ import annotations

import atexit
import os
import re
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_NAMES = re.compile(r"headrace-(?:log4j2-(?P<settings>\d+)\.properties|spark-(?P<log>\d+)\.log)")
_SETTINGS_SECONDS = 86_400
_LOG_SECONDS = 7 * 86_400


def log_path() -> Path:
    """Where the JVM of a session made here writes its log."""
    return Path(tempfile.gettempdir()) / f"headrace-spark-{os.getpid()}.log"


def log_settings(text: str) -> Path:
    """A new file with the settings of the log; it and the log go when this process ends."""
    path = Path(tempfile.gettempdir()) / f"headrace-log4j2-{os.getpid()}.properties"
    remove_left(path.parent, time.time())
    path.write_text(text)
    atexit.register(_remove_own, path)
    return path


def keep_log() -> None:
    """A job has failed: the log stays when this process ends."""
    _kept.add(os.getpid())


_kept: set[int] = set()


def _remove_own(settings: Path) -> None:
    settings.unlink(missing_ok=True)
    if os.getpid() not in _kept:
        log_path().unlink(missing_ok=True)


def remove_left(folder: Path, now: float) -> None:
    """Remove old files of other drivers; ``now`` is in seconds since the epoch."""
    for path in folder.glob("headrace-*"):
        found = _NAMES.fullmatch(path.name)
        if found is None:
            continue
        if _runs(int(found["log"] or found["settings"])):
            continue
        kept = _LOG_SECONDS if found["log"] else _SETTINGS_SECONDS
        # Another user's, or gone by now: not for this process to remove.
        with suppress(FileNotFoundError, PermissionError):
            if path.stat().st_mtime < now - kept:
                path.unlink()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)  # it may be another user's
    return True
