"""``headrace savepoint``, ``stop`` and ``savepoints``, with a driver that is played here."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.common._types.data import type_text
from headrace.errors import CheckpointError, ConfigurationError, JobError
from headrace.runners.processes import this_machine
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.owners import Ownership
from headrace.runners.spark.checkpoint.requests import (
    Answer,
    Request,
    RequestKind,
    RequestStatus,
    open_requests,
    put_answer,
)
from headrace.runtime.savepoint.folder import read_manifest, write_manifest, write_savepoint
from headrace.state import SavepointWriter
from tests.goldens import state

GOLDEN = Path(__file__).parents[2] / "goldens" / "0.1.0" / "checkpoint"


def told(*arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def checkpoints(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoints"
    shutil.copytree(GOLDEN, folder)
    return folder


class Driver:
    """Answers requests as a driver does, in a thread; owns the checkpoint meanwhile."""

    def __init__(self, folder: Path, answer: Answer | None) -> None:
        checkpoint = CheckpointFolder(str(folder))
        self.store = checkpoint.signals
        self.asked: list[Request] = []
        self._answer, self._ended = answer, threading.Event()
        self.ownership = Ownership(checkpoint.store, self.store, this_machine())
        self.ownership.acquire("run")
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(0.01):
            for request in [*open_requests(self.store)]:
                self.asked.append(request)
                if self._answer is None:
                    self.ownership.release()
                    return
                put_answer(self.store, request.id, Answer(RequestStatus.RUNNING))
                put_answer(self.store, request.id, self._answer)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self.ownership.release()


@pytest.fixture
def driver(checkpoints: Path, request: pytest.FixtureRequest) -> Iterator[Driver]:
    found = Driver(checkpoints / "golden", request.param)
    yield found
    found.close()


DONE = Answer(RequestStatus.DONE, "/saved/golden-1")


@pytest.mark.parametrize("driver", [DONE], indirect=True)
def test_the_folder_of_a_savepoint_is_all_that_is_printed(
    driver: Driver, checkpoints: Path
) -> None:
    by_name = ["golden", "--dir", str(checkpoints)]
    assert told("savepoint", *by_name, "--to", "/saved") == "/saved/golden-1\n"
    assert told("savepoint", str(checkpoints / "golden")) == "/saved/golden-1\n"
    assert told("stop", *by_name, "--savepoint", "--drain") == "/saved/golden-1\n"
    asked = [(request.kind, request.target, request.drain) for request in driver.asked]
    assert asked == [
        (RequestKind.SAVEPOINT, "/saved", False),
        (RequestKind.SAVEPOINT, None, False),
        (RequestKind.STOP_WITH_SAVEPOINT, None, True),
    ]


@pytest.mark.parametrize(
    "driver", [Answer(RequestStatus.DONE, "/saved/golden-1", pause_ms=1_012)], indirect=True
)
def test_it_is_said_how_long_the_job_waited(driver: Driver, checkpoints: Path) -> None:
    arguments = ["savepoint", "golden", "--dir", str(checkpoints)]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert (done.stdout, done.stderr) == (
        "/saved/golden-1\n",
        "the job waited 1,012 ms for it\n",
    )
    printed = json.loads(told(*arguments, "--json"))
    assert printed == {"savepoint": "/saved/golden-1", "pause-ms": 1_012}


@pytest.mark.parametrize("driver", [DONE], indirect=True)
def test_a_relative_folder_is_that_of_the_command(
    driver: Driver, checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not below the working directory of the driver."""
    monkeypatch.chdir("/")
    printed = told("savepoint", "golden", "--dir", str(checkpoints), "--to", "saved")
    assert printed == "saved/golden-1\n"
    assert [request.target for request in driver.asked] == ["/saved"]


@pytest.mark.parametrize("driver", [Answer(RequestStatus.DONE)], indirect=True)
def test_a_stop_without_a_savepoint_prints_nothing(driver: Driver, checkpoints: Path) -> None:
    assert told("stop", "golden", "--dir", str(checkpoints)) == ""
    (request,) = driver.asked
    assert (request.kind, request.drain) == (RequestKind.STOP, False)


@pytest.mark.parametrize(
    "driver", [Answer(RequestStatus.FAILED, error="StorageError: full")], indirect=True
)
def test_a_refusal_is_told(driver: Driver, checkpoints: Path) -> None:
    with pytest.raises(JobError, match="the job refused the request: StorageError: full"):
        told("savepoint", "golden", "--dir", str(checkpoints))


