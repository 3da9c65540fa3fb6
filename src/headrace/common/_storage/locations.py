"""Local paths and URLs, and the file systems that they belong to.

The addresses of remote storage, and the credentials, come from Spark's Hadoop configuration. The
driver reads them (``StorageAccess``) and sends them to the workers with the job. ``use_access``
sets them in a process.
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
    """The addresses and credentials of remote storage.

    ``settings``: the Hadoop configuration, without Hadoop's defaults. ``user``: the name under
    which HDFS is used without Kerberos. ``tokens``: HDFS delegation tokens by service (``ip:port``
    or ``ha-hdfs:name``), encoded for URLs.
    """

    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    user: str = ""
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)


LOCAL_ONLY = StorageAccess()
"""Without settings: for jobs without remote storage."""


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
    """Return the local path of a path or a ``file:`` URI; the normalized URL of another URL.

    For the error, ``what`` names the files, and ``otherwise`` is an alternative for the user.

    Raises:
        UnsupportedError: the scheme is not supported.
    """
    text = os.fspath(path)
    scheme = _scheme_of(text)
    if not scheme:
        return text
    if scheme == "file":
        return unquote(urlsplit(text).path)
    if scheme not in _FILE_SYSTEMS:
        known = ", ".join(f"{each}://" for each in _FILE_SYSTEMS)
        hint = f"use a local or mounted folder, or {known}"
        if scheme in ("s3", "s3n"):
            hint = f"use S3A: s3a:{text.partition(':')[2]}"
        raise UnsupportedError(
            f"{what} on {scheme}: are not supported",
            where={"path": text},
            hint=hint + (f"; or {otherwise}" if otherwise else ""),
        )
    parts = split_url(text)
    cleaned = posixpath.normpath(f"/{parts.path}").strip("/")
    return str(parts._replace(path=f"/{cleaned}" if cleaned else ""))


def absolute(path: str) -> str:
    """Return the absolute path of a local path; return a URL unchanged."""
    return path if is_url(path) else os.path.abspath(path)


def hadoop_url(location: str) -> str:
    """Return a location for Spark: a local path gets ``file:``, whatever Spark's default is."""
    return location if is_url(location) else f"file:{os.path.abspath(location)}"


def uses_urls(locators: Iterable[str]) -> bool:
    """Return whether one of the locators is on remote storage; a locator may be a list."""
    parts = (part.strip() for locator in locators for part in locator.split(","))
    return any(_scheme_of(part) in _FILE_SYSTEMS for part in parts)


_access = LOCAL_ONLY
_opened: dict[tuple[str, str], FileSystem] = {}
_LOCAL = LocalFiles()


_remove_with_markers: Callable[[str], None] | None = None


def use_access(
    access: StorageAccess, remove_with_markers: Callable[[str], None] | None = None
) -> None:
    """Set how this process reaches remote storage.

    File systems that are already open get the new tokens. ``remove_with_markers``: removes a folder
    together with Hadoop's markers of folders on S3, empty objects that only Hadoop can name.
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
    """Remove a folder that Spark has written to, if it exists."""
    if _remove_with_markers is not None and is_url(path):
        _remove_with_markers(path)
    else:
        file_system_of(path).remove_folder(path)


def file_system_of(path: str) -> FileSystem:
    """Return the file system of a path.

    Raises:
        UnsupportedError: the scheme is not supported, or Python cannot use one of its settings.
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
    """Open a local or remote file for reading.

    Raises:
        FileNotFoundError: it does not exist.
    """
    return file_system_of(path).open(path)


def stat_file(path: str) -> ListedFile:
    """Return a file with its size and time of modification.

    Raises:
        FileNotFoundError: it does not exist.
    """
    for found in file_system_of(path).stat(path):
        return found
    raise FileNotFoundError(f"there is no file {path}")
