"""Real processes of this machine, by id and beginning."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

from headrace.runners.processes import Process, this_machine


def test_a_process_runs_until_it_ends() -> None:
    machine = this_machine()
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    )
    process = machine.process(child.pid)
    try:
        assert process is not None and machine.can_look_up(process) and machine.is_running(process)
        assert not machine.is_running(replace(process, began="at another time"))
    finally:
        child.communicate()
    assert not machine.is_running(process) and machine.process(child.pid) is None


def test_a_process_that_nobody_has_waited_for_is_gone() -> None:
    machine = this_machine()
    child = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert child.stdout is not None and child.stdout.read() == b""
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert machine.process(child.pid) is None
    child.wait()
    child.stdout.close()


def test_this_process_survives_a_journey() -> None:
    machine = this_machine()
    own = machine.current_process()
    assert own.pid == os.getpid() and machine.is_running(own)
    assert Process.of_json(own.to_json()) == own
    assert not machine.can_look_up(replace(own, machine="another"))
