"""A program on Spark that gets a signal ends after its micro-batch."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import accumulate
from pathlib import Path

import pytest

from tests.goldens.job import written

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


LONG_PROGRAM = """
import sys
import time
from pathlib import Path
from headrace.common import Configuration, Encoder, Types
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.state import ValueStateDescriptor

folder = Path(sys.argv[1])
entered, opened = folder / "entered", folder / "opened"


class Totals(KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value, ctx):
        if value == 120:
            entered.touch()
            while not opened.exists():
                time.sleep(0.05)
        self.total.update((self.total.value() or 0) + value)
        yield f"{value} {self.total.value()}"


settings = {
    "execution.checkpointing.dir": str(folder / "checkpoints"),
    "parallelism.default": "1",
    "headrace.source.max-records-per-batch": "50",
    "headrace.source.min-records-per-batch": "50",
    "headrace.stop.timeout": "2 s",
}
env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
totals = env.from_sequence(0, 399).uid("numbers").key_by(lambda n: n % 7).process(
    Totals(), Types.STRING()
)
sink = FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder()).build()
totals.uid("totals").sink_to(sink).uid("files")
env.execute("long")
"""


def test_a_micro_batch_that_is_longer_than_the_stop_may_take_is_repeated(tmp_path: Path) -> None:
    """The micro-batch would last until a file is there, which comes after the end of the job."""
    program = tmp_path / "program.py"
    program.write_text(LONG_PROGRAM)
    command = [sys.executable, str(program), str(tmp_path)]
    log = tmp_path / "log"  # a pipe would stay open as long as the task runs
    with log.open("w") as out, subprocess.Popen(command, stderr=out) as child:
        deadline = time.monotonic() + 90
        while not (tmp_path / "entered").exists():
            assert time.monotonic() < deadline and child.poll() is None, log.read_text()
            time.sleep(0.05)
        child.send_signal(signal.SIGTERM)
        child.wait(timeout=60)
    err = log.read_text()
    assert child.returncode == -signal.SIGTERM, err
    assert "the micro-batch did not end within 2 s; the next start repeats it" in err
    spark = tmp_path / "checkpoints" / "long" / "spark"
    assert numbers(spark / "offsets")[-1] == numbers(spark / "commits")[-1] + 1
    (tmp_path / "opened").touch()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    expected: Counter[str] = Counter()
    for key in range(7):
        for number, total in zip(range(key, 400, 7), accumulate(range(key, 400, 7)), strict=True):
            expected[f"{number} {total}"] += 1
    assert written(tmp_path / "out") == expected