@pytest.mark.parametrize("driver", [None], indirect=True)
def test_a_job_that_ends_meanwhile_is_told(driver: Driver, checkpoints: Path) -> None:
    with pytest.raises(JobError, match="the job ended before it answered"):
        told("savepoint", "golden", "--dir", str(checkpoints))


def test_a_job_that_does_not_run_is_told(checkpoints: Path) -> None:
    with pytest.raises(JobError, match="the job is not running"):
        told("savepoint", "golden", "--dir", str(checkpoints))
    assert [*open_requests(CheckpointFolder(str(checkpoints / "golden")).store)] == []
    with pytest.raises(ConfigurationError, match="no job 'another' has a checkpoint in"):
        told("stop", "another", "--dir", str(checkpoints))
    with pytest.raises(ConfigurationError, match="there is no checkpoint of a job in"):
        told("stop", str(checkpoints / "another"))
    with pytest.raises(ConfigurationError, match="--to says where"):
        told("stop", "golden", "--dir", str(checkpoints), "--to", "/saved")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "saved" / "golden-1"
    write_savepoint(state.form(), str(folder))
    return folder


def test_savepoints_are_listed_and_shown(saved: Path) -> None:
    assert str(saved) in told("savepoints", "ls", str(saved.parent))
    (listed,) = json.loads(told("savepoints", "ls", str(saved.parent), "--json"))
    shown = json.loads(told("savepoints", "show", str(saved), "--json"))
    assert listed == shown
    assert shown["job"] == "golden" and shown["micro-batch"] == 8
    (operator,) = shown["operators"]
    assert operator["states-count"] > 0 and operator["timers-count"] > 0
    text = told("savepoints", "show", str(saved))
    assert "micro-batch: 8" in text.replace(" " * 2, "") and "sum (value)" in text
    counts = f"{operator['states-count']:,} records of state, {operator['timers-count']:,} timers"
    assert counts in text
    for each in operator["states"]:
        declared = "no type" if each["type"] is None else type_text(each["type"])
        assert f"  {each['name']} ({each['kind']}): {declared}\n" in text


def test_what_an_operator_computes_is_shown(saved: Path) -> None:
    manifest = read_manifest(str(saved))
    (operator,) = manifest.operators
    described = replace(operator, description="GroupAggregate(groupBy=[k])")
    write_manifest(replace(manifest, operators=(described,)), str(saved))
    assert "  GroupAggregate(groupBy=[k])\n" in told("savepoints", "show", str(saved))


@pytest.mark.parametrize(
    "command",
    [
        ["savepoints", "show"],
        ["savepoints", "ls"],
        ["savepoints", "dispose", "-y"],
        ["state", "ls"],
        ["state", "diff", "other"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("name", ["_savepoint", "notes.txt"])
def test_a_file_is_no_savepoint(saved: Path, command: list[str], name: str) -> None:
    file = saved / name
    file.touch()
    with pytest.raises(CheckpointError, match="this is a file, and a savepoint") as refused:
        told(*command[:2], str(file), *command[2:])
    assert refused.value.where == {"file": str(file)}
    hint = refused.value.hint or ""
    assert (f"give the folder of the file, {saved}" == hint) is (name == "_savepoint")
    with pytest.raises(CheckpointError, match="there is no savepoint in this folder"):
        told("savepoints", "show", str(file / "below"))


def test_only_what_belongs_to_a_savepoint_is_removed(saved: Path) -> None:
    other = saved / "notes.txt"
    other.write_text("mine")
    refused = CliRunner().invoke(app, ["savepoints", "dispose", str(saved)], input="n\n")
    assert refused.exit_code == 1 and (saved / "_savepoint").exists()
    told("savepoints", "dispose", str(saved), "--yes")
    assert [path for path in saved.rglob("*") if path.is_file()] == [other]
    assert "no savepoints" in told("savepoints", "ls", str(saved.parent))
    other.unlink()
    write_savepoint(state.form(), str(saved))
    told("savepoints", "dispose", str(saved), "-y")
    assert not saved.exists()


def test_a_savepoint_that_was_made_from_tables_has_no_micro_batch(tmp_path: Path) -> None:
    SavepointWriter.new_savepoint(job_name="orders").write(str(tmp_path / "made"))
    assert "orders  micro-batch none" in told("savepoints", "ls", str(tmp_path))
    assert "micro-batch: none" in told("savepoints", "show", str(tmp_path / "made"))
