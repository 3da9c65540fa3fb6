"""HDFS over WebHDFS, without additional packages and without a JVM."""

from __future__ import annotations

import io
import posixpath
import socket
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import IO, Any

from headrace.common._storage.file_system import FileSystem, ListedFile
from headrace.common._storage.locations import Location, StorageAccess, split_url
from headrace.common._storage.remote import DRAFT, Entry, RemoteFiles
from headrace.common._storage.web_hdfs import Address, WebHdfs
from headrace.errors import UnsupportedError

_RPC_PORT, _HTTP_PORT, _HTTPS_PORT = 8020, 9870, 9871
_UNSPECIFIED_HOSTS = ("", "0.0.0.0", "::")


def open_hdfs(location: Location, access: StorageAccess) -> FileSystem:
    """Return the file system of an ``hdfs://`` URL.

    Raises:
        UnsupportedError: the configuration has no name node for the URL, or WebHDFS is off.
    """
    settings = access.settings
    authority = location.authority or split_url(settings.get("fs.defaultFS", "")).authority
    if not authority:
        raise UnsupportedError(
            "the URL names no name node, and Spark's Hadoop configuration has no default one",
            where={"url": str(location)},
            hint="write hdfs://host:port/path, or set spark.hadoop.fs.defaultFS",
        )
    if settings.get("dfs.webhdfs.enabled", "true").lower() == "false":
        raise UnsupportedError(
            "HDFS is read and written over WebHDFS, and dfs.webhdfs.enabled is false",
            where={"url": str(location)},
            hint="turn WebHDFS on at the name nodes, or use a mounted folder",
        )
    client = WebHdfs(authority, name_nodes(authority, settings), _identity(authority, access))
    return HdfsFiles(client, access)


def name_nodes(authority: str, settings: Any) -> list[Address]:
    """Return the HTTP addresses of a name node, or of all name nodes of a service."""
    secure = settings.get("dfs.http.policy", "HTTP_ONLY").upper() == "HTTPS_ONLY"
    key = f"dfs.namenode.{'https' if secure else 'http'}-address"
    port = _HTTPS_PORT if secure else _HTTP_PORT
    nodes = settings.get(f"dfs.ha.namenodes.{authority}", "")
    found = []
    for node in filter(None, map(str.strip, nodes.split(","))):
        rpc = settings.get(f"dfs.namenode.rpc-address.{authority}.{node}", "")
        found.append(_address(settings.get(f"{key}.{authority}.{node}", ""), rpc, port, secure))
    if found:
        return found
    configured = settings.get(f"{key}.{authority}") or settings.get(key, "")
    return [_address(configured, authority, port, secure)]


def _address(configured: str, rpc: str, port: int, secure: bool) -> Address:
    """Return the configured HTTP address; without a host, that of the RPC address."""
    host, _, number = configured.rpartition(":")
    if not configured or host in _UNSPECIFIED_HOSTS:
        host = rpc.rpartition(":")[0] or rpc
    return Address(host.strip("[]"), int(number) if number.isdigit() else port, secure)


def _identity(authority: str, access: StorageAccess) -> dict[str, str]:
    """Return the request parameters that identify the user: a delegation token, or the name."""
    for service in (authority, f"ha-hdfs:{authority}", *_by_number(authority)):
        if service in access.tokens:
            return {"delegation": access.tokens[service]}
    return {"user.name": access.user} if access.user else {}


def _by_number(authority: str) -> list[str]:
    """Return the authority with its host's IP address: Hadoop's name of a token's service."""
    host, _, port = authority.rpartition(":")
    try:
        found = socket.getaddrinfo(host or authority, None, type=socket.SOCK_STREAM)
    except OSError:  # not a host, but the name of a service
        return []
    return [f"{address[4][0]}:{port or _RPC_PORT}" for address in found]


class HdfsFiles(RemoteFiles):
    """Files of one HDFS. Every request to the name node is atomic, for example a rename."""

    def __init__(self, client: WebHdfs, access: StorageAccess) -> None:
        self._client, self._access = client, access

    def use_tokens(self, tokens: Mapping[str, str]) -> None:
        access = replace(self._access, tokens=tokens)
        self._client.identity = _identity(self._client.service, access)

    def store(self, path: str, content: IO[bytes]) -> None:
        self._client.write(_inner(path), content)

    def replace(self, path: str, data: bytes) -> None:
        """Write a temporary file in the same folder, and rename it to the path."""
        draft = self._write_draft(path, data)
        self._rename(draft, path, replace=True)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        if self.size(path) is not None:
            return False
        draft = self._write_draft(path, data)
        try:
            self._rename(draft, path, replace=False)
        except FileExistsError:
            self.remove(draft)
            return False
        return True

    def _write_draft(self, path: str, data: bytes) -> str:
        folder, name = posixpath.split(path)
        draft = posixpath.join(folder, f"{DRAFT}{uuid.uuid4().hex[:12]}-{name}"[:250])
        self._client.write(_inner(draft), io.BytesIO(data))
        return draft

    def _rename(self, source: str, target: str, replace: bool) -> None:
        self._client.call(
            "PUT",
            "RENAME",
            _inner(source),
            repeats=False,
            destination=_inner(target),
            renameoptions="OVERWRITE" if replace else "NONE",
        )

    def publish(self, source: str, target: str) -> bool:
        self._client.call("PUT", "MKDIRS", _inner(posixpath.dirname(target)))
        try:
            self._rename(source, target, replace=False)
        except FileExistsError:
            return False
        return True

    def read(self, path: str) -> bytes | None:
        try:
            return self._client.read(_inner(path))
        except FileNotFoundError:
            return None

    def read_range(self, path: str, start: int, length: int) -> bytes:
        return self._client.read(_inner(path), start, length)

    def remove(self, path: str) -> None:
        self._client.call("DELETE", "DELETE", _inner(path), recursive="false")

    def remove_folder(self, path: str) -> None:
        self._client.call("DELETE", "DELETE", _inner(path), recursive="true")

    def stat(self, path: str) -> Iterator[ListedFile]:
        status = self._status(path)
        if status is not None and status["type"] == "FILE":
            yield ListedFile(path, int(status["length"]), int(status["modificationTime"]))

    def is_folder(self, path: str) -> bool:
        status = self._status(path)
        return status is not None and status["type"] == "DIRECTORY"

    def exists(self, path: str) -> bool:
        return self._status(path) is not None

    def _status(self, path: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self._client.call("GET", "GETFILESTATUS", _inner(path))
        except FileNotFoundError:
            return None
        status: dict[str, Any] = found["FileStatus"]
        return status

    def entries(self, folder: str) -> list[Entry]:
        """Return the entries of a folder, with temporary files."""
        try:
            answer = self._client.call("GET", "LISTSTATUS", _inner(folder))
        except FileNotFoundError:
            return []
        found = [
            Entry(
                each["pathSuffix"],
                each["type"] == "DIRECTORY",
                int(each["length"]),
                int(each["modificationTime"]),
            )
            for each in answer["FileStatuses"]["FileStatus"]
            if each["pathSuffix"]
        ]
        return sorted(found, key=lambda each: each.name)

    def all_files(self, folder: str) -> list[ListedFile]:
        found: list[ListedFile] = []
        for each in self.entries(folder):
            path = posixpath.join(folder, each.name)
            if each.is_folder:
                found += self.all_files(path)
            else:
                found.append(ListedFile(path, each.size_bytes, each.mtime_ms))
        return sorted(found, key=lambda file: file.path)


def _inner(url: str) -> str:
    """Return the path of a URL within its file system."""
    return split_url(url).path or "/"
