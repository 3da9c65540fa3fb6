"""A signal ends a wait for a job; then the job is cancelled, and its end is waited for."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import builtins
import os
import threading
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.function import FunctionSink

builtins.opened = threading.Event()  # a function of the job may not hold it


def held(number):
    if number == 50:
        os.write(1, b"held\\n")
        assert builtins.opened.wait(60)
    return number


settings = {"execution.target": "local", "headrace.source.max-records-per-batch": "20"}
env = StreamExecutionEnvironment(Configuration.from_dict(settings))
seen = []
env.from_sequence(0, 99).map(held).sink_to(FunctionSink(seen.extend))
from headrace.runners import local_job

cancel, wait = local_job.LocalJob.cancel, local_job.LocalJob.wait


def wait_and_tell(job):
    os.write(1, b"waiting\\n")
    return wait(job)


def cancel_and_open(job, *, final=False):
    threading.Timer(0.5, builtins.opened.set).start()
    cancel(job, final=final)


local_job.LocalJob.cancel, local_job.LocalJob.wait = cancel_and_open, wait_and_tell
try:
    env.execute("held")
finally:
    print(len(seen), flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGTERM (POSIX)")
def test_the_micro_batch_is_completed_after_a_signal() -> None:
    """Half a second after the job is cancelled, while the program waits for its end."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        lines = {child.stdout.readline(), child.stdout.readline()}
        assert lines == {"held\n", "waiting\n"}
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (128 + signal.SIGTERM, "60\n"), err
