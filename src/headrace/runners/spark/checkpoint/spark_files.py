"""Checks of the files in Spark's checkpoint, before a start and after a failure.

    metadata                           the query's id
    sources/<n>/<m>                    what Spark's own file source has read
    offsets/<n>, commits/<n>           logs (``progress.py``)
    state/<operator>/_metadata/v2/<n>  an operator, with the paths of its schemas
    state/<operator>/_stateSchema/…
    state/<operator>/<partition>/      <version>_<id>.changelog, <version>_<id>.zip, SSTs/…

On a local file system, Hadoop writes a checksum for each file (``.<name>.crc``); other file systems
have their own. Spark writes one for each file of the state (``<name>.crc``). The names are those of
Spark 4.2 and 4.3.
"""

from __future__ import annotations

import json
import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any
from zlib import crc32
from zlib import error as ZlibError

from headrace.common._storage.locations import file_system_of, is_url, open_file
from headrace.common._storage.sealed import START_FRESH
from headrace.errors import CheckpointError

_HINT = (
    "go back to a restore point (`headrace checkpoints restore`), bring this file back from a copy"
    f" of the checkpoint, or {START_FRESH}"
)
_CHECKSUM = ".crc"
_MAGIC = b"crc\0"
_DRAFT_SUFFIX = ".tmp"
_LOG_OFFSET = re.compile(r'\{\s*"logOffset"\s*:\s*(\d+)\s*\}')


def damaged_error(what: str, file: str, problem: str = "") -> CheckpointError:
    """Return the error for a file of Spark's that cannot be used."""
    where = {"file": file} | ({"problem": problem} if problem else {})
    return CheckpointError(what, where=where, hint=_HINT)


def missing_error(what: str, file: str) -> CheckpointError:
    """Return the error for a missing file of Spark's; ``what``: its content."""
    return damaged_error(f"{what} is missing", file)


# Before a start.


def check_files(spark_folder: str, committed: int, stages: int) -> None:
    """Check the files that Spark opens first; Spark checks the files that tasks read.

    ``committed``: the last completed micro-batch. ``stages``: the number of stateful operators at
    that time.

    Raises:
        CheckpointError: a file is missing or damaged.
    """
    join, files = posixpath.join, file_system_of(spark_folder)
    _json_of(join(spark_folder, "metadata"), "Spark's file with the id of the query")
    if committed < 0:
        return
    for operator in range(stages):
        described = join(spark_folder, "state", str(operator), "_metadata", "v2")
        last = max(_list_numbered_files(described), default=0)
        description = _json_of(
            join(described, str(last)), "Spark's description of an operator's state"
        )
        for schema in _list_schema_paths(description):
            if files.size(schema.removeprefix("file:")) is None:
                raise missing_error(
                    "the schema of an operator's state", schema.removeprefix("file:")
                )
    log = join(spark_folder, "commits", str(committed))
    ids = _json_of(log, "the commit of a micro-batch in Spark's log").get("stateUniqueIds") or {}
    for operator, partitions in ids.items():
        for partition, stores in enumerate(partitions):
            if len(stores) == 1:  # Headrace's own; a join of the user's in Spark has several
                state = join(spark_folder, "state", operator, str(partition))
                _check_version(state, f"{committed + 1}_{stores[0]}")


def check_sources(spark_folder: str, offsets: Sequence[str]) -> None:
    """Check that Spark's file sources have their lists of files; without, files are read again.

    ``offsets``: the offsets of all sources in a planned micro-batch, in their order.

    Raises:
        CheckpointError: a list is missing.
    """
    files = file_system_of(spark_folder)
    for number, text in enumerate(offsets):
        match = _LOG_OFFSET.fullmatch(text.strip())
        if match is not None:
            file = posixpath.join(spark_folder, "sources", str(number), match[1])
            if files.size(file) is None and files.size(f"{file}.compact") is None:
                raise missing_error("the list of files that Spark has read", file)


