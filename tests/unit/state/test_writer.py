"""New savepoints, as far as no table is in them; jobs of the local runner begin from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Types
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import CheckpointError, ConfigurationError, UnsupportedError
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.savepoint.folder import StoredSavepoint, read_manifest, write_savepoint
from headrace.runtime.savepoint.manifest import OperatorEntry
from headrace.runtime.savepoint.records import StateRecord, encode
from headrace.runtime.savepoint.savepoint import MemorySavepoint, part_name
from headrace.runtime.state.kinds import VALUE, StateKind
from headrace.state import SavepointWriter
from headrace.state._writer import _kind_of

TOTAL = ValueStateDescriptor("total", Types.LONG())


class Adds(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(TOTAL)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.total.update((self.total.value() or 0) + value)
        yield self.total.value()


def results(savepoint: Path) -> list[int]:
    """What a job yields for 1, 2, 3, of one key each, that begins from a savepoint."""
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {"execution.target": "local", "execution.state-recovery.path": str(savepoint)}
        )
    )
    numbers = env.from_collection([1, 2, 3], Types.LONG()).uid("numbers")
    added = numbers.key_by(lambda v: v).process(Adds(), Types.LONG()).uid("adds")
    return list(added.execute_and_collect())


def with_state(folder: Path, uid: str = "adds") -> str:
    """A savepoint that has the total 100 for the key 2 of an operator without a kind."""
    SavepointWriter.new_savepoint(4).write(str(folder / "empty"))
    entry = OperatorEntry(uid, "", uid, uid, 4, {"total": StateKind(VALUE, {"type": "LONG"})})
    manifest = replace(read_manifest(str(folder / "empty")), operators=(entry,))
    savepoint, group = MemorySavepoint(manifest, {}), key_group_of(2, 4)
    record = StateRecord(
        uid, "total", VALUE, "pickle", group, encode(2), None, 0, None, None, encode(100)
    )
    savepoint.add(part_name("states", uid, group), [record])
    write_savepoint(savepoint, str(folder / uid))
    return str(folder / uid)


def test_a_job_begins_from_an_empty_savepoint(tmp_path: Path) -> None:
    SavepointWriter.new_savepoint().write(str(tmp_path / "empty"))
    assert results(tmp_path / "empty") == [1, 2, 3]


def test_a_source_begins_at_a_position(tmp_path: Path) -> None:
    writer = SavepointWriter.new_savepoint().with_source_positions("numbers", {"collection": 2})
    writer.write(str(tmp_path / "later"))
    assert results(tmp_path / "later") == [3]


def test_an_operator_of_any_kind_takes_the_state_of_its_uid(tmp_path: Path) -> None:
    assert sorted(results(Path(with_state(tmp_path)))) == [1, 3, 102]
    with pytest.raises(CheckpointError, match="no operator 'nobody'"):
        results(Path(with_state(tmp_path / "other", "nobody")))


def test_what_is_not_changed_is_copied(tmp_path: Path) -> None:
    before = with_state(tmp_path)
    SavepointWriter.from_existing_savepoint(before).write(str(tmp_path / "copy"))
    manifests = [read_manifest(before), read_manifest(str(tmp_path / "copy"))]
    assert manifests[0] == replace(manifests[1], created_ms=manifests[0].created_ms)
    stored = StoredSavepoint(str(tmp_path / "copy"))
    assert [len([*stored.read(name)]) for name in stored.manifest.parts] == [1]
    assert sorted(results(tmp_path / "copy")) == [1, 3, 102]

    (file,) = (path for path in manifests[0].files)
    with pytest.raises(CheckpointError, match="there is a savepoint in this folder already"):
        SavepointWriter.from_existing_savepoint(before).write(before)
    (Path(before) / file).write_bytes(b"damaged")
    with pytest.raises(CheckpointError, match="a file of the savepoint is damaged"):
        SavepointWriter.from_existing_savepoint(before).write(str(tmp_path / "of damaged"))
    (Path(before) / file).unlink()
    with pytest.raises(CheckpointError, match="a file of the savepoint is missing"):
        SavepointWriter.from_existing_savepoint(before).write(str(tmp_path / "of missing"))


def test_an_operator_is_left_out(tmp_path: Path) -> None:
    writer = SavepointWriter.from_existing_savepoint(with_state(tmp_path))
    writer.remove_operator("adds").write(str(tmp_path / "without"))
    manifest = read_manifest(str(tmp_path / "without"))
    assert (manifest.operators, manifest.parts, manifest.files) == ((), {}, {})


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    writer = SavepointWriter.from_existing_savepoint(with_state(tmp_path))
    frame: Any = None
    with pytest.raises(ConfigurationError, match="'adds' has no state 'none'") as refused:
        writer.with_state("adds", "none", frame)
    assert "its states: total" in str(refused.value.hint)
    with pytest.raises(ConfigurationError, match="no operator has the uid 'nobody'"):
        writer.with_state("nobody", "total", frame)
    with pytest.raises(ConfigurationError, match="'adds' has no state 'none'"):
        writer.remove_state("adds", "none")
    with pytest.raises(ConfigurationError, match="no operator has the uid 'nobody'"):
        writer.remove_operator("nobody")
    with pytest.raises(UnsupportedError, match="the source positions of a job"):
        writer.with_source_positions("numbers", {"collection": 1})
    with pytest.raises(ConfigurationError, match="max_parallelism is 0"):
        SavepointWriter.new_savepoint(0)


def test_a_state_from_a_table_has_the_version_of_its_descriptor() -> None:
    """Its values are of the program's version, so that they are not migrated again."""
    descriptor = ValueStateDescriptor("total", Types.LONG())
    descriptor.migrate(lambda value: value * 100, version=2)
    assert _kind_of(descriptor).version == 2
