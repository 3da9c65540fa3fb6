"""The header of every stored object: its format, its version and a checksum.

    headrace 1 <sha256 of all that follows, in hex> {"format": ..., "version": ..., ...}
    <payload>

``seal`` adds the header to a payload; ``unseal`` checks and removes it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from headrace import __version__
from headrace.common._options.catalogue import FRESH_VARIABLE
from headrace.common._storage.object_store import ObjectStore
from headrace.errors import CheckpointError

_MAGIC = b"headrace 1 "
_ANY_MAGIC = b"headrace "
_DIGEST_BYTES = 64
START_FRESH = f"start anew (`headrace run --fresh`, or {FRESH_VARIABLE}=1 in the environment)"
"""Part of a hint: how to start without the checkpoint."""
_DAMAGED_HINT = f"restore this object from a copy of the checkpoint, or {START_FRESH}"


@dataclass(frozen=True)
class ObjectFormat:
    """A format's name, the version that is written, and the oldest version that is read."""

    name: str
    version: int = 1
    oldest: int = 1


@dataclass(frozen=True)
class Unsealed:
    """An object whose checksum is right: the version of its format, and its content."""

    version: int
    payload: bytes


def seal(kind: ObjectFormat, payload: bytes) -> bytes:
    """Return the payload with its header."""
    header = {
        "format": kind.name,
        "version": kind.version,
        "bytes": len(payload),
        "written by": __version__,
    }
    body = json.dumps(header).encode() + b"\n" + payload
    return _MAGIC + sha256(body).hexdigest().encode() + b" " + body


def unseal(kind: ObjectFormat, data: bytes, location: str) -> Unsealed:
    """Return the payload and version of an object that ``seal`` made.

    ``location`` is for the error.

    Raises:
        CheckpointError: the object is truncated or damaged, or has another format, or a version
            that this Headrace cannot read.
    """
    start = len(_MAGIC) + _DIGEST_BYTES
    if not data.startswith(_MAGIC):
        raise _unreadable_error(_without_magic(data), location)
    digest, body = data[len(_MAGIC) : start], data[start + 1 :]
    line, newline, payload = body.partition(b"\n")
    if data[start : start + 1] != b" " or sha256(body).hexdigest().encode() != digest:
        raise _unreadable_error(_describe_damage(line, newline, payload), location)
    header = json.loads(line)
    if header["format"] != kind.name:
        raise _unreadable_error(f"is a {header['format']!r}, not a {kind.name!r}", location)
    version = header["version"]
    if not kind.oldest <= version <= kind.version:
        raise _version_error(kind, header, location)
    return Unsealed(version, payload)


def put_json(store: ObjectStore, name: str, kind: ObjectFormat, value: Any) -> None:
    """Store a JSON value with its header."""
    store.put(name, seal(kind, json_bytes(value)))


def get_json(store: ObjectStore, name: str, kind: ObjectFormat) -> Any | None:
    """Return a stored JSON value; None if the object does not exist.

    Raises:
        CheckpointError: as ``unseal`` does.
    """
    data = store.get(name)
    if data is None:
        return None
    return json.loads(unseal(kind, data, store.location(name)).payload)


def json_bytes(value: Any) -> bytes:
    """Return a JSON value as indented text in UTF-8."""
    return json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"


def missing_object(what: str, location: str) -> CheckpointError:
    """Return the error for an object that must exist and does not."""
    return CheckpointError(f"{what} is missing", where={"object": location}, hint=_DAMAGED_HINT)


def _without_magic(data: bytes) -> str:
    if not data:
        return "is empty"
    if data.startswith(_ANY_MAGIC):
        return "has a header that this version does not know: it is damaged, or of a later version"
    if _MAGIC.startswith(data):
        return "is cut short"
    return "was not written by Headrace, or its beginning is damaged"


def _describe_damage(line: bytes, newline: bytes, payload: bytes) -> str:
    """Describe the damage of an object whose checksum is wrong."""
    try:
        wanted = json.loads(line)["bytes"]
    except (ValueError, KeyError, TypeError):
        return "has a damaged header" if newline else "is cut short"
    if isinstance(wanted, int) and len(payload) < wanted:
        return f"is cut short: {len(payload)} of {wanted} bytes are there"
    return "is damaged: its checksum is wrong"


def _unreadable_error(problem: str, location: str) -> CheckpointError:
    return CheckpointError(
        f"a stored object {problem}", where={"object": location}, hint=_DAMAGED_HINT
    )


def _version_error(kind: ObjectFormat, header: dict[str, Any], location: str) -> CheckpointError:
    readable = str(kind.version)
    if kind.oldest < kind.version:
        readable = f"{kind.oldest} to {kind.version}"
    return CheckpointError(
        f"version {header['version']} of the format {kind.name!r}, written by Headrace"
        f" {header.get('written by', 'of an unknown version')}, cannot be read by Headrace"
        f" {__version__}, which reads {readable}",
        where={"object": location},
        hint=f"run the job with the Headrace that wrote it, or {START_FRESH}",
    )
