"""What Headrace needs of the place where it stores things: a few whole objects, by name.

A name is text with slashes, such as ``owners/000000000007``. Logs are numbered objects, with
numbers of one width, so that their names sort as the numbers do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from headrace.errors import CheckpointError

_MAX_PART_BYTES = 200
_NUMBER_WIDTH = 12


class ObjectStore(ABC):
    """Objects by name; each call is atomic, and seen by every other process when it returns.

    Owners in several processes, on several hosts, may use one place at the same time.

    Raises:
        CheckpointError: by every method, when the name is not allowed or the place does not work.
    """

    @abstractmethod
    def put(self, name: str, data: bytes) -> None:
        """Store an object, durably; one of this name is replaced.

        Whoever reads sees the old one or the new one, never a part.
        """

    @abstractmethod
    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Store an object, durably, unless there is one of this name; True when it was stored.

        Of several calls at the same time, one gets True.
        """

    @abstractmethod
    def get(self, name: str) -> bytes | None:
        """The whole object, or None when there is none."""

    @abstractmethod
    def list(self, prefix: str = "") -> list[str]:
        """The names that begin with a text, sorted."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Remove an object; one that is not there is fine.

        That it is gone survives a power cut once ``tidy`` was called.
        """

    @abstractmethod
    def location(self, name: str) -> str:
        """Where a person finds the object: a path or an address, for messages."""

    def tidy(self) -> None:
        """Remove what writers have left that ended within a call, and finish what they did."""


def numbered_name(folder: str, number: int) -> str:
    """The name of an object of a log."""
    return f"{folder}/{number:0{_NUMBER_WIDTH}d}"


def stored_numbers(store: ObjectStore, folder: str) -> list[int]:
    """The numbers of a log's objects, rising."""
    found = (name.rpartition("/")[2] for name in store.list(f"{folder}/"))
    return [int(last) for last in found if len(last) == _NUMBER_WIDTH and last.isdecimal()]


def require_name(name: str) -> str:
    """The name itself.

    Raises:
        CheckpointError: it could mean something outside the store, or is too long for a file.
    """
    for part in name.split("/"):
        if not _is_allowed(part) or len(part.encode()) > _MAX_PART_BYTES:
            raise _name_error(name)
    return name


def require_prefix(prefix: str) -> str:
    """The prefix itself; its last part may be empty.

    Raises:
        CheckpointError: it could mean something outside the store.
    """
    *folders, last = prefix.split("/")
    if not all(map(_is_allowed, folders)) or (last and not _is_allowed(last)):
        raise _name_error(prefix)
    return prefix


def _is_allowed(part: str) -> bool:
    # A leading dot also marks what a store keeps for itself.
    return bool(part) and not part.startswith(".") and "\\" not in part and "\0" not in part


def _name_error(name: str) -> CheckpointError:
    return CheckpointError(
        f"{name!r} cannot be the name of a stored object",
        hint="parts between slashes are not empty, do not begin with a dot, and have at most"
        f" {_MAX_PART_BYTES} bytes",
    )
