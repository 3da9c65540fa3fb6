"""An object store in a folder of a remote file system."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.common._storage.object_store import (
    ObjectStore,
    access_error,
    require_name,
    require_prefix,
)
from headrace.common._storage.remote import DRAFT, RemoteFiles

_STALE_DRAFT_MS = 86_400_000


class FileStore(ObjectStore):
    """One file per object, at the object's name below ``folder``."""

    def __init__(self, folder: str, files: RemoteFiles) -> None:
        self._folder, self._files = folder, files

    def put(self, name: str, data: bytes) -> None:
        with self._raises_checkpoint_error(name, "written"):
            self._files.replace(self._path_of(name), data)

    def put_if_absent(self, name: str, data: bytes) -> bool:
        with self._raises_checkpoint_error(name, "written"):
            return self._files.put_if_absent(self._path_of(name), data)

    def get(self, name: str) -> bytes | None:
        with self._raises_checkpoint_error(name, "read"):
            return self._files.read(self._path_of(name))

    def list(self, prefix: str = "") -> list[str]:
        require_prefix(prefix)
        inner = prefix.rpartition("/")[0]
        top = posixpath.join(self._folder, inner) if inner else self._folder
        start = len(self._folder.rstrip("/")) + 1
        with self._raises_checkpoint_error(prefix, "listed"):
            names = [file.path[start:] for file in self._files.all_files(top)]
        return sorted(
            name
            for name in names
            if name.startswith(prefix) and not any(part[0] == "." for part in name.split("/"))
        )

    def delete(self, name: str) -> None:
        with self._raises_checkpoint_error(name, "deleted"):
            self._files.remove(self._path_of(name))

    def location(self, name: str) -> str:
        """Return the URL of the object."""
        return self._path_of(name) if name else self._folder

    def tidy(self) -> None:
        """Remove temporary files older than a day, which no writer uses any more."""
        with self._raises_checkpoint_error("", "tidied"):
            found = self._files.all_files(self._folder)
            # By the clock of the storage: the owner has just written its lease.
            oldest_ms = max((file.mtime_ms for file in found), default=0) - _STALE_DRAFT_MS
            for file in found:
                if posixpath.basename(file.path).startswith(DRAFT) and file.mtime_ms < oldest_ms:
                    self._files.remove(file.path)

    def _path_of(self, name: str) -> str:
        return posixpath.join(self._folder, require_name(name))

    @contextmanager
    def _raises_checkpoint_error(self, name: str, what: str) -> Iterator[None]:
        """Turn an ``OSError`` into a ``CheckpointError``: the object cannot be ``what``."""
        try:
            yield
        except OSError as error:
            raise access_error(error)(
                f"a stored object cannot be {what}: {error}",
                where={"object": posixpath.join(self._folder, name)},
                hint="check the storage's address, and that this user may write there",
            ) from error
