"""``FileSystem``: the operations on files that file connectors and checkpoints need.

Paths are local paths, or URLs of Spark; a path belongs to one file system
(``locations.file_system_of``). Names in URLs are not percent-encoded, as in Hadoop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO


@dataclass(frozen=True)
class ListedFile:
    """A file, its size, and its time of modification (ms since the epoch)."""

    path: str
    size_bytes: int
    mtime_ms: int


def is_hidden(name: str) -> bool:
    """Return whether readers of a folder skip files and folders of this name."""
    return name.startswith((".", "_"))


class FileSystem(ABC):
    """Files by path. Each operation that can fail is a separate method, so that tests can fail it.

    Raises:
        OSError: from every method, if the storage fails; ``FileNotFoundError`` where a file that
            is read does not exist.
    """

    def use_tokens(self, tokens: Mapping[str, str]) -> None:
        """Set new tokens, by service. Storage without tokens ignores them."""

    @abstractmethod
    def create(self, path: str) -> IO[bytes]:
        """Open a new file for writing; folders are created, an older file is overwritten.

        The content is stored by ``sync``, which must precede ``close``.
        """

    @abstractmethod
    def sync(self, file: IO[bytes]) -> None:
        """Store durably what was written to an open file."""

    @abstractmethod
    def open(self, path: str) -> IO[bytes]:
        """Open a file for reading; it is seekable."""

    @abstractmethod
    def append(self, path: str, data: bytes) -> None:
        """Append to a log, durably. Only ``read_log`` reads it. A log has one writer at a time."""

    @abstractmethod
    def read_log(self, path: str) -> bytes:
        """Return the content of a log; empty if there is none. The last append may be cut."""

    @abstractmethod
    def cut_log(self, path: str, size_bytes: int) -> None:
        """Shorten a log to its first ``size_bytes`` bytes."""

    @abstractmethod
    def publish(self, source: str, target: str) -> bool:
        """Move a file unless the target exists; False where it does.

        After a crash within the call it can be called again, and no reader sees two files. The
        move is durable after ``sync_directory`` of the target's folder.
        """

    @abstractmethod
    def sync_directory(self, path: str) -> None:
        """Make new and moved files of a folder durable, if it exists."""

    @abstractmethod
    def replace(self, path: str, data: bytes) -> None:
        """Replace a file's content atomically: a reader sees the old or the new content."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Delete a file, if it exists."""

    @abstractmethod
    def remove_folder(self, path: str) -> None:
        """Delete a folder and all in it, if it exists."""

    @abstractmethod
    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""

    @abstractmethod
    def size(self, path: str) -> int | None:
        """Return the size of a file in bytes; None if it does not exist."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Return whether there is a file or a folder at a path."""

    @abstractmethod
    def is_folder(self, path: str) -> bool:
        """Return whether there is a folder at a path."""

    @abstractmethod
    def names(self, directory: str) -> list[str]:
        """Return the names in a folder, sorted; empty if it does not exist."""

    @abstractmethod
    def walk(self, directory: str) -> Iterator[ListedFile]:
        """Yield all files below a folder, at any depth, that are not hidden.

        As in Hadoop, files and folders are hidden whose name starts with ``.`` or ``_``. A file
        that is deleted during the listing is left out.
        """

    @abstractmethod
    def all_files(self, folder: str) -> list[ListedFile]:
        """Return the files below a folder at any depth, hidden ones too, sorted by path."""

    @abstractmethod
    def stat(self, path: str) -> Iterator[ListedFile]:
        """Yield the file at a path; nothing if it does not exist."""

    @abstractmethod
    def matches(self, pattern: str) -> list[str]:
        """Return the files and folders that a glob pattern matches, sorted; hidden ones left out.

        ``**`` matches any number of folders.
        """
