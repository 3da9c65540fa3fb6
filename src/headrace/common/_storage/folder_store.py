"""Objects as files below one folder of a local or mounted file system."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from headrace.common._storage.object_store import ObjectStore, require_name, require_prefix
from headrace.errors import CheckpointError

_DRAFTS = ".drafts"
_STALE_DRAFT_SECONDS = 86_400


class FolderStore(ObjectStore):
    """One file per object; the name is the path below the folder, which is made when needed.

    An object is written to a draft first, and gets its name when it is complete: by ``rename``
    where it may replace another one, by ``link`` where it may not. ``durable``: file and folders
    are synced, so that an object that was stored is there after a power cut.
    """

    def __init__(self, folder: str, durable: bool = True) -> None:
        self._folder = os.path.abspath(folder)
        self._durable = durable

    def put(self, name: str, data: bytes) -> None:
        """Store an object by renaming its draft."""
        path = self._path(name)
        with self._raises_checkpoint_error(path, "written"), self._draft(path, data) as draft:
            os.replace(draft, path)
            self._sync_folder(os.path.dirname(path))

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Store an object by linking its draft, which fails where there is one of this name."""
        path = self._path(name)
        with self._raises_checkpoint_error(path, "written"), self._draft(path, data) as draft:
            try:
                os.link(draft, path)
            except FileExistsError:
                # A network file system repeats a call whose answer was lost: it was this draft.
                if os.stat(draft).st_nlink < 2:
                    return False
            os.unlink(draft)
            self._sync_folder(os.path.dirname(path))
        return True

    def get(self, name: str) -> bytes | None:
        """The file's content, or None."""
        path = self._path(name)
        with self._raises_checkpoint_error(path, "read"):
            try:
                with open(path, "rb") as file:
                    return file.read()
            except FileNotFoundError:
                return None

    def list(self, prefix: str = "") -> list[str]:
        """The names that begin with a text, sorted as texts, not folder by folder."""
        require_prefix(prefix)
        top = self._folder
        inner = prefix.rpartition("/")[0]
        if inner:
            top = self._path(inner)
        names: list[str] = []
        with self._raises_checkpoint_error(top, "listed"):
            for folder, folders, files in os.walk(top, onerror=_raise_unless_missing):
                folders[:] = [each for each in folders if not each.startswith(".")]
                inside = os.path.relpath(folder, self._folder).replace(os.sep, "/")
                start = "" if inside == "." else f"{inside}/"
                names += [start + each for each in files if not each.startswith(".")]
        return sorted(name for name in names if name.startswith(prefix))

    def delete(self, name: str) -> None:
        """Remove the file; after a power cut it may be there again."""
        path = self._path(name)
        with self._raises_checkpoint_error(path, "deleted"), suppress(FileNotFoundError):
            os.unlink(path)

    def location(self, name: str) -> str:
        """The file's full path."""
        return self._path(name) if name else self._folder

    def tidy(self) -> None:
        """Remove drafts that are older than a day: no writer is at work on them any more.

        And sync the names in the folder: one may be of a process that ended right then.
        """
        drafts = os.path.join(self._folder, _DRAFTS)
        if not os.path.isdir(drafts):
            return
        with self._raises_checkpoint_error(drafts, "tidied"):
            self._sync_folder(self._folder)
            self._sync_folder(os.path.dirname(self._folder))
            # The file system's own time: its clock may be another host's.
            handle, newest = tempfile.mkstemp(dir=drafts)
            oldest = os.fstat(handle).st_mtime - _STALE_DRAFT_SECONDS
            os.close(handle)
            os.unlink(newest)
            for draft in os.scandir(drafts):
                with suppress(FileNotFoundError):
                    if draft.stat().st_mtime < oldest:
                        os.unlink(draft.path)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, *require_name(name).split("/"))

    @contextmanager
    def _draft(self, path: str, data: bytes) -> Iterator[str]:
        """The path of a complete draft, which is removed afterwards."""
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
        """Make a folder and its parents, each synced to disk before something is put into it."""
        if os.path.isdir(folder):
            return
        os.makedirs(folder, exist_ok=True)
        while True:
            above = os.path.dirname(folder)
            self._sync_folder(above)
            # Who made the folders above the store's own made them durable, or had no need to.
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
        try:
            yield
        except OSError as error:
            raise CheckpointError(
                f"a stored object cannot be {what}: {error.strerror or error}",
                where={"object": path},
                hint="see that the folder is there, has room, belongs to this user, and lies on a"
                " file system with hard links",
            ) from error


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error
