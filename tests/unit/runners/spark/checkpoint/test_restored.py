"""Restored state in a checkpoint: whole, or an error that names the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.common._storage.sealed import ObjectFormat, put_json
from headrace.errors import CheckpointError
from headrace.runners.spark.checkpoint import restored
from headrace.runners.spark.checkpoint.layout import RESTORED, CheckpointFolder, is_restored


@pytest.fixture
def place(tmp_path: Path) -> CheckpointFolder:
    made = CheckpointFolder(str(tmp_path))
    writer = restored.RestoredWriter(made.spark(RESTORED), "part-0")
    writer.add(7, 1, "sum/0/p", b"records" * 100)
    restored.record_files(made, writer.close())
    return made


def test_what_is_whole_is_taken(place: CheckpointFolder) -> None:
    restored.check_restored(place)
    assert place.generations() == [RESTORED]
    assert is_restored(place.spark(RESTORED)) and not is_restored(place.spark(0))


def test_a_file_of_an_older_build_is_taken(place: CheckpointFolder) -> None:
    (file,) = restored.restored_files(place)
    about = ObjectFormat("restored state")
    put_json(place.store, "restored/_about", about, {"sha256": file.sha256})
    restored.check_restored(place)
    assert [each.name for each in restored.restored_files(place)] == ["part-0.parquet"]


def test_it_does_not_count_before_it_is_said_to_be_whole(tmp_path: Path) -> None:
    place = CheckpointFolder(str(tmp_path))
    Path(place.spark(RESTORED)).mkdir()
    with pytest.raises(CheckpointError, match="the list of files of the restored state"):
        restored.check_restored(place)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def flipped(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("name", ["part-0.parquet", "_about"])
@pytest.mark.parametrize("harm", [Path.unlink, cut, flipped])
def test_damage_is_reported_with_the_file(
    place: CheckpointFolder, name: str, harm: Callable[[Path], None]
) -> None:
    file = Path(place.spark(RESTORED)) / name
    harm(file)
    with pytest.raises(CheckpointError) as caught:
        restored.check_restored(place)
    assert str(file) in str(caught.value)
