"""Savepoints in folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import CheckpointError
from headrace.runtime.savepoint.folder import (
    MANIFEST,
    StoredSavepoint,
    write_savepoint,
)
from headrace.runtime.savepoint.manifest import Manifest, OperatorEntry
from headrace.runtime.savepoint.records import PICKLE, SplitRecord, StateRecord, TimerRecord, encode
from headrace.runtime.savepoint.savepoint import MemorySavepoint, PartWriter, part_name
from headrace.runtime.state.kinds import VALUE, StateKind

OPERATORS = ("sums", "a/b c", "a-b-c")
GROUPS = 5


def state(operator: str, group: int, key: int) -> StateRecord:
    value = encode(key * 10)
    return StateRecord(
        operator, "total", VALUE, PICKLE, group, encode(key), None, 0, None, None, value
    )


def whole() -> MemorySavepoint:
    parts = PartWriter()
    for operator in OPERATORS:
        for group in range(GROUPS):
            states = [state(operator, group, key) for key in range(group, 40, GROUPS)]
            parts.put(part_name("states", operator, group), states)
            timers = [TimerRecord(operator, "event", group, 7, 0, encode(group), None)]
            parts.put(part_name("timers", operator, group), timers)
    parts.put("splits", [SplitRecord("0", "a", 5, b"x")])
    entries = tuple(
        OperatorEntry(operator, "keyed process", "Sums", None, GROUPS, {"total": StateKind(VALUE)})
        for operator in OPERATORS
    )
    manifest = Manifest("job", GROUPS, 7, entries, {"epoch": 7}, parts.checksums, scope="abc")
    return MemorySavepoint(manifest, parts.records)


def test_every_part_comes_back_from_a_folder(tmp_path: Path) -> None:
    before, folder = whole(), str(tmp_path / "saved")
    write_savepoint(before, folder)
    after = StoredSavepoint(folder)
    assert after.manifest.operators == before.manifest.operators
    assert after.manifest.scope == "abc"
    assert {*after.manifest.parts} == {*before.manifest.parts}
    for name in before.manifest.parts:
        assert [*after.read(name)] == [*before.read(name)]
    assert [*after.read("sinks")] == []
    assert after.read_keyed_state("a/b c", 3) == before.read_keyed_state("a/b c", 3)


def test_a_second_savepoint_in_a_folder_is_refused(tmp_path: Path) -> None:
    write_savepoint(whole(), str(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="this is a file, and a savepoint is a folder"):
        write_savepoint(whole(), str(tmp_path / "file"))
    with pytest.raises(CheckpointError, match="there is a savepoint in this folder already"):
        write_savepoint(whole(), str(tmp_path))


def test_a_folder_without_a_manifest_is_no_savepoint(tmp_path: Path) -> None:
    write_savepoint(whole(), str(tmp_path))
    (tmp_path / MANIFEST).unlink()
    with pytest.raises(CheckpointError, match="there is no savepoint in this folder"):
        StoredSavepoint(str(tmp_path))


@pytest.mark.parametrize("damage", ["missing", "cut", "changed", "manifest"])
def test_damage_is_found(tmp_path: Path, damage: str) -> None:
    write_savepoint(whole(), str(tmp_path))
    (path, *_) = [each for each in (tmp_path / "states").rglob("*.parquet") if "sums" in str(each)]
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(data[:-9])
    elif damage == "changed":
        at = len(data) // 2
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    else:
        manifest = (tmp_path / MANIFEST).read_bytes()
        (tmp_path / MANIFEST).write_bytes(manifest.replace(b'"epoch": 7', b'"epoch": 8'))
    with pytest.raises(CheckpointError) as raised:
        [*StoredSavepoint(str(tmp_path)).read(part_name("states", "sums", 2))]
    assert str(path) in str(raised.value) or damage == "manifest"
