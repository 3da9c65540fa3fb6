"""Remote file systems: files are uploaded as a whole, and read in ranges."""

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
"""Up to this size a new file is kept in memory until its upload; larger ones on the local disk."""

FIRST_READ_BYTES, READ_BYTES = 1 << 16, 8 << 20
"""The bytes that the first read of an open file fetches, and the limit of a sequential read."""

DRAFT = ".draft-"
"""The prefix of the names of temporary files, which will be renamed."""

SEGMENT_BYTES = 1 << 20
"""If the last object of a log has this size, the next append begins a new object."""


@dataclass(frozen=True)
class Entry:
    """A name in a folder. Folders have no size and no time."""

    name: str
    is_folder: bool
    size_bytes: int = 0
    mtime_ms: int = 0


class Upload(io.RawIOBase):
    """A new file, kept locally until ``RemoteFiles.sync`` uploads it."""

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
    """A seekable file that fetches ranges: small ones first, larger ones in sequential reads.

    If the storage fails, it raises ``StorageError`` and not ``OSError``, because formats treat an
    ``OSError`` as a damaged file.
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
        """Fill the buffer from the fetched bytes, or fetch a range."""
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
            found = f"{len(data)} of {length} bytes"
            problem = f"the storage returned {found} at position {self._position}"
            raise _unread_error(self._path, problem)
        self._fetched, self._start = data, self._position


def _unread_error(path: str, problem: str) -> StorageError:
    return StorageError(
        f"a file could not be read: {problem}",
        where={"file": path},
        hint="start the job again: it continues from its checkpoint",
    )


class RemoteFiles(FileSystem):
    """A file system on top of a few requests, which subclasses implement."""

    @abstractmethod
    def store(self, path: str, content: IO[bytes]) -> None:
        """Store a file from its beginning, durably; folders are created."""

    @abstractmethod
    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Store a small file durably; False if it exists.

        Of several concurrent calls exactly one returns True.
        """

    @abstractmethod
    def read_range(self, path: str, start: int, length: int) -> bytes:
        """Return ``length`` bytes of a file; fewer at its end."""

    @abstractmethod
    def entries(self, folder: str) -> list[Entry]:
        """Return the entries of a folder, sorted by name; empty if it does not exist."""

    def create(self, path: str) -> IO[bytes]:
        return cast("IO[bytes]", Upload(path))

    def sync(self, file: IO[bytes]) -> None:
        """Upload the complete file; a second call uploads the complete file again."""
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
        """Replace the last segment by a longer one, or begin a new segment.

        A log is a folder of numbered files, because object stores cannot append.
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
        """Not supported and never needed: each append is stored completely or not at all."""
        raise io.UnsupportedOperation(f"{path} cannot be shortened: its appends are atomic")

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
    """Return the folder before the first part with a wildcard, and the parts after it."""
    parts = pattern.split("/")
    first = next((i for i, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return "/".join(parts[:first]), parts[first:]
