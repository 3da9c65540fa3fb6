"""Jobs begin from the savepoints that earlier versions wrote, on either runner."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from headrace.runtime.savepoint.folder import read_manifest
from headrace.runtime.savepoint.manifest import FORMAT
from tests.goldens.job import NAME, written
from tests.goldens.saved import SAVED, build, environment, expected_after

SAVEPOINTS = sorted(SAVED.glob("*-*"))
each_savepoint = pytest.mark.parametrize("savepoint", SAVEPOINTS, ids=lambda path: path.name)


def begin_from(savepoint: Path, folder: Path, **settings: str) -> None:
    env = environment(2, **{"execution.state-recovery.path": str(savepoint), **settings})
    build(env, folder)
    env.execute(NAME)
    assert written(folder / "out") == expected_after()


def test_there_is_one_of_each_format_and_runner() -> None:
    formats = range(3, FORMAT + 1)
    names = [f"{number}-{runner}" for number in formats for runner in ("local", "spark")]
    assert [path.name for path in SAVEPOINTS] == names
    for path in SAVEPOINTS:
        assert read_manifest(str(path)).job == NAME
        assert f'"format": {path.name[0]},' in (path / "_savepoint").read_text()


@each_savepoint
def test_a_local_job_begins(savepoint: Path, tmp_path: Path) -> None:
    begin_from(savepoint, tmp_path, **{"execution.target": "local"})


CHANGED = """
import uuid
from pathlib import Path
from headrace.common import Configuration, Duration, Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.state import ValueStateDescriptor
from tests.goldens.job import KEYS, NAME, RECORDS, Tally
from tests.goldens.saved import environment

class Numbered(KeyedProcessFunction):
    def open(self, runtime_context):
        self.number = runtime_context.get_state(ValueStateDescriptor("number", Types.INT()))

    def process_element(self, value, ctx):
        self.number.update((self.number.value() or 0) + 1)
        yield f"{value} number {self.number.value()}"

def write(lines):
    Path("out", f"part-{uuid.uuid4().hex}").write_text("".join(f"{line}\\n" for line in lines))

Path("out").mkdir(exist_ok=True)
times = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10))
timed = times.with_timestamp_assigner(lambda value, before: value[1])
env = environment(2)
numbers = env.from_sequence(0, RECORDS - 1).name("source, renamed").uid("numbers")
pairs = numbers.map(lambda number: (number % KEYS, number)).assign_timestamps_and_watermarks(timed)
tallies = pairs.rebalance().key_by(lambda value: value[0]).process(Tally(), Types.STRING())
lines = tallies.name("moved and renamed").uid("tally").key_by(lambda line: line.split()[0])
lines.process(Numbered()).uid("added").sink_to(FunctionSink(write)).uid("function")
env.execute(NAME)
"""


def run_changed(folder: Path, *given: str) -> subprocess.CompletedProcess[str]:
    """Run the changed program: without limits, and with an operator that is added."""
    (folder / "job.py").write_text(CHANGED)
    return subprocess.run(
        [sys.executable, "-m", "headrace", "run", *given, "job.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(["--local"], marks=pytest.mark.slow),
        pytest.param(["-D", "execution.checkpointing.dir=checkpoints"], marks=pytest.mark.spark),
    ],
    ids=["local", "spark"],
)
def test_a_changed_program_begins(given: list[str], tmp_path: Path) -> None:
    """An operator is removed, others are added, moved to another stage and renamed."""
    shutil.copytree(SAVEPOINTS[-1], tmp_path / "saved")
    begin = [*given, "--from-savepoint", str(tmp_path / "saved")]
    refused = run_changed(tmp_path, *begin)
    assert refused.returncode == 1 and "uid=limited" in refused.stderr, refused.stderr
    assert "--allow-non-restored-state" in refused.stderr
    done = run_changed(tmp_path, *begin, "--allow-non-restored-state", "--claim-mode", "claim")
    assert done.returncode == 0, done.stderr
    lines: Counter[str] = Counter()
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    for line in written(tmp_path / "out"):
        text, number = line.split(" number ")
        lines[f"{text} limits [1, 2]"] += 1
        numbers[text.split()[0]].append(int(number))
    assert lines == expected_after()
    for found in numbers.values():
        assert sorted(found) == [*range(1, len(found) + 1)]
    assert (tmp_path / "saved").exists() is ("--local" in given)


@pytest.mark.spark
@each_savepoint
def test_a_job_on_spark_begins(savepoint: Path, tmp_path: Path) -> None:
    begin_from(
        savepoint, tmp_path, **{"execution.checkpointing.dir": str(tmp_path / "checkpoints")}
    )
