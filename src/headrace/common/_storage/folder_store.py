"""An object store in a folder of a local or mounted file system."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from headrace.common._storage.object_store import (
    ObjectStore,
    access_error,
    require_name,
    require_prefix,
)

_DRAFTS = ".drafts"
_STALE_DRAFT_SECONDS = 86_400


class FolderStore(ObjectStore):
    """One file per object, at the object's name below ``folder``, which is created when needed.

    An object is written to a temporary file (a draft) and then moved to its name: by ``rename``
    where it may replace an older object, by ``link`` where it may not. With ``durable``, files
    and folders are synced, so that stored objects survive a power cut.
    """

    def __init__(self, folder: str, durable: bool = True) -> None:
        self._folder = os.path.abspath(folder)
        self._durable = durable

    def put(self, name: str, data: bytes) -> None:
        """Store an object; an older one of this name is replaced."""
        path = self._path_of(name)
        with self._raises_checkpoint_error(path, "written"), self._write_draft(path, data) as draft:
            os.replace(draft, path)
            self._sync_folder(os.path.dirname(path))

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Store an object; False where there is one of this name."""
        path = self._path_of(name)
        with self._raises_checkpoint_error(path, "written"), self._write_draft(path, data) as draft:
            try:
                os.link(draft, path)
            except FileExistsError:
                # NFS repeats a call whose answer was lost: then the link is to this draft.
                if os.stat(draft).st_nlink < 2:
                    return False
            os.unlink(draft)
            self._sync_folder(os.path.dirname(path))
        return True

    def get(self, name: str) -> bytes | None:
        """Return the content of the object's file, or None if the file does not exist."""
        path = self._path_of(name)
        with self._raises_checkpoint_error(path, "read"):
            try:
                with open(path, "rb") as file:
                    return file.read()
            except FileNotFoundError:
                return None

    def list(self, prefix: str = "") -> list[str]:
        """Return the names that begin with ``prefix``, sorted as strings, not folder by folder."""
        require_prefix(prefix)
        top = self._folder
        inner = prefix.rpartition("/")[0]
        if inner:
            top = self._path_of(inner)
        names: list[str] = []
        with self._raises_checkpoint_error(top, "listed"):
            for folder, folders, files in os.walk(top, onerror=_raise_unless_missing):
                folders[:] = [each for each in folders if not each.startswith(".")]
                inside = os.path.relpath(folder, self._folder).replace(os.sep, "/")
                start = "" if inside == "." else f"{inside}/"
                names += [start + each for each in files if not each.startswith(".")]
        return sorted(name for name in names if name.startswith(prefix))

    def delete(self, name: str) -> None:
        """Remove the file. Not synced: after a power cut it may be there again."""
        path = self._path_of(name)
        with self._raises_checkpoint_error(path, "deleted"), suppress(FileNotFoundError):
            os.unlink(path)

    def location(self, name: str) -> str:
        """Return the full path of the object's file."""
        return self._path_of(name) if name else self._folder

    def tidy(self) -> None:
        """Remove drafts older than a day, which no writer uses any more.

        Also sync the folder: a process may have died between a rename and its sync.
        """
        drafts = os.path.join(self._folder, _DRAFTS)
        if not os.path.isdir(drafts):
            return
        with self._raises_checkpoint_error(drafts, "tidied"):
            self._sync_folder(self._folder)
            self._sync_folder(os.path.dirname(self._folder))
            # The time by the clock of the file system, which may be on another host.
            handle, newest = tempfile.mkstemp(dir=drafts)
            oldest = os.fstat(handle).st_mtime - _STALE_DRAFT_SECONDS
            os.close(handle)
            os.unlink(newest)
            for draft in os.scandir(drafts):
                with suppress(FileNotFoundError):
                    if draft.stat().st_mtime < oldest:
                        os.unlink(draft.path)

    def _path_of(self, name: str) -> str:
        return os.path.join(self._folder, *require_name(name).split("/"))

    @contextmanager
    def _write_draft(self, path: str, data: bytes) -> Iterator[str]:
        """Write ``data`` to a temporary file, yield its path, and remove it on exit."""
        drafts = os.path.join(self._folder, _DRAFTS)
        os.makedirs(drafts, exist_ok=True)
        self._make_folder(os.path.dirname(path))
        handle, draft = tempfile.mkstemp(dir=drafts)
        try:
            with open(handle, "wb") as file:
                file.write(data)
                file.flush()
                if self._durable:
                    os.fsync(file.fileno())
            yield draft
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft)

    def _make_folder(self, folder: str) -> None:
        """Create a folder and its parents; each name is synced to disk."""
        if os.path.isdir(folder):
            return
        os.makedirs(folder, exist_ok=True)
        while True:
            above = os.path.dirname(folder)
            self._sync_folder(above)
            # The folders above the store's own are not this class's to sync.
            if folder == self._folder or above == folder:
                return
            folder = above

    def _sync_folder(self, folder: str) -> None:
        if self._durable:
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    @contextmanager
    def _raises_checkpoint_error(self, path: str, what: str) -> Iterator[None]:
        """Turn an ``OSError`` into a ``CheckpointError``: the object cannot be ``what``."""
        try:
            yield
        except OSError as error:
            raise access_error(error)(
                f"a stored object cannot be {what}: {error.strerror or error}",
                where={"object": path},
                hint="check that the folder exists, has free space, is writable for this user,"
                " and is on a file system with hard links",
            ) from error


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error
