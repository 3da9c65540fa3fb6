"""The contract of object stores, for each of them; and what a crash leaves in a folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common._storage import folder_store
from headrace.common._storage.folder_store import FolderStore
from headrace.common._storage.memory_store import MemoryStore
from headrace.common._storage.object_store import ObjectStore
from headrace.errors import CheckpointError
from tests.contract.object_store import ObjectStoreContract


class TestMemoryStore(ObjectStoreContract):
    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()

    def again(self, store: ObjectStore) -> ObjectStore:
        return store

    def new(self) -> ObjectStore:
        return MemoryStore()


class TestFolderStore(ObjectStoreContract):
    durable = True

    @pytest.fixture
    def store(self, tmp_path: Path) -> ObjectStore:
        return FolderStore(str(tmp_path / "not" / "there yet"), self.durable)

    def again(self, store: ObjectStore) -> ObjectStore:
        return FolderStore(store.location(""), self.durable)

    def new(self) -> ObjectStore:
        self._kept = tempfile.TemporaryDirectory()
        return FolderStore(self._kept.name, self.durable)


class TestFolderStoreThatIsNotSynced(TestFolderStore):
    durable = False


class Crash(BaseException):
    """The process is gone: nothing that it calls happens any more."""


class DyingOs:
    """The module ``os`` up to one call that changes something, and no such call after it.

    A write is kept by the system: only a crash before, not in the middle of it, is of this process.
    """

    CHANGES = ("replace", "link", "unlink", "makedirs", "fsync")

    def __init__(self, calls: int, done: bool) -> None:
        self.left, self._done = calls, done
        self.made: list[str] = []

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in self.CHANGES:
            return real

        def call(*arguments: Any, **named: Any) -> Any:
            self.made.append(name)
            self.left -= 1
            if self.left == 0 and self._done:
                real(*arguments, **named)
            if self.left <= 0:
                raise Crash
            return real(*arguments, **named)

        return call


def crashes(monkeypatch: pytest.MonkeyPatch, do: Any) -> Iterator[None]:
    """Do something once for each crash at one of its calls, before and after the call."""
    for done in (False, True):
        for calls in range(1, 100):
            dying = DyingOs(calls, done)
            with monkeypatch.context() as patched:
                patched.setattr(folder_store, "os", dying)
                try:
                    do()
                except Crash:
                    pass
                else:
                    assert calls > 4, "the calls were not counted"
                    break
            yield
        else:
            raise AssertionError("it never came to an end")


def test_a_crash_leaves_the_old_object_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()

    def put() -> None:
        FolderStore(str(tmp_path)).put("log/n", b"new")

    FolderStore(str(tmp_path)).put("log/n", b"old")
    for _ in crashes(monkeypatch, put):
        store = FolderStore(str(tmp_path))
        assert store.list() == ["log/n"]
        seen.add(store.get("log/n"))
        store.put("log/n", b"old")
    assert seen == {b"old", b"new"}


def test_a_crash_leaves_no_object_or_the_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()

    def put() -> None:
        FolderStore(str(tmp_path)).put_if_absent("log/n", b"new")

    for _ in crashes(monkeypatch, put):
        store = FolderStore(str(tmp_path))
        seen.add(store.get("log/n"))
        was_absent = store.get("log/n") is None
        assert store.put_if_absent("log/n", b"other") is was_absent
        store.delete("log/n")
    assert seen == {None, b"new"}


def test_file_and_folders_are_synced_before_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("missing: /proc, which Linux has")
    monkeypatch.setattr(os, "fsync", noted)
    FolderStore(str(tmp_path / "job")).put("splits/1", b"x")
    top = str(tmp_path)
    assert synced[:3] == [f"{top}/job", top, synced[2]] and ".drafts" in synced[2]
    assert synced[3:] == [f"{top}/job/splits"]
    synced.clear()
    FolderStore(str(tmp_path / "job")).put_if_absent("splits/3", b"x")
    assert len(synced) == 2 and synced[1] == f"{top}/job/splits"
    synced.clear()
    FolderStore(str(tmp_path / "job")).tidy()
    assert synced == [f"{top}/job", top]
    synced.clear()
    FolderStore(str(tmp_path / "job"), durable=False).put("splits/2", b"x")
    assert synced == []


def test_what_a_crash_left_goes_after_a_day(tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path))
    store.put("n", b"x")
    drafts = tmp_path / ".drafts"
    old, new = drafts / "old", drafts / "new"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    store.tidy()
    assert list(drafts.iterdir()) == [new] and store.list() == ["n"]


def test_a_link_whose_answer_was_lost_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def repeated(source: str, target: str) -> None:
        link(source, target)
        link(source, target)

    monkeypatch.setattr(os, "link", repeated)
    store = FolderStore(str(tmp_path))
    assert store.put_if_absent("n", b"x") and store.get("n") == b"x"


def test_an_error_of_a_location_names_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(CheckpointError, match="cannot be written") as caught:
        FolderStore(str(tmp_path / "file")).put("n", b"")
    assert caught.value.where["object"] == str(tmp_path / "file" / "n")
    with pytest.raises(CheckpointError, match="cannot be read: Is a directory"):
        FolderStore(str(tmp_path)).get("folder")
