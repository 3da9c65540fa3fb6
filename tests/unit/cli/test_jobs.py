"""``headrace jobs`` tells of the jobs that have a checkpoint in a folder."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.cli.jobs import _unread_text
from headrace.connector import Pending
from headrace.errors import ConfigurationError
from headrace.runners.processes import this_machine
from headrace.runners.spark.checkpoint.layout import BEGUN, CheckpointFolder
from headrace.runners.spark.checkpoint.listing import stored_jobs
from headrace.runners.spark.checkpoint.owners import Ownership

GOLDEN = Path(__file__).parents[2] / "goldens" / "0.1.0" / "checkpoint"


@pytest.fixture
def checkpoints(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoints"
    shutil.copytree(GOLDEN, folder)
    (folder / "not a checkpoint").mkdir()
    (folder / "a file").write_text("")
    return folder


def told(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["jobs", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_jobs_are_listed(checkpoints: Path) -> None:
    head, line = told("--dir", str(checkpoints)).splitlines()
    assert head.split()[:3] == ["name", "state", "micro-batch"]
    assert line.split()[:3] == ["golden", "stopped", "2"]


def test_a_job_is_shown(checkpoints: Path) -> None:
    text = told("--dir", str(checkpoints), "show", "golden")
    assert text == told("show", "golden", "--dir", str(checkpoints))
    assert "source numbers: watermark" in text and "  sequence: 120" in text
    assert "operator 'KeyedProcess'" in text


def test_it_is_told_what_is_unread(checkpoints: Path) -> None:
    folder = str(checkpoints)
    assert "  -  " in told("--dir", folder).splitlines()[1]  # older versions did not log it
    (log,) = (checkpoints / "golden" / "spark").rglob("offsets/2")  # the last that is committed
    version, head, offset = log.read_text().split("\n")
    plain = json.loads(offset)
    plain["sources"]["numbers"] |= {"unread": 2_200_000, "unread_bytes": 5}
    log.write_text("\n".join((version, head, json.dumps(plain))))
    log.with_name(".2.crc").unlink()
    assert "  2.2M  " in told("--dir", folder).splitlines()[1]
    assert ", unread 2.2M\n" in told("show", "golden", "--dir", folder)
    (listed,) = json.loads(told("--dir", folder, "--json"))
    assert listed["unread"] == {"numbers": {"records": 2_200_000, "bytes": 5}}


def test_unread_bytes_are_told_only_of_sources_that_do_not_know_records() -> None:
    assert _unread_text([]) == "-"
    assert _unread_text([Pending(0)]) == "0"
    assert _unread_text([Pending(None, 2048), Pending(None, 1024)]) == "3 KiB"
    assert _unread_text([Pending(7, 2048), Pending(5), Pending(None, 1024)]) == "12 and 1 KiB"


def test_json_has_all_of_it(checkpoints: Path) -> None:
    (listed,) = json.loads(told("--dir", str(checkpoints), "--json"))
    shown = json.loads(told("show", "golden", "--dir", str(checkpoints), "--json"))
    assert listed == shown
    assert (shown["micro-batch"], shown["host"], shown["pid"]) == (2, "host", 1)
    assert shown["positions"] == {"numbers": {"sequence": 120}}
    assert shown["lag-ms"] == shown["at-ms"] - shown["watermarks-ms"]["numbers"]
    assert shown["size-bytes"] > 1000 and shown["problem"] is None


def test_the_folder_may_come_from_the_settings(
    checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"execution.checkpointing.dir": str(checkpoints)}
    monkeypatch.setenv("HEADRACE_SETTINGS", json.dumps(settings))
    assert "golden" in told()


def test_without_a_folder_it_is_said_how_to_give_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_SETTINGS", raising=False)
    with pytest.raises(ConfigurationError, match="no folder of checkpoints is given"):
        told()


def test_an_empty_folder_has_no_jobs(tmp_path: Path) -> None:
    assert told("--dir", str(tmp_path)).startswith("no job has a checkpoint in ")
    assert json.loads(told("--dir", str(tmp_path), "--json")) == []


@pytest.mark.parametrize("command", [[], ["--json"], ["show", "golden"]])
def test_a_folder_that_cannot_be_read_is_an_error(checkpoints: Path, command: list[str]) -> None:
    folder = str(checkpoints / "a file")
    with pytest.raises(ConfigurationError, match="cannot be read") as error:
        told("--dir", folder, *command)
    assert error.value.where == {"folder": folder}


def test_a_job_that_is_not_there_is_an_error(checkpoints: Path) -> None:
    with pytest.raises(ConfigurationError, match="no job 'other'") as error:
        told("show", "other", "--dir", str(checkpoints))
    assert "golden" in str(error.value)


def test_a_job_with_a_driver_is_running(checkpoints: Path) -> None:
    folder = CheckpointFolder(str(checkpoints / "golden"))
    ownership = Ownership(folder.store, folder.signals, this_machine())
    ownership.acquire("run")
    assert [job.state for job in stored_jobs(str(checkpoints))] == ["running"]
    ownership.release()
    assert [job.state for job in stored_jobs(str(checkpoints))] == ["stopped"]


def test_a_job_whose_driver_was_killed_has_died(checkpoints: Path) -> None:
    folder = CheckpointFolder(str(checkpoints / "golden"))
    own = this_machine()
    ended = replace(own, current_pid=1 << 22, began=lambda _: "earlier")  # above every process id
    Ownership(folder.store, folder.signals, ended).acquire("run")
    text = told("--dir", str(checkpoints))
    assert text.splitlines()[1].split()[:2] == ["golden", "died"]
    assert "died: its process was killed" in told("show", "golden", "--dir", str(checkpoints))
    (listed,) = json.loads(told("--dir", str(checkpoints), "--json"))
    assert listed["state"] == "died"
    next_one = Ownership(folder.store, folder.signals, own)
    next_one.acquire("next")
    next_one.release()
    assert told("--dir", str(checkpoints)).splitlines()[1].split()[:2] == ["golden", "stopped"]


def test_a_job_that_was_killed_before_its_first_micro_batch_has_died(checkpoints: Path) -> None:
    golden = checkpoints / "golden"
    folder = CheckpointFolder(str(golden))
    shutil.rmtree(golden / "spark")
    folder.store.delete(BEGUN)
    ended = replace(this_machine(), current_pid=1 << 22, began=lambda _: "earlier")
    ownership = Ownership(folder.store, folder.signals, ended)
    ownership.acquire("run")
    assert [job.state for job in stored_jobs(str(checkpoints))] == ["died"]
    ownership.release()
    assert [job.state for job in stored_jobs(str(checkpoints))] == ["new"]


def test_a_damaged_checkpoint_is_listed_with_its_problem(checkpoints: Path) -> None:
    (checkpoints / "golden" / "job").write_bytes(b"{}")
    (job,) = stored_jobs(str(checkpoints))
    assert job.state == "damaged" and job.problem.startswith("CheckpointError")
    assert "problem:" in told("show", "golden", "--dir", str(checkpoints))


def test_nothing_in_the_folder_changes(checkpoints: Path) -> None:
    def contents() -> dict[str, tuple[int, int]]:
        files = (each for each in checkpoints.rglob("*") if each.is_file())
        return {str(each): (each.stat().st_size, each.stat().st_mtime_ns) for each in files}

    before = contents()
    told("--dir", str(checkpoints))
    assert contents() == before
