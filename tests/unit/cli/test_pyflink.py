"""``headrace pyflink`` runs a program of which no line was changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

JOB = """
import sys

import pyflink.datastream as ds
from pyflink.common import Configuration, Types
from pyflink.common.constants import MAX_LONG_VALUE
from pyflink.version import __version__
from counting import Count, of_name

configuration = Configuration()
for key, value in (argument.split("=") for argument in sys.argv[1:]):
    configuration.set_string(key, value)
env = ds.StreamExecutionEnvironment.get_execution_environment(configuration)
words = env.from_collection(["a", "b", "a"], type_info=Types.STRING())
counts = words.map(of_name).key_by(lambda name: [name]).process(Count())
with counts.execute_and_collect() as results:
    print(sorted(results), __version__, MAX_LONG_VALUE)
"""

MODULE = """
import pyflink
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor


def of_name(name):
    from pyflink.common import Row  # in the worker, with the first record
    return Row(name)[0]


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", None))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value(), pyflink.datastream.KeyedProcessFunction.__name__
"""

RESULT = "[('a', 1, 'K'), ('a', 2, 'K'), ('b', 1, 'K')] 2.3.0 9223372036854775807\n".replace(
    "'K'", "'KeyedProcessFunction'"
)


def headrace_pyflink(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "jobs").mkdir()
    (folder / "jobs" / "job.py").write_text(JOB)
    (folder / "jobs" / "counting.py").write_text(MODULE)
    return subprocess.run(
        [sys.executable, "-m", "headrace", "pyflink", "jobs/job.py", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
def test_in_this_process(tmp_path: Path) -> None:
    done = headrace_pyflink(tmp_path, "execution.target=local")
    assert done.stdout == RESULT, done.stderr


@pytest.mark.spark
def test_in_sparks_workers(tmp_path: Path) -> None:
    done = headrace_pyflink(
        tmp_path, "parallelism.default=2", f"python.executable={sys.executable}"
    )
    assert done.stdout == RESULT, done.stderr
