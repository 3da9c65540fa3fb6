"""A server as a separate process: started, found again by later commands, and stopped."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.errors import JobError
from headrace.runners.processes import Process, this_machine
from headrace.runners.temporary_files import private_file, write_private

START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 30.0
_POLL_S = 0.05
_LOG_SHOWN = 12
PRIVATE = 0o077
"""The umask of servers: only their user may read what they write."""


def subprocess_user_arguments(name: str | None) -> dict[str, Any]:
    """Return arguments for ``subprocess`` to run as a user, with only that user's groups."""
    if name is None:
        return {}
    group = pwd.getpwnam(name).pw_gid
    return {"user": name, "group": group, "extra_groups": os.getgrouplist(name, group)}


@dataclass(frozen=True)
class Running:
    """A server that was started in a folder. ``url`` is for clients, and may contain a password."""

    folder: Path
    name: str
    process: Process
    url: str
    stop_signal: int = signal.SIGTERM
    crash_signal: int = signal.SIGKILL

    @property
    def log(self) -> Path:
        """Its output."""
        return self.folder / f"{self.name}.log"

    @property
    def record_path(self) -> Path:
        """The file with which later commands find it."""
        return self.folder / f"{self.name}.pid"

    def stop(self, *, force: bool = False) -> None:
        """Stop it by its process id, and wait until it has ended; ``force`` simulates a crash."""
        machine = this_machine()
        for number in (self.crash_signal if force else self.stop_signal, signal.SIGKILL):
            if not machine.is_running(self.process):
                break
            with contextlib.suppress(ProcessLookupError):  # it has ended in the meantime
                os.kill(self.process.pid, number)
            until = machine.seconds() + STOP_TIMEOUT_S
            while machine.is_running(self.process) and machine.seconds() < until:
                machine.sleep(_POLL_S)
        self.record_path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Service:
    """How to start a server whose files are in ``folder``.

    ``is_ready``: whether it accepts connections. ``stop_signal`` stops it cleanly; ``crash_signal``
    kills it with all its processes. It can be started again.
    """

    name: str
    folder: Path
    command: Sequence[str]
    url: str
    is_ready: Callable[[], bool]
    stop_signal: int = signal.SIGTERM
    crash_signal: int = signal.SIGKILL
    user: str | None = None
    """The user of the process, for servers that refuse to run as root; None: the current user."""

    def start(self, timeout_s: float = START_TIMEOUT_S) -> Running:
        """Start it, and wait until it answers.

        Raises:
            JobError: it ended, or did not answer in time; the error has the end of its log.
        """
        machine = this_machine()
        log = self.folder / f"{self.name}.log"
        with open(private_file(log), "ab") as output:
            child = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C for the command must not reach the server
                cwd=self.folder,
                umask=PRIVATE,
                **subprocess_user_arguments(self.user),
            )
        process = machine.process(child.pid)
        if process is not None:
            started = Running(
                self.folder, self.name, process, self.url, self.stop_signal, self.crash_signal
            )
            _write_record(started)
            until = machine.seconds() + timeout_s
            while child.poll() is None and machine.seconds() < until:
                if self.is_ready():
                    return started
                machine.sleep(_POLL_S)
        ended = child.poll()
        if process is not None:
            started.stop(force=True)
        lines = log.read_text(errors="replace").splitlines()[-_LOG_SHOWN:]
        what = "did not answer in time" if ended is None else f"ended with status {ended}"
        raise JobError(
            f"{self.name} {what}",
            where={"log": str(log), "last words": "\n    ".join(lines)},
        )


def find_running(folder: Path, name: str) -> Running | None:
    """Return the server of that name that was started in a folder, if it still runs."""
    try:
        found = json.loads((folder / f"{name}.pid").read_text())
    except FileNotFoundError:
        return None
    process, machine = Process.of_json(found["process"]), this_machine()
    if not machine.can_look_up(process) or not machine.is_running(process):
        return None
    stop, crash = found["stop signal"], found["crash signal"]
    return Running(folder, name, process, found["url"], stop, crash)


def _write_record(server: Running) -> None:
    text = {
        "process": server.process.to_json(),
        "url": server.url,
        "stop signal": int(server.stop_signal),
        "crash signal": int(server.crash_signal),
    }
    write_private(server.record_path, json.dumps(text, indent=1) + "\n")
