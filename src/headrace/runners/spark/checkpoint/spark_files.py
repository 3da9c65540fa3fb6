"""Checks of the files in Spark's checkpoint, before a start and after a failure.

    metadata                           the query's id
    sources/<n>/<m>                    what Spark's own file source has read
    offsets/<n>, commits/<n>           logs (``progress.py``)
    state/<operator>/_metadata/v2/<n>  an operator, with the paths of its schemas
    state/<operator>/_stateSchema/…
    state/<operator>/<partition>/      <version>_<id>.changelog, <version>_<id>.zip, SSTs/…

On a local file system, Hadoop writes a checksum for each file (``.<name>.crc``), and Spark one of
its own for each file of the state (``<name>.crc``). The names are those of Spark 4.3.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32
from zlib import error as ZlibError

from headrace.common._storage.sealed import START_FRESH
from headrace.errors import CheckpointError

_HINT = f"bring this file back from a copy of the checkpoint, or {START_FRESH}"
_CHECKSUM = ".crc"
_MAGIC = b"crc\0"
_DRAFT_SUFFIX = ".tmp"
_LOG_OFFSET = re.compile(r'\{\s*"logOffset"\s*:\s*(\d+)\s*\}')


def damaged_error(what: str, file: str | Path, problem: str = "") -> CheckpointError:
    """Return the error for a file of Spark's that cannot be used."""
    where = {"file": str(file)} | ({"problem": problem} if problem else {})
    return CheckpointError(what, where=where, hint=_HINT)


def missing_error(what: str, file: str | Path) -> CheckpointError:
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
    folder = Path(spark_folder)
    _json_of(folder / "metadata", "Spark's id of the query")
    if committed < 0:
        return
    for operator in range(stages):
        described = folder / "state" / str(operator) / "_metadata" / "v2"
        last = max(_list_numbered_files(described), default=0)
        description = _json_of(described / str(last), "Spark's description of an operator's state")
        for schema in _list_schema_paths(description):
            if not Path(schema.removeprefix("file:")).exists():
                raise missing_error(
                    "the schema of an operator's state", schema.removeprefix("file:")
                )
    log = folder / "commits" / str(committed)
    ids = _json_of(log, "Spark's note of a committed micro-batch").get("stateUniqueIds") or {}
    for operator, partitions in ids.items():
        for partition, stores in enumerate(partitions):
            if len(stores) == 1:  # Headrace's own; a join of the user's in Spark has several
                state = folder / "state" / operator / str(partition)
                _check_version(state, f"{committed + 1}_{stores[0]}")


def check_sources(spark_folder: str, offsets: Sequence[str]) -> None:
    """Check that Spark's file sources have their lists of files; without, files are read again.

    ``offsets``: the offsets of all sources in a planned micro-batch, in their order.

    Raises:
        CheckpointError: a list is missing.
    """
    for number, text in enumerate(offsets):
        match = _LOG_OFFSET.fullmatch(text.strip())
        if match is not None:
            file = Path(spark_folder) / "sources" / str(number) / match[1]
            if not file.exists() and not file.with_name(f"{file.name}.compact").exists():
                raise missing_error("the list of files that Spark has read", file)


def commit_size_bytes(spark_folder: str, batch: int) -> int | None:
    """Return the size of what a micro-batch (Spark's number) has added to the checkpoint.

    These are its plan, its commit, and the changes of the state. None: a file is not there.
    """
    folder = Path(spark_folder)
    files = [folder / "offsets" / str(batch), folder / "commits" / str(batch)]
    try:
        log = files[-1].read_text(encoding="utf-8").splitlines()[-1]
        for operator, partitions in (json.loads(log).get("stateUniqueIds") or {}).items():
            for partition, stores in enumerate(partitions):
                state = folder / "state" / operator / str(partition)
                files += [_find_version(state, f"{batch + 1}_{store}") for store in stores]
        return sum(file.stat().st_size for file in files)
    except FileNotFoundError:
        return None


def _find_version(state: Path, version: str) -> Path:
    """Return the file with the changes of a version, or with the whole state if there is none."""
    changes = state / f"{version}.changelog"
    return changes if changes.exists() else state / f"{version}.zip"


def _check_version(state: Path, version: str) -> None:
    """Raise CheckpointError if a version of the state has no file."""
    if not any((state / f"{version}.{kind}").exists() for kind in ("changelog", "zip")):
        raise missing_error("state of the last micro-batch", state / f"{version}.changelog")


def _json_of(file: Path, what: str) -> dict[str, Any]:
    """Return the JSON object in the file's last line."""
    try:
        verify_checksum(file)
        content = json.loads(file.read_text(encoding="utf-8").splitlines()[-1])
        if not isinstance(content, dict):
            raise ValueError("it is no JSON object")
    except FileNotFoundError:
        raise missing_error(what, file) from None
    except (OSError, ValueError, IndexError) as error:
        raise damaged_error(f"{what} cannot be read", file, str(error)) from error
    return content


def verify_checksum(file: Path) -> None:
    """Check that the content of a file matches its checksum file, if there is one.

    Raises:
        ValueError: the checksum differs.
    """
    checksum = _checksum_of(file)
    if checksum.exists() and not _matches_checksum(file, checksum.read_bytes()):
        raise ValueError(f"its checksum is wrong (or {checksum.name} is damaged)")


