"""Which files of Spark's state a version needs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.common._storage.sealed import get_json, put_json
from headrace.errors import CheckpointError
from headrace.runners.spark.checkpoint import pins, retained
from headrace.runners.spark.checkpoint.layout import RETAINED, CheckpointFolder
from headrace.runners.spark.checkpoint.metadata import CheckpointMetadata
from headrace.runners.spark.checkpoint.pins import (
    make_pin,
    needed_files,
    read_pin,
    with_own_state,
)
from headrace.runners.spark.checkpoint.progress import log_of
from headrace.runners.spark.checkpoint.retained import (
    complete_restore,
    prune,
    restore,
    restore_points,
)
from tests.goldens import VERSIONS

CLOCK = {"time_ns": lambda: 7_000_000_000}


def names(*versions: str) -> list[str]:
    return [f"{version}.crc" for version in versions] + [*versions]


def test_a_version_needs_its_changes_since_a_snapshot() -> None:
    files = names(*(f"{n}_a.changelog" for n in range(1, 9)), "2_a.zip", "4_a.zip", "7_a.zip")
    needed = needed_files([*files, "x.tmp", "000001-a.sst"], 6)
    assert {name for name in needed if not name.endswith(".crc")} == {
        "2_a.changelog",
        "2_a.zip",
        "3_a.changelog",
        "4_a.changelog",
        "4_a.zip",
        "5_a.changelog",
        "6_a.changelog",
        "000001-a.sst",
    }
    assert "5_a.changelog.crc" in needed and "7_a.zip.crc" not in needed


def test_without_a_snapshot_a_version_needs_all_changes() -> None:
    files = [f"{n}_a.changelog" for n in range(1, 9)]
    assert needed_files(files, 3) == files[:3]


def test_files_of_hadoops_checksums_go_with_their_file() -> None:
    files = [".3_a.changelog.crc", ".3_a.changelog.crc.crc", ".9_a.changelog.crc"]
    assert needed_files(files, 3) == files[:2]


@pytest.fixture
def checkpoint(tmp_path: Path) -> CheckpointFolder:
    """A checkpoint that a job of an earlier version left, without its planned micro-batch."""
    target = tmp_path / "golden"
    shutil.copytree(VERSIONS[0] / "checkpoint" / "golden", target)
    checkpoint = CheckpointFolder(str(target))
    spark = Path(checkpoint.spark(0))
    last = log_of(str(spark)).committed
    for path in (spark / "offsets").iterdir():
        number = path.name.removeprefix(".").removesuffix(".crc")
        if number.isdigit() and int(number) > last:
            path.unlink()
    return checkpoint


def pin_of(checkpoint: CheckpointFolder, name: str) -> None:
    metadata = CheckpointMetadata.read(checkpoint.store)
    assert metadata is not None
    log = log_of(checkpoint.spark(metadata.generation.number))
    assert log.end is not None
    number = metadata.generation.number
    assert make_pin(checkpoint, name, number, log.end["epoch"], {}) is not None


def content(folder: str) -> Mapping[str, bytes]:
    top = Path(folder)
    left_out = ("owners", "leases", "committing", "retained", ".drafts", "requests")
    return {
        str(path.relative_to(top)): path.read_bytes()
        for path in sorted(top.rglob("*"))
        if path.is_file() and path.relative_to(top).parts[0] not in left_out
    }


def test_a_restore_point_replaces_the_checkpoint(checkpoint: CheckpointFolder) -> None:
    pin_of(checkpoint, f"{RETAINED}/1")
    (point,) = restore_points(checkpoint)
    spark = Path(checkpoint.spark(0))
    last = max(int(path.name) for path in (spark / "commits").iterdir() if path.name.isdigit())
    assert point.micro_batch == last
    before, metadata = content(checkpoint.directory), CheckpointMetadata.read(checkpoint.store)
    (spark / "commits" / str(last)).write_bytes(b"damaged")
    for path in (spark / "state").rglob("*.changelog"):
        path.unlink()
    restore(checkpoint, None)
    after = content(checkpoint.directory)
    assert CheckpointMetadata.read(checkpoint.store) == metadata
    for name in ("begun", f"spark/commits/{last}", f"spark/offsets/{last}"):
        assert after[name] == before[name]
    states = [name for name in after if name.endswith((".changelog", ".zip", ".sst"))]
    assert states and all(after[name] == before[name] for name in states)
    assert [p.micro_batch for p in restore_points(checkpoint)] == [last]


def test_a_pin_knows_how_long_the_job_waited_for_it(
    checkpoint: CheckpointFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter((5.0, 5.012))
    monkeypatch.setattr(pins, "time", SimpleNamespace(monotonic=lambda: next(moments), **CLOCK))
    pin_of(checkpoint, f"{RETAINED}/1")
    pin = read_pin(checkpoint, f"{RETAINED}/1")
    assert pin is not None and (pin.pause_ms, pin.made_ms) == (12, 7_000)
    own = with_own_state(pin)
    assert read_pin(checkpoint, f"{RETAINED}/1") == own and own.pause_ms == 12


def test_a_pin_of_an_earlier_version_is_read(checkpoint: CheckpointFolder) -> None:
    pin_of(checkpoint, f"{RETAINED}/1")
    store = CheckpointFolder(f"{checkpoint.directory}/{RETAINED}/1").store
    about = get_json(store, "pin", pins._PIN)
    assert about is not None
    del about["pause_ms"]
    put_json(store, "pin", pins._PIN, about)
    found = read_pin(checkpoint, f"{RETAINED}/1")
    assert found is not None and found.pause_ms == 0


def test_a_restore_that_was_cut_off_is_completed(
    checkpoint: CheckpointFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin_of(checkpoint, f"{RETAINED}/1")
    before = CheckpointMetadata.read(checkpoint.store)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(retained, "copy_pin", killed)
    with pytest.raises(KeyboardInterrupt):
        restore(checkpoint, None)
    assert checkpoint.store.get("job") is None
    monkeypatch.undo()
    complete_restore(checkpoint)
    complete_restore(checkpoint)  # nothing is left to do
    assert CheckpointMetadata.read(checkpoint.store) == before


def test_a_damaged_restore_point_is_passed_over_and_named(checkpoint: CheckpointFolder) -> None:
    pin_of(checkpoint, f"{RETAINED}/1")
    pin_of(checkpoint, f"{RETAINED}/2")
    for path in Path(checkpoint.directory, RETAINED, "2").rglob("*.changelog"):
        data = path.read_bytes()
        path.unlink()  # the file of the checkpoint is the same one
        path.write_bytes(data[:-3])
    assert restore(checkpoint, None).folder.endswith("/1")
    for path in Path(checkpoint.directory, RETAINED, "1").rglob("*.changelog"):
        path.unlink()
    with pytest.raises(CheckpointError, match="no restore point without damage") as raised:
        restore(checkpoint, None)
    assert ".changelog" in str(raised.value)
    with pytest.raises(CheckpointError, match="there is no restore point 99"):
        restore(checkpoint, 99)


def test_old_and_incomplete_restore_points_are_removed(checkpoint: CheckpointFolder) -> None:
    for number in (1, 2, 3):
        pin_of(checkpoint, f"{RETAINED}/{number}")
    os.unlink(Path(checkpoint.directory, RETAINED, "3", "pin"))
    prune(checkpoint, 1)
    assert [path.name for path in Path(checkpoint.directory, RETAINED).iterdir()] == ["2"]
    assert read_pin(checkpoint, f"{RETAINED}/3") is None


def test_as_many_restore_points_stay_as_are_to_be_kept(checkpoint: CheckpointFolder) -> None:
    for number in (1, 2, 3, 4):
        pin_of(checkpoint, f"{RETAINED}/{number}")
        prune(checkpoint, 3)
        names = sorted(path.name for path in Path(checkpoint.directory, RETAINED).iterdir())
        assert names == [str(kept) for kept in range(max(1, number - 2), number + 1)]
