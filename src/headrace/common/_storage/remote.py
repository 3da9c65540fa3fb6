"""File systems that are reached over the network: uploads of whole files, reads of ranges."""

from __future__ import annotations

import glob
import io
import posixpath
import re
import tempfile
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import translate
from typing import IO, Any, cast

from headrace.common._storage.file_system import FileSystem, ListedFile, is_hidden
from headrace.errors import StorageError

SPOOL_BYTES = 16 << 20
"""A file that is written is kept in memory up to this size, and above it on the local disk."""

FIRST_READ_BYTES, READ_BYTES = 1 << 16, 8 << 20
"""How much the first read of an open file fetches, and how much a later one in sequence."""

DRAFT = ".draft-"
"""The beginning of the names of files that will be renamed."""

SEGMENT_BYTES = 1 << 20
"""A log begins a new object when its last one has reached this size."""


@dataclass(frozen=True)
class Entry:
    """A name in a folder. Folders have no size and no time."""

    name: str
    is_folder: bool
    size_bytes: int = 0
    mtime_ms: int = 0


class Upload(io.RawIOBase):
    """A file that is written locally; ``RemoteFiles.sync`` stores it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.content = tempfile.SpooledTemporaryFile(SPOOL_BYTES)  # noqa: SIM115 - closed below

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Write locally, and return the number of bytes."""
        return self.content.write(data)

    def tell(self) -> int:
        """Return the number of bytes that were written."""
        return self.content.tell()

    def close(self) -> None:
        """Remove the local content."""
        if not self.closed:
            self.content.close()
        super().close()


class RangeReader(io.RawIOBase):
    """A seekable file whose reads fetch ranges: small ones at first, larger ones in sequence.

    A failure of the storage is no ``OSError`` here: formats take one for a damaged file.
    """

    def __init__(self, files: RemoteFiles, path: str, size_bytes: int) -> None:
        self._files, self._path, self._size = files, path, size_bytes
        self._position = 0
        self._fetched, self._start, self._ahead = b"", 0, FIRST_READ_BYTES

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Read from what was fetched, or fetch a range."""
        wanted = min(len(buffer), self._size - self._position)
        if wanted <= 0:
            return 0
        at = self._position - self._start
        if not 0 <= at < len(self._fetched):
            self._fetch(wanted)
            at = 0
        data = self._fetched[at : at + wanted]
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def _fetch(self, wanted: int) -> None:
        in_sequence = self._fetched and self._position == self._start + len(self._fetched)
        self._ahead = min(2 * self._ahead, READ_BYTES) if in_sequence else FIRST_READ_BYTES
        length = min(max(wanted, self._ahead), self._size - self._position)
        try:
            data = self._files.read_range(self._path, self._position, length)
        except OSError as error:
            raise _unread_error(self._path, str(error)) from error
        if len(data) != length:
            problem = f"{len(data)} bytes came from position {self._position}, not {length}"
            raise _unread_error(self._path, problem)
        self._fetched, self._start = data, self._position


def _unread_error(path: str, problem: str) -> StorageError:
    return StorageError(
        f"a file could not be read: {problem}",
        where={"file": path},
        hint="the job can be started again: it goes on from its checkpoint",
    )


class RemoteFiles(FileSystem):
    """A file system by a few requests, which subclasses implement."""

    @abstractmethod
    def store(self, path: str, content: IO[bytes]) -> None:
        """Store a file from its beginning, durably; folders are created."""

    @abstractmethod
    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Store a small file durably; False where there is one.

        Of several concurrent calls exactly one returns True.
        """

    @abstractmethod
    def read_range(self, path: str, start: int, length: int) -> bytes:
        """Return a part of a file."""

    @abstractmethod
    def entries(self, folder: str) -> list[Entry]:
        """Return what is in a folder, sorted by name; empty if it does not exist."""

    def create(self, path: str) -> IO[bytes]:
        return cast("IO[bytes]", Upload(path))

    def sync(self, file: IO[bytes]) -> None:
        """Upload what was written; a second call uploads all of it again."""
        upload = cast("Upload", file)
        end = upload.content.tell()
        upload.content.seek(0)
        self.store(upload.path, cast("IO[bytes]", upload.content))
        upload.content.seek(end)

    def open(self, path: str) -> IO[bytes]:
        size = self.size(path)
        if size is None:
            raise FileNotFoundError(f"there is no file {path}")
        return cast("IO[bytes]", io.BufferedReader(RangeReader(self, path, size)))

    def append(self, path: str, data: bytes) -> None:
        """Write the last segment again with more data, or begin one.

        A log is a folder of numbered files, as stores of objects cannot append.
        """
        segments = self._segments(path)
        number, before = len(segments), b""
        if segments and segments[-1].size_bytes < SEGMENT_BYTES:
            number -= 1
            before = self.read(posixpath.join(path, segments[-1].name)) or b""
        self.replace(posixpath.join(path, f"{number:08d}"), before + data)

    def read_log(self, path: str) -> bytes:
        found = (self.read(posixpath.join(path, each.name)) for each in self._segments(path))
        return b"".join(data or b"" for data in found)

    def cut_log(self, path: str, size_bytes: int) -> None:
        """Never needed: an append is there as a whole, or not at all."""
        raise io.UnsupportedOperation(f"{path} has no torn end")

    def _segments(self, path: str) -> list[Entry]:
        return [each for each in self.entries(path) if each.name.isdigit()]

    def sync_directory(self, path: str) -> None:
        """Do nothing: each request is durable."""

    def size(self, path: str) -> int | None:
        return next((file.size_bytes for file in self.stat(path)), None)

    def exists(self, path: str) -> bool:
        return self.size(path) is not None or self.is_folder(path)

    def names(self, directory: str) -> list[str]:
        return [each.name for each in self.entries(directory)]

    def walk(self, directory: str) -> Iterator[ListedFile]:
        start = len(directory.rstrip("/")) + 1
        for file in self.all_files(directory):
            if not any(map(is_hidden, file.path[start:].split("/"))):
                yield file

    def matches(self, pattern: str) -> list[str]:
        fixed, parts = _split_pattern(pattern)
        return sorted(set(self._matches(fixed, parts)))

    def _matches(self, folder: str, parts: list[str]) -> Iterator[str]:
        if not parts:
            yield folder
            return
        first, rest = parts[0], parts[1:]
        if first == "**":
            if rest:
                yield from self._matches(folder, rest)
            for each in self.entries(folder):
                if not is_hidden(each.name):
                    below = posixpath.join(folder, each.name)
                    if each.is_folder:
                        yield from self._matches(below, parts)
                    elif not rest:
                        yield below
            return
        matching = re.compile(translate(first)).match
        for each in self.entries(folder):
            if matching(each.name) and not is_hidden(each.name) and (each.is_folder or not rest):
                yield from self._matches(posixpath.join(folder, each.name), rest)


def _split_pattern(pattern: str) -> tuple[str, list[str]]:
    """Return the folder above the first part with a magic letter, and the parts from there."""
    parts = pattern.split("/")
    first = next((i for i, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return "/".join(parts[:first]), parts[first:]