def commit_size_bytes(spark_folder: str, batch: int) -> int | None:
    """Return how many bytes a micro-batch (Spark's number) has added to a local checkpoint.

    They are its plan, its commit, and the changes of state. None if a file is missing, or if the
    checkpoint is on remote storage, where this would need a request for each partition.
    """
    if is_url(spark_folder):
        return None
    join, size_of = posixpath.join, file_system_of(spark_folder).size
    commit = join(spark_folder, "commits", str(batch))
    log = file_system_of(commit).read(commit)
    if log is None:
        return None
    sizes = [len(log), size_of(join(spark_folder, "offsets", str(batch)))]
    ids = json.loads(log.decode().splitlines()[-1]).get("stateUniqueIds") or {}
    for operator, partitions in ids.items():
        for partition, stores in enumerate(partitions):
            state = join(spark_folder, "state", operator, str(partition))
            for version in (join(state, f"{batch + 1}_{store}") for store in stores):
                changes = size_of(f"{version}.changelog")
                sizes.append(size_of(f"{version}.zip") if changes is None else changes)
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _check_version(state: str, version: str) -> None:
    """Raise CheckpointError if a version of the state has no file."""
    files, path = file_system_of(state), posixpath.join(state, version)
    if all(files.size(f"{path}.{kind}") is None for kind in ("changelog", "zip")):
        raise missing_error("state of the last micro-batch", f"{path}.changelog")


def _json_of(file: str, what: str) -> dict[str, Any]:
    """Return the JSON object in the file's last line."""
    data = file_system_of(file).read(file)
    if data is None:
        raise missing_error(what, file)
    try:
        verify_checksum(file, data)
        content = json.loads(data.decode().splitlines()[-1])
        if not isinstance(content, dict):
            raise ValueError("it is no JSON object")
    except (OSError, ValueError, IndexError) as error:
        raise damaged_error(f"{what} cannot be read", file, str(error)) from error
    return content


def verify_checksum(file: str, data: bytes | None = None) -> None:
    """Check that the content of a local file matches its checksum file, if there is one.

    ``data``: the content, if it was read already.

    Raises:
        ValueError: the checksum differs.
    """
    if is_url(file):
        return
    files, checksum = file_system_of(file), _checksum_of(file)
    expected = files.read(checksum)
    if expected is not None:
        content = data if data is not None else files.read(file) or b""
        if not _matches_checksum(content, expected):
            name = posixpath.basename(checksum)
            raise ValueError(f"its checksum is wrong (or {name} is damaged)")


def _list_schema_paths(operator: dict[str, Any]) -> Iterator[str]:
    for store in operator.get("stateStoreInfo", ()):
        yield from store.get("stateSchemaFilePaths", ())


def _list_numbered_files(folder: str) -> list[int]:
    return [int(name) for name in file_system_of(folder).names(folder) if name.isdigit()]


def relocate(spark_folder: str) -> bool:
    """Update the paths in a folder that was moved or copied; return True if any was updated.

    Spark stores the full path of each state schema, and no other full paths.
    """
    files, moved = file_system_of(spark_folder), False
    states = posixpath.join(spark_folder, "state")
    for operator in files.names(states):
        described = posixpath.join(states, operator, "_metadata", "v2")
        for number in sorted(_list_numbered_files(described)):
            file = posixpath.join(described, str(number))
            moved = _relocate_operator(file, posixpath.join(states, operator)) or moved
    return moved


def _relocate_operator(file: str, operator: str) -> bool:
    description = _json_of(file, "Spark's description of an operator's state")
    files = file_system_of(file)
    version, _, _ = (files.read(file) or b"").decode().partition("\n")
    moved = False
    for store in description.get("stateStoreInfo", ()):
        before = store.get("stateSchemaFilePaths", [])
        now = [_schema_path(path, operator) for path in before]
        moved, store["stateSchemaFilePaths"] = moved or now != before, now
    if moved:
        # First remove the checksum: none is fine, a wrong one is not.
        if not is_url(file):
            files.remove(_checksum_of(file))
        files.replace(file, f"{version}\n{json.dumps(description, separators=(',', ':'))}".encode())
    return moved


