"""The local file system."""

from __future__ import annotations

import errno
import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import IO
from urllib.parse import unquote, urlsplit

from headrace.common._storage.exclusive_rename import rename_exclusively
from headrace.common._storage.file_system import FileSystem, ListedFile, is_hidden
from headrace.errors import UnsupportedError

_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def local_path(
    uri: str | os.PathLike[str], what: str = "files", otherwise: str | None = None
) -> str:
    """Return the local path of a path or a ``file:`` URI.

    For the error, ``what`` names the files, and ``otherwise`` is an alternative to mounting.

    Raises:
        UnsupportedError: the URI has another scheme.
    """
    text = os.fspath(uri)
    parts = urlsplit(text)
    # A scheme of one letter is a Windows drive.
    if len(parts.scheme) < 2 or ":" not in text:
        return text
    if parts.scheme != "file":
        raise UnsupportedError(
            f"{what} on {parts.scheme}: are not supported, only those of a local file system",
            where={"path": text},
            hint="mount the file system, and give the path of the mount"
            + (f"; or {otherwise}" if otherwise else ""),
        )
    return unquote(parts.path)


@dataclass
class LocalFiles(FileSystem):
    """The local file system. With ``durable``, data is synced, and survives a power cut."""

    durable: bool = True

    def create(self, path: str) -> IO[bytes]:
        """Open a new file for writing; folders are created, an older file is overwritten."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return open(path, "wb")

    def open(self, path: str) -> IO[bytes]:
        return open(path, "rb")

    def append(self, path: str, data: bytes) -> None:
        """Append to a file, and sync it."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab") as file:
            file.write(data)
            self.sync(file)

    def sync(self, file: IO[bytes]) -> None:
        """Flush and fsync an open file."""
        file.flush()
        if self.durable:
            os.fsync(file.fileno())

    def rename(self, source: str, target: str) -> None:
        """Move a file atomically; a file at the target is replaced.

        The move is durable after ``sync_directory`` of the target's folder.
        """
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.replace(source, target)

    def publish(self, source: str, target: str) -> bool:
        """Move a file unless the target exists; False where it does.

        After a crash within the call it can be called again, and no reader sees two files. The
        move is durable after ``sync_directory`` of the target's folder.
        """
        os.makedirs(os.path.dirname(target), exist_ok=True)
        published = self.rename_exclusively(source, target)
        if published is None:
            published = self.link(source, target)
            if published:
                self.remove(source)
        if published is None:
            # Neither call is supported. Another process could create the target before the
            # rename, but the names published here are unique to a sink.
            published = not os.path.exists(target)
            if published:
                os.rename(source, target)
        if not published and _is_same(source, target):
            self.remove(source)  # an earlier call linked it, and crashed before this line
            return True
        return published

    def rename_exclusively(self, source: str, target: str) -> bool | None:
        """Rename atomically; False where the target exists, None where not supported."""
        return rename_exclusively(source, target)

    def link(self, source: str, target: str) -> bool | None:
        """Add a hard link; False where the target exists, None without hard links."""
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
        """Sync a folder, so that its new and renamed files survive a power cut."""
        if not self.durable:
            return
        try:
            handle = os.open(path or ".", os.O_RDONLY)
        except FileNotFoundError:
            return  # with its files
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def replace(self, path: str, data: bytes) -> None:
        """Replace a file's content atomically: a reader sees the old or the new content."""
        temporary = path + ".new"
        with self.create(temporary) as file:
            file.write(data)
            self.sync(file)
        self.rename(temporary, path)
        self.sync_directory(os.path.dirname(path))

    def read_log(self, path: str) -> bytes:
        """Return the content of the file; a crash may have cut its end."""
        return self.read(path) or b""

    def cut_log(self, path: str, size_bytes: int) -> None:
        os.truncate(path, size_bytes)

    def remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            os.remove(path)

    def remove_folder(self, path: str) -> None:
        with suppress(FileNotFoundError):
            shutil.rmtree(path)

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def size(self, path: str) -> int | None:
        """Return the size of a file in bytes; None if it does not exist."""
        try:
            return os.path.getsize(path)
        except FileNotFoundError:
            return None

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)

    def names(self, directory: str) -> list[str]:
        """Return the names in a directory, sorted; empty if it does not exist."""
        try:
            return sorted(os.listdir(directory))
        except FileNotFoundError:
            return []

    def walk(self, directory: str) -> Iterator[ListedFile]:
        """Yield all files below a directory, at any depth, that are not hidden.

        As in Hadoop, files and folders are hidden whose name starts with ``.`` or ``_``. A file
        that is deleted during the listing is left out.
        """
        for folder, folders, names in os.walk(directory):
            folders[:] = sorted(name for name in folders if not is_hidden(name))
            for name in sorted(names):
                if not is_hidden(name):
                    yield from self.stat(os.path.join(folder, name))

    def all_files(self, folder: str) -> list[ListedFile]:
        paths = (os.path.join(below, name) for below, _, names in os.walk(folder) for name in names)
        return [file for path in sorted(paths) for file in self.stat(path)]

    def stat(self, path: str) -> Iterator[ListedFile]:
        """Yield the file at a path; nothing if it does not exist."""
        with suppress(FileNotFoundError):
            found = os.stat(path)
            yield ListedFile(path, found.st_size, found.st_mtime_ns // 1_000_000)

    def matches(self, pattern: str) -> list[str]:
        found = sorted(glob.glob(pattern, recursive=True))
        return [path for path in found if not is_hidden(os.path.basename(path.rstrip("/")))]


def _is_same(source: str, target: str) -> bool:
    try:
        return os.path.samefile(source, target)
    except FileNotFoundError:
        return False