def _list_schema_paths(operator: dict[str, Any]) -> Iterator[str]:
    for store in operator.get("stateStoreInfo", ()):
        yield from store.get("stateSchemaFilePaths", ())


def _list_numbered_files(folder: Path) -> list[int]:
    if not folder.exists():
        return []
    return [int(path.name) for path in folder.iterdir() if path.name.isdigit()]


def relocate(spark_folder: str) -> bool:
    """Update the paths in a folder that was moved or copied; return True if any was updated.

    Spark stores the full path of each state schema, and no other full paths.
    """
    folder, moved = Path(spark_folder), False
    for file in sorted(folder.glob("state/*/_metadata/v2/*")):
        if file.name.isdigit():
            moved = _relocate_operator(file, folder / "state" / file.parts[-4]) or moved
    return moved


def _relocate_operator(file: Path, operator: Path) -> bool:
    description = _json_of(file, "Spark's description of an operator's state")
    version, _, _ = file.read_text(encoding="utf-8").partition("\n")
    moved = False
    for store in description.get("stateStoreInfo", ()):
        before = store.get("stateSchemaFilePaths", [])
        now = [_schema_path(path, operator) for path in before]
        moved, store["stateSchemaFilePaths"] = moved or now != before, now
    if moved:
        draft = file.with_name(f".{file.name}{_DRAFT_SUFFIX}")
        draft.write_text(
            f"{version}\n{json.dumps(description, separators=(',', ':'))}", encoding="utf-8"
        )
        # First remove the checksum: none is fine, a wrong one is not.
        _checksum_of(file).unlink(missing_ok=True)
        os.replace(draft, file)
    return moved


def _schema_path(path: str, operator: Path) -> str:
    """Return the path of a schema below the operator's current folder."""
    mark = "/_stateSchema/"
    if not path.startswith("file:/") or mark not in path:
        return path
    return f"file:{operator}{mark}{path.rpartition(mark)[2]}"


def check_folder(folder: Path, last: str, what: str) -> None:
    """Check that a folder that Spark wrote is complete.

    ``last``: the name of the file that is written last. ``what``: the folder's name in the error.

    Raises:
        CheckpointError: a file is missing or damaged.
    """
    if not (folder / last).exists():
        raise missing_error(f"the end of {what} in the checkpoint", folder / last)
    part = f"a file of {what} in the checkpoint"
    for file in sorted(folder.iterdir()):
        described = file_of_checksum(file)
        if described is not None and not described.exists():
            raise missing_error(part, described)
        try:
            verify_checksum(file)
        except (OSError, ValueError) as error:
            raise damaged_error(f"{part} is damaged", file, str(error)) from error


# After a failure.


def first_broken(spark_folder: str) -> tuple[Path, str] | None:
    """Return the first damaged or missing file, and its problem; None if all are in order.

    It reads all of the state, so it is for queries that have failed.
    """
    files = sorted(path for path in Path(spark_folder).rglob("*") if path.is_file())
    for file in files:
        problem = _find_problem(file)
        if problem is not None:
            return file, problem
    for file in files:
        lost = file_of_checksum(file)
        if lost is not None and not lost.exists():
            return lost, "it is missing"
    return None


def _find_problem(file: Path) -> str | None:
    """Describe the damage of a file; return None if the file is intact or not checked."""
    name = file.name
    if name.startswith(".") or name.endswith(_DRAFT_SUFFIX):
        return None
    try:
        verify_checksum(file)
    except ValueError as error:
        return str(error)
    if name.endswith(".zip"):
        return _find_problem_in_zip(file)
    if name.endswith(_CHECKSUM):
        try:
            expected_bytes = json.loads(file.read_text(encoding="utf-8"))["mainFileSize"]
        except (ValueError, KeyError, TypeError) as error:
            return f"it is no checksum of Spark's: {error}"
        described = file.with_name(name.removesuffix(_CHECKSUM))
        if described.exists() and described.stat().st_size != expected_bytes:
            return f"{described.name} has {described.stat().st_size} bytes, not {expected_bytes}"
    return None


def _find_problem_in_zip(file: Path) -> str | None:
    try:
        with zipfile.ZipFile(file) as snapshot:
            inside = snapshot.testzip()
    except (zipfile.BadZipFile, EOFError, ZlibError, NotImplementedError) as error:
        return f"it is no whole archive: {error}"
    return None if inside is None else f"{inside} in it is damaged"


def _checksum_of(file: Path) -> Path:
    return file.with_name(f".{file.name}{_CHECKSUM}")


def _matches_checksum(file: Path, checksum: bytes) -> bool:
    """Return whether a file matches Hadoop's checksum, a CRC-32 for each block."""
    if not checksum.startswith(_MAGIC):
        return True  # Hadoop ignores it too
    size = int.from_bytes(checksum[4:8], "big")
    if size <= 0:
        return False
    with file.open("rb") as content:
        pieces = iter(lambda: content.read(size), b"")
        return checksum[8:] == b"".join(crc32(piece).to_bytes(4, "big") for piece in pieces)


def file_of_checksum(file: Path) -> Path | None:
    """Return the file that a checksum file belongs to; None for other files.

    If it is missing, it was lost: Hadoop creates a file before its checksum, and removes the
    checksum first.
    """
    name = file.name
    if not name.endswith(_CHECKSUM):
        return None
    described = name.removesuffix(_CHECKSUM).removeprefix(".")
    if described.startswith(".") or described.endswith(_DRAFT_SUFFIX):
        return None
    return file.with_name(described)
