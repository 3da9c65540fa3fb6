"""The few things the file connectors ask of a file system.

A seam: what can fail in between is a method here, so that tests fail each in turn, and another
file system is one class with the same methods.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import IO
from urllib.parse import unquote, urlsplit

from headrace.common._storage.exclusive_rename import rename_exclusively
from headrace.errors import UnsupportedError

_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


@dataclass(frozen=True)
class ListedFile:
    """One file of a listing."""

    path: str
    size_bytes: int
    mtime_ms: int


def local_path(
    uri: str | os.PathLike[str], what: str = "files", otherwise: str | None = None
) -> str:
    """The local path that a path or a ``file:`` URI means.

    ``what`` lies there, and ``otherwise`` what to do besides mounting it, are for the error.

    Raises:
        UnsupportedError: another scheme.
    """
    text = os.fspath(uri)
    parts = urlsplit(text)
    # One letter is a drive, not a scheme.
    if len(parts.scheme) < 2 or ":" not in text:
        return text
    if parts.scheme != "file":
        raise UnsupportedError(
            f"{what} on {parts.scheme}: are not supported, only those of a local file system",
            where={"path": text},
            hint="mount the file system, and give the path where it is mounted"
            + (f"; or {otherwise}" if otherwise else ""),
        )
    return unquote(parts.path)


@dataclass
class LocalFiles:
    """The local file system; what it renamed or synced survives a power cut, if ``durable``."""

    durable: bool = True

    def create(self, path: str) -> IO[bytes]:
        """A new file to write to; its folders are made, an older file is overwritten."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return open(path, "wb")

    def append(self, path: str, data: bytes) -> None:
        """Add to the end of a file, durably."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab") as file:
            file.write(data)
            self.sync(file)

    def sync(self, file: IO[bytes]) -> None:
        """Bring what was written to the disk."""
        file.flush()
        if self.durable:
            os.fsync(file.fileno())

    def rename(self, source: str, target: str) -> None:
        """Move a file within the file system, in one step; a target is replaced.

        It survives a power cut once ``sync_directory`` was called for the target's folder.
        """
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.replace(source, target)

    def publish(self, source: str, target: str) -> bool:
        """Move a file to a name that no file has; False where one has it, which stays as it is.

        A call that was cut short by a crash can be made again, and no reader sees two files.
        It survives a power cut once ``sync_directory`` was called for the target's folder.
        """
        os.makedirs(os.path.dirname(target), exist_ok=True)
        published = self.rename_exclusively(source, target)
        if published is None:
            published = self.link(source, target)
            if published:
                self.remove(source)
        if published is None:
            # Neither call is offered: between this look and the rename another process may take
            # the name. What is published here has names that no other sink wants.
            published = not os.path.exists(target)
            if published:
                os.rename(source, target)
        if not published and _is_same(source, target):
            self.remove(source)  # a link that was made before a crash
            return True
        return published

    def rename_exclusively(self, source: str, target: str) -> bool | None:
        """Rename in one step; False where the target exists, None where that is not offered."""
        return rename_exclusively(source, target)

    def link(self, source: str, target: str) -> bool | None:
        """Give a file a second name; False where another file has it, None without hard links."""
        try:
            os.link(source, target)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno in _NO_HARD_LINKS:
                return None
            raise
        return True

    def sync_directory(self, path: str) -> None:
        """Bring the names in a folder to the disk."""
        if self.durable:
            handle = os.open(path or ".", os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def replace(self, path: str, data: bytes) -> None:
        """Put new content into a file: a reader sees the old or the new one, never a part."""
        temporary = path + ".new"
        with self.create(temporary) as file:
            file.write(data)
            self.sync(file)
        self.rename(temporary, path)
        self.sync_directory(os.path.dirname(path))

    def truncate(self, path: str, size_bytes: int) -> None:
        """Cut a file to its first bytes."""
        os.truncate(path, size_bytes)

    def remove(self, path: str) -> None:
        """Delete a file; one that is not there is fine."""
        with suppress(FileNotFoundError):
            os.remove(path)

    def read(self, path: str) -> bytes | None:
        """The whole content, or None when there is no such file."""
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def size(self, path: str) -> int | None:
        """How many bytes a file has, or None when there is no such file."""
        try:
            return os.path.getsize(path)
        except FileNotFoundError:
            return None

    def exists(self, path: str) -> bool:
        """True when there is such a file."""
        return os.path.exists(path)

    def names(self, directory: str) -> list[str]:
        """The names in a directory, sorted; none when it is missing."""
        try:
            return sorted(os.listdir(directory))
        except FileNotFoundError:
            return []

    def walk(self, directory: str) -> Iterator[ListedFile]:
        """All files below a directory that are not hidden.

        Hidden are files and folders whose name starts with ``.`` or ``_``, as in Hadoop. One that
        vanishes while it is listed is left out.
        """
        for folder, folders, names in os.walk(directory):
            folders[:] = sorted(name for name in folders if not is_hidden(name))
            for name in sorted(names):
                if not is_hidden(name):
                    yield from self.stat(os.path.join(folder, name))

    def stat(self, path: str) -> Iterator[ListedFile]:
        """The one file at a path, or nothing."""
        with suppress(FileNotFoundError):
            found = os.stat(path)
            yield ListedFile(path, found.st_size, found.st_mtime_ns // 1_000_000)


def _is_same(source: str, target: str) -> bool:
    try:
        return os.path.samefile(source, target)
    except FileNotFoundError:
        return False


def is_hidden(name: str) -> bool:
    """True for names that readers of folders pass over."""
    return name.startswith((".", "_"))
