"""Local paths and URLs, and the file systems that they belong to.

Where a cluster's storage is, and as whom it is used, comes from Spark's Hadoop configuration: the
driver reads it (``StorageAccess``), and it goes to workers with the job. ``use_access`` makes it
known to a process.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import IO, NamedTuple
from urllib.parse import unquote, urlsplit

from headrace.common._storage.file_system import FileSystem, ListedFile
from headrace.common._storage.local_files import LocalFiles
from headrace.errors import UnsupportedError

_FILE_SYSTEMS: dict[str, tuple[str, str]] = {
    "hdfs": ("hdfs", "open_hdfs"),
    "s3a": ("cloud", "open_s3"),
    "abfs": ("cloud", "open_azure"),
    "abfss": ("cloud", "open_azure"),
}
"""By scheme: the module of this package, and its function from (authority, access)."""


@dataclass(frozen=True)
class StorageAccess:
    """How storage is reached.

    ``settings``: the keys of the Hadoop configuration that were set by someone; defaults are left
    out. ``user``: the name under which HDFS is used without Kerberos. ``tokens``: HDFS delegation
    tokens by service (``ip:port`` or ``ha-hdfs:name``), encoded for URLs.
    """

    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    user: str = ""
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)


LOCAL_ONLY = StorageAccess()
"""Says nothing: for jobs without remote storage."""


class Location(NamedTuple):
    """A URL in its parts. ``path`` begins with a slash, or is empty; it is not encoded."""

    scheme: str
    authority: str
    path: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def is_url(path: str) -> bool:
    """Return whether a path has a scheme other than ``file``."""
    return bool(_scheme_of(path)) and _scheme_of(path) != "file"


def _scheme_of(path: str) -> str:
    scheme, colon, _ = path.partition(":")
    # A scheme of one letter is a Windows drive.
    named = colon and len(scheme) > 1 and scheme[0].isalpha() and "/" not in scheme
    return scheme.lower() if named else ""


def split_url(url: str) -> Location:
    """Return the parts of a URL."""
    scheme, _, rest = url.partition(":")
    authority, slash, path = rest.removeprefix("//").partition("/")
    return Location(scheme.lower(), authority, slash + path)


def location_of(
    path: str | os.PathLike[str], what: str = "files", otherwise: str | None = None
) -> str:
    """Return a local path for a local one or a ``file:`` URI, and a clean URL for a URL.

    For the error, ``what`` names the files, and ``otherwise`` is another way to them.

    Raises:
        UnsupportedError: the URL has a scheme that is not known.
    """
    text = os.fspath(path)
    scheme = _scheme_of(text)
    if not scheme:
        return text
    if scheme == "file":
        return unquote(urlsplit(text).path)
    if scheme not in _FILE_SYSTEMS:
        raise UnsupportedError(
            f"{what} on {scheme}: are not supported",
            where={"path": text},
            hint=f"use a local or mounted folder, or {', '.join(f'{s}://' for s in _FILE_SYSTEMS)}"
            + (f"; or {otherwise}" if otherwise else ""),
        )
    parts = split_url(text)
    cleaned = posixpath.normpath(f"/{parts.path}").strip("/")
    return str(parts._replace(path=f"/{cleaned}" if cleaned else ""))


def absolute(path: str) -> str:
    """Return a local path without the working directory that it depends on; a URL stays."""
    return path if is_url(path) else os.path.abspath(path)


def hadoop_url(location: str) -> str:
    """Return a location as Spark takes it: a local path with ``file:``, whatever its default is."""
    return location if is_url(location) else f"file:{os.path.abspath(location)}"


def uses_urls(locators: Iterable[str]) -> bool:
    """Return whether one of the locators, each of which may be a list, is on remote storage."""
    parts = (part.strip() for locator in locators for part in locator.split(","))
    return any(_scheme_of(part) in _FILE_SYSTEMS for part in parts)


_access = LOCAL_ONLY
_opened: dict[tuple[str, str], FileSystem] = {}
_LOCAL = LocalFiles()


_remove_with_markers: Callable[[str], None] | None = None


def use_access(
    access: StorageAccess, remove_with_markers: Callable[[str], None] | None = None
) -> None:
    """Use storage in this process as ``access`` says, from now on.

    ``remove_with_markers`` removes a folder with the empty objects by which Hadoop marks folders on
    S3; only Hadoop can name them.
    """
    global _access, _remove_with_markers
    _remove_with_markers = remove_with_markers
    if replace(access, tokens=_access.tokens) != _access:
        _opened.clear()
    elif access.tokens != _access.tokens:
        for files in _opened.values():  # they are in use, by an open checkpoint for example
            files.use_tokens(access.tokens)
    _access = access


def remove_folder_of_spark(path: str) -> None:
    """Remove a folder that Spark writes to, if it exists."""
    if _remove_with_markers is not None and is_url(path):
        _remove_with_markers(path)
    else:
        file_system_of(path).remove_folder(path)


def file_system_of(path: str) -> FileSystem:
    """Return the file system of a path.

    Raises:
        UnsupportedError: the scheme is not known, or a setting of it cannot be carried over.
        MissingExtraError: the package for it is not installed.
    """
    if not is_url(path):
        return _LOCAL
    parts = split_url(path)
    place = (parts.scheme, parts.authority)
    found = _opened.get(place)
    if found is None:
        module, name = _FILE_SYSTEMS[parts.scheme]
        opener: Callable[[Location, StorageAccess], FileSystem] = getattr(
            import_module(f"headrace.common._storage.{module}"), name
        )
        found = _opened[place] = opener(parts, _access)
    return found


def open_file(path: str) -> IO[bytes]:
    """Open a file for reading, wherever it is.

    Raises:
        FileNotFoundError: it does not exist.
    """
    return file_system_of(path).open(path)


def stat_file(path: str) -> ListedFile:
    """Return the size and the time of modification of a file.

    Raises:
        FileNotFoundError: it does not exist.
    """
    for found in file_system_of(path).stat(path):
        return found
    raise FileNotFoundError(f"there is no file {path}")