def _schema_path(path: str, operator: str) -> str:
    """Return the path of a schema below the operator's current folder."""
    mark = "/_stateSchema/"
    if not (path.startswith("file:/") or is_url(path)) or mark not in path:
        return path
    top = operator if is_url(operator) else f"file:{operator}"
    return f"{top}{mark}{path.rpartition(mark)[2]}"


def check_folder(folder: str, last: str, what: str) -> None:
    """Check that a folder that Spark wrote is complete.

    ``last``: the name of the file that is written last. ``what``: the folder's name in the error.

    Raises:
        CheckpointError: a file is missing or damaged.
    """
    names = file_system_of(folder).names(folder)
    if last not in names:
        raise missing_error(f"the end of {what} in the checkpoint", posixpath.join(folder, last))
    part = f"a file of {what} in the checkpoint"
    for name in names:
        file, described = posixpath.join(folder, name), file_of_checksum(name)
        if described is not None and described not in names:
            raise missing_error(part, posixpath.join(folder, described))
        try:
            verify_checksum(file)
        except (OSError, ValueError) as error:
            raise damaged_error(f"{part} is damaged", file, str(error)) from error


# After a failure.


def first_broken(spark_folder: str) -> tuple[str, str] | None:
    """Return the first damaged or missing file, and its problem; None if all are in order.

    It reads all of the state, so it is for queries that have failed.
    """
    found = [file.path for file in file_system_of(spark_folder).all_files(spark_folder)]
    for file in found:
        problem = _find_problem(file)
        if problem is not None:
            return file, problem
    for file in found:
        folder, name = posixpath.split(file)
        lost = file_of_checksum(name)
        if lost is not None and posixpath.join(folder, lost) not in found:
            return posixpath.join(folder, lost), "it is missing"
    return None


def _find_problem(file: str) -> str | None:
    """Describe the damage of a file; return None if the file is intact or not checked."""
    name = posixpath.basename(file)
    if name.startswith(".") or name.endswith(_DRAFT_SUFFIX):
        return None
    try:
        verify_checksum(file)
    except ValueError as error:
        return str(error)
    if name.endswith(".zip"):
        return _find_problem_in_zip(file)
    if name.endswith(_CHECKSUM):
        files = file_system_of(file)
        try:
            expected_bytes = json.loads(files.read(file) or b"")["mainFileSize"]
        except (ValueError, KeyError, TypeError) as error:
            return f"it is no checksum of Spark's: {error}"
        size_bytes = files.size(file.removesuffix(_CHECKSUM))
        if size_bytes is not None and size_bytes != expected_bytes:
            described = name.removesuffix(_CHECKSUM)
            return f"{described} has {size_bytes} bytes, not {expected_bytes}"
    return None


def _find_problem_in_zip(file: str) -> str | None:
    try:
        with open_file(file) as content, zipfile.ZipFile(content) as snapshot:
            inside = snapshot.testzip()
    except (zipfile.BadZipFile, EOFError, ZlibError, NotImplementedError) as error:
        return f"it is no whole archive: {error}"
    return None if inside is None else f"{inside} in it is damaged"


def _checksum_of(file: str) -> str:
    folder, name = posixpath.split(file)
    return posixpath.join(folder, f".{name}{_CHECKSUM}")


def _matches_checksum(content: bytes, checksum: bytes) -> bool:
    """Return whether a file matches Hadoop's checksum, a CRC-32 for each block."""
    if not checksum.startswith(_MAGIC):
        return True  # Hadoop ignores it too
    size = int.from_bytes(checksum[4:8], "big")
    if size <= 0:
        return False
    pieces = (content[at : at + size] for at in range(0, len(content), size))
    return checksum[8:] == b"".join(crc32(piece).to_bytes(4, "big") for piece in pieces)


def file_of_checksum(name: str) -> str | None:
    """Return the name of the file that a checksum file belongs to; None for other files.

    If it is missing, it was lost: Hadoop creates a file before its checksum, and removes the
    checksum first.
    """
    if not name.endswith(_CHECKSUM):
        return None
    described = name.removesuffix(_CHECKSUM).removeprefix(".")
    if described.startswith(".") or described.endswith(_DRAFT_SUFFIX):
        return None
    return described
