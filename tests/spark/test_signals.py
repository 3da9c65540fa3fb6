"""A program on Spark that gets a signal ends after its micro-batch."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

PROGRAM = """
import sys
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource

settings = {"execution.checkpointing.dir": sys.argv[1], "parallelism.default": "1"}
env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
source = DataGeneratorSource(lambda index: index, rate_per_second=100)
env.from_source(source, None, "numbers").key_by(lambda number: number % 5).reduce(max).print()
env.execute("signalled")
"""


def numbers(folder: Path) -> list[int]:
    """The numbers of the micro-batches in a log of Spark."""
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_completes_the_micro_batch(number: int, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, str(program), str(tmp_path / "checkpoints")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline()
        child.send_signal(number)
        _, err = child.communicate(timeout=120)
    assert child.returncode == 128 + number, err
    assert "cancelling the job" in err and "failed" not in err
    spark = tmp_path / "checkpoints" / "signalled" / "spark"
    assert numbers(spark / "offsets")[-1] == numbers(spark / "commits")[-1], err
