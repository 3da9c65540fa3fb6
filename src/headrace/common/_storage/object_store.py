"""The interface of stores for checkpoints: small objects by name.

A name is a path such as ``owners/000000000007``. A log is a folder of numbered objects; numbers
are padded with zeros, so that names sort as the numbers do.
"""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod

from headrace.errors import CheckpointError, CheckpointUnavailableError

_MAX_PART_BYTES = 200
_NUMBER_WIDTH = 12


class ObjectStore(ABC):
    """Objects by name. Each call is atomic, and visible to all processes when it returns.

    Several processes on several hosts may use one store at the same time.

    Raises:
        CheckpointError: from every method, if the name is not allowed or the storage fails.
    """

    @abstractmethod
    def put(self, name: str, data: bytes) -> None:
        """Store an object durably; an older one of this name is replaced.

        A reader sees the old or the new object, never a part.
        """

    @abstractmethod
    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Store an object durably; False where there is one of this name.

        Of several concurrent calls exactly one returns True.
        """

    @abstractmethod
    def get(self, name: str) -> bytes | None:
        """Return the object; None if it does not exist."""

    @abstractmethod
    def list(self, prefix: str = "") -> list[str]:
        """Return the names that begin with ``prefix``, sorted."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Remove an object, if it exists. Durable only after ``tidy``."""

    @abstractmethod
    def location(self, name: str) -> str:
        """Return the path or address of an object, for messages."""

    def tidy(self) -> None:
        """Remove temporary files of writers that died, and make deletions durable."""


def numbered_name(folder: str, number: int) -> str:
    """Return the name of the ``number``-th object of a log: the folder and 12 digits."""
    return f"{folder}/{number:0{_NUMBER_WIDTH}d}"


def stored_numbers(store: ObjectStore, folder: str) -> list[int]:
    """Return the numbers of a log's objects, ascending."""
    found = (name.rpartition("/")[2] for name in store.list(f"{folder}/"))
    return [int(last) for last in found if len(last) == _NUMBER_WIDTH and last.isdecimal()]


def require_name(name: str) -> str:
    """Check that the name of an object is safe, and return it.

    Raises:
        CheckpointError: the name could lead outside the store, or is too long for a file name.
    """
    for part in name.split("/"):
        if not _is_allowed(part) or len(part.encode()) > _MAX_PART_BYTES:
            raise _name_error(name)
    return name


def require_prefix(prefix: str) -> str:
    """Check that the prefix of object names is safe, and return it; its last part may be empty.

    Raises:
        CheckpointError: the prefix could lead outside the store.
    """
    *folders, last = prefix.split("/")
    if not all(map(_is_allowed, folders)) or (last and not _is_allowed(last)):
        raise _name_error(prefix)
    return prefix


def _is_allowed(part: str) -> bool:
    # A leading dot also marks the store's own files.
    return bool(part) and not part.startswith(".") and "\\" not in part and "\0" not in part


def _name_error(name: str) -> CheckpointError:
    return CheckpointError(
        f"{name!r} cannot be the name of a stored object",
        hint="parts between slashes are not empty, do not begin with a dot, and have at most"
        f" {_MAX_PART_BYTES} bytes",
    )


_LASTING_ERRORS = (PermissionError, IsADirectoryError, NotADirectoryError, FileNotFoundError)
_LASTING_ERRNOS = {errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP, errno.EXDEV, errno.ENOTSUP}


def access_error(error: OSError) -> type[CheckpointError]:
    """Return the class for a failed access: whether a later one may succeed, or a person must act.

    A full disk and a server that does not answer may be over in a minute; a missing permission
    or a wrong path stays.
    """
    if isinstance(error, _LASTING_ERRORS) or error.errno in _LASTING_ERRNOS:
        return CheckpointError
    return CheckpointUnavailableError
