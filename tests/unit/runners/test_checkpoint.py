"""A job's checkpoint folder: whose it is, who may use it, and what is left of a killed driver."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import CheckpointError, CheckpointLockedError
from headrace.graph.stream_graph import StreamGraph
from headrace.runners.launch import program_of
from headrace.runners.spark.checkpoint.checkpoint import Checkpoint
from headrace.runtime.program import JobProgram

HOLD = """\
import fcntl, json, sys
lock = open(sys.argv[1], "a+")
fcntl.flock(lock, fcntl.LOCK_EX)
lock.write(json.dumps({"driver": 4711, "jvm": None}))
lock.flush()
print("held", flush=True)
sys.stdin.read()
"""


def program(name: str = "job", keyed: bool = True) -> JobProgram:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.target": "local", "parallelism.default": "3"})
    )
    stream = env.from_collection([1])
    (stream.key_by(lambda v: v).sum() if keyed else stream).print()
    return program_of(StreamGraph.of(env._take_sinks()), env._configuration, name)


def test_a_checkpoint_remembers_its_shape(tmp_path: Path) -> None:
    with Checkpoint.open(str(tmp_path), program(), fresh=False) as first:
        scope, partitions = first.scope, first.partitions
        assert first.directory == tmp_path / "job" and not first.temporary
    assert partitions == 3
    other = replace(program(), parallelism=7)
    with Checkpoint.open(str(tmp_path), other, fresh=False) as again:
        assert (again.scope, again.partitions) == (scope, 3)


def test_a_program_that_cannot_go_on_is_refused_until_it_starts_anew(tmp_path: Path) -> None:
    Checkpoint.open(str(tmp_path), program(), fresh=False).close()
    with pytest.raises(CheckpointError, match="'job' cannot go on from its checkpoint") as caught:
        Checkpoint.open(str(tmp_path), program(keyed=False), fresh=False)
    assert "no operator 'Sum'" in caught.value.message
    assert "HEADRACE_FRESH=1" in str(caught.value.hint)
    (tmp_path / "job" / "splits").mkdir()
    with Checkpoint.open(str(tmp_path), program(keyed=False), fresh=True) as anew:
        assert not (anew.directory / "splits").exists()


def test_state_that_nobody_claims_is_given_up_where_it_is_asked_for(tmp_path: Path) -> None:
    Checkpoint.open(str(tmp_path), program(), fresh=False).close()
    without = program(keyed=False)
    with pytest.raises(CheckpointError, match="another depth"):
        wider = replace(without, stages=program("job").stages * 2)
        Checkpoint.open(str(tmp_path), wider, fresh=False, ignore_unclaimed=True)
    Checkpoint.open(str(tmp_path), without, fresh=False, ignore_unclaimed=True).close()
    with pytest.raises(CheckpointError, match="was given up before"):
        Checkpoint.open(str(tmp_path), program(), fresh=False)


def test_fresh_means_a_new_scope(tmp_path: Path) -> None:
    with Checkpoint.open(str(tmp_path), program(), fresh=False) as first:
        scope = first.scope
    with Checkpoint.open(str(tmp_path), program(), fresh=True) as anew:
        assert anew.scope != scope


def test_jobs_of_other_names_have_folders_of_their_own(tmp_path: Path) -> None:
    with (
        Checkpoint.open(str(tmp_path), program("a b/c"), fresh=False) as one,
        Checkpoint.open(f"file://{tmp_path}", program("other"), fresh=False) as other,
    ):
        assert (one.directory.name, other.directory.name) == ("a-b-c", "other")


def test_a_second_driver_is_refused_and_told_of_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder / "driver.lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(CheckpointLockedError, match="process 4711"):
            Checkpoint.open(str(tmp_path), program(), fresh=False)
    finally:
        holder.communicate()
    Checkpoint.open(str(tmp_path), program(), fresh=False).close()


def test_a_driver_killed_before_its_first_plan_leaves_nothing_that_counts(tmp_path: Path) -> None:
    with Checkpoint.open(str(tmp_path), program(), fresh=False) as checkpoint:
        offsets = Path(checkpoint.spark) / "offsets"
        offsets.mkdir(parents=True)
        (offsets / ".0.1234.tmp").write_text("")
    with Checkpoint.open(str(tmp_path), program(), fresh=False):
        assert not offsets.exists()
        offsets.mkdir(parents=True)
        (offsets / "0").write_text("")
    with Checkpoint.open(str(tmp_path), program(), fresh=False):
        assert (offsets / "0").exists()


def test_a_temporary_checkpoint_goes_when_the_job_ends() -> None:
    with Checkpoint.open(None, program(), fresh=False) as checkpoint:
        assert checkpoint.temporary and checkpoint.directory.exists()
    assert not checkpoint.directory.exists()
