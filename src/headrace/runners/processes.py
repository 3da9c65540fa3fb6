"""Processes of this machine: which ones run.

A process is identified by its id and its start time, as ids are used again. An id is valid only on
one machine, or in one container: ``Machine.identity`` distinguishes these.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Process:
    """A process on some machine. ``host`` is for people, ``machine`` for comparison."""

    host: str
    machine: str
    pid: int
    began: str

    def to_json(self) -> dict[str, Any]:
        """Return the JSON value."""
        return {
            "host": self.host,
            "machine": self.machine,
            "process": self.pid,
            "process began": self.began,
        }

    @classmethod
    def of_json(cls, value: dict[str, Any]) -> Process:
        """Return the process of a JSON value."""
        return cls(value["host"], value["machine"], value["process"], value["process began"])

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def _read_clock_s() -> float:
    return time.monotonic()


@dataclass(frozen=True)
class Machine:
    """This machine, as seen by this process.

    ``began`` returns the start time of a process, as an opaque text; None if there is no such
    process. ``seconds`` is a monotonic clock.
    """

    host: str
    identity: str
    current_pid: int
    began: Callable[[int], str | None]
    seconds: Callable[[], float] = _read_clock_s
    sleep: Callable[[float], None] = time.sleep

    def process(self, pid: int) -> Process | None:
        """Return a running process of this machine; None if there is none with this id."""
        began = self.began(pid)
        return None if began is None else Process(self.host, self.identity, pid, began)

    def current_process(self) -> Process:
        """Return this process."""
        return Process(
            self.host, self.identity, self.current_pid, self.began(self.current_pid) or ""
        )

    def can_look_up(self, process: Process) -> bool:
        """Return whether a process belongs to this machine: only then ``is_running`` is right."""
        return process.machine == self.identity

    def is_running(self, process: Process) -> bool:
        """Return whether a process of this machine is running; check ``can_look_up`` first."""
        return self.began(process.pid) == process.began


def this_machine() -> Machine:
    """Return the machine that this process runs on."""
    host = socket.gethostname()
    if sys.platform.startswith("linux"):
        # Containers may share host name and kernel, but each has its own process table.
        boot = _read("/proc/sys/kernel/random/boot_id").strip()
        table = os.readlink("/proc/self/ns/pid")
        return Machine(host, f"{host} {boot} {table}", os.getpid(), _start_time_linux)
    return Machine(host, f"{host} {uuid.getnode():012x}", os.getpid(), _start_time_elsewhere)


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _start_time_linux(pid: int) -> str | None:
    try:
        fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # proc(5): the third field is the state, the 22nd the start time in ticks since the boot.
    return None if fields[0] in "ZX" else fields[19]


def _start_time_elsewhere(pid: int) -> str | None:
    done = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, began = done.stdout.strip().partition(" ")
    return None if not began or state.startswith("Z") else began.strip()
