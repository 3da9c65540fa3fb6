from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO

import pytest

from headrace.common._storage import remote
from headrace.common._storage.file_store import FileStore
from headrace.common._storage.file_system import ListedFile
from headrace.common._storage.remote import Entry, RangeReader, RemoteFiles
from headrace.errors import StorageError


class MemoryFiles(RemoteFiles):
    """Files in a dictionary. ``reads``: the ranges asked for. ``fails``: whether reads do.

    ``mtimes_ms``: times other than 0.
    """

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.mtimes_ms: dict[str, int] = {}
        self.reads: list[tuple[int, int]] = []
        self.fails = False

    def store(self, path: str, content: IO[bytes]) -> None:
        content.seek(0)
        self.content[path] = content.read()

    def replace(self, path: str, data: bytes) -> None:
        self.content[path] = data

    def put_if_absent(self, path: str, data: bytes) -> bool:
        return self.content.setdefault(path, data) is data

    def publish(self, source: str, target: str) -> bool:
        raise NotImplementedError

    def read(self, path: str) -> bytes | None:
        return self.content.get(path)

    def read_range(self, path: str, start: int, length: int) -> bytes:
        self.reads.append((start, length))
        if self.fails:
            raise ConnectionResetError("the peer is gone")
        return self.content[path][start : start + length]

    def remove(self, path: str) -> None:
        self.content.pop(path, None)

    def remove_folder(self, path: str) -> None:
        raise NotImplementedError

    def is_folder(self, path: str) -> bool:
        return any(each.startswith(f"{path}/") for each in self.content)

    def stat(self, path: str) -> Iterator[ListedFile]:
        if path in self.content:
            yield ListedFile(path, len(self.content[path]), 0)

    def entries(self, folder: str) -> list[Entry]:
        below = [path[len(folder) + 1 :] for path in self.content if path.startswith(f"{folder}/")]
        files = [
            Entry(name, False, len(self.content[f"{folder}/{name}"]))
            for name in below
            if "/" not in name
        ]
        folders = {name.partition("/")[0] for name in below if "/" in name}
        return sorted(
            [*files, *(Entry(name, True) for name in folders)], key=lambda each: each.name
        )

    def all_files(self, folder: str) -> list[ListedFile]:
        return [
            ListedFile(path, len(data), self.mtimes_ms.get(path, 0))
            for path, data in sorted(self.content.items())
            if path.startswith(f"{folder}/")
        ]


def test_reads_grow_in_sequence_and_are_small_after_a_jump() -> None:
    files = MemoryFiles()
    files.content["x"] = bytes(range(251)) * 80_000
    with files.open("x") as file:
        whole = b"".join(iter(lambda: file.read(100_000), b""))
        assert whole == files.content["x"]
        sizes = [length for _, length in files.reads]
        assert sizes[0] <= 1 << 17 and max(sizes) == remote.READ_BYTES
        assert sum(sizes) == len(whole), "nothing is fetched twice"
        files.reads.clear()
        file.seek(5_000_000)
        assert file.read(10) == whole[5_000_000:5_000_010]
        assert files.reads == [(5_000_000, remote.FIRST_READ_BYTES)]


def test_a_failed_read_does_not_look_like_a_damaged_file() -> None:
    files = MemoryFiles()
    files.content["x"] = b"content"
    with files.open("x") as file:
        files.fails = True
        with pytest.raises(StorageError, match="could not be read: the peer is gone") as caught:
            file.read()
    assert not isinstance(caught.value, OSError) and caught.value.where == {"file": "x"}


def test_a_file_that_shrinks_is_an_error() -> None:
    files = MemoryFiles()
    files.content["x"] = b"content"
    reader = io.BufferedReader(RangeReader(files, "x", 20))
    with pytest.raises(StorageError, match="returned 7 of 20 bytes at position 0"):
        reader.read()


def test_what_is_not_synced_is_not_stored() -> None:
    files = MemoryFiles()
    with files.create("x") as file:
        file.write(b"content")
    assert "x" not in files.content
    with files.create("x") as file:
        file.write(b"con")
        files.sync(file)
        file.write(b"tent")
        files.sync(file)
    assert files.content["x"] == b"content"


def test_a_log_is_a_few_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "SEGMENT_BYTES", 10)
    files = MemoryFiles()
    for number in range(12):
        files.append("log", f"{number:02d} \n".encode())
    assert files.read_log("log") == b"".join(f"{number:02d} \n".encode() for number in range(12))
    assert [*files.content] == ["log/00000000", "log/00000001", "log/00000002", "log/00000003"]
    with pytest.raises(io.UnsupportedOperation):
        files.cut_log("log", 3)


def test_a_draft_is_old_by_the_clock_of_the_storage() -> None:
    day_ms = 86_400_000
    files = MemoryFiles()
    files.mtimes_ms = {
        "hdfs://nn/job/owners/.draft-old-7": 1,
        "hdfs://nn/job/owners/.draft-new-8": day_ms,
        "hdfs://nn/job/owners/8": day_ms + 2,
    }
    files.content = dict.fromkeys(files.mtimes_ms, b"x")
    FileStore("hdfs://nn/job", files).tidy()
    assert [*files.content] == [*files.mtimes_ms][1:]
