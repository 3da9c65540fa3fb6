"""Detects damage to Spark's part of a checkpoint, and names the file.

It is detected by the classes of Java exceptions and by Spark's error conditions, as of Spark 4.2
and 4.3. Messages alone do not count, as they may be a user's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from py4j.protocol import Py4JError

from headrace.common._storage.locations import file_system_of
from headrace.errors import CheckpointError
from headrace.runners.spark.checkpoint.spark_files import damaged_error, first_broken


class Cause(NamedTuple):
    """One exception of a Java cause chain."""

    kind: str
    message: str

    @property
    def condition(self) -> str:
        """Spark's error condition, such as ``CANNOT_LOAD_STATE_STORE.UNCATEGORIZED``; or empty."""
        match = (
            _CONDITION.match(self.message) if self.kind.startswith("org.apache.spark.") else None
        )
        return "" if match is None else match[1]


_CONDITION = re.compile(r"\[([A-Z_0-9]+(?:\.[A-Z_0-9]+)?)\] ")
_USER_ERROR = "org.apache.spark.api.python.PythonException"
_LOADING = "CANNOT_LOAD_STATE_STORE"
_CONDITIONS = (
    _LOADING,
    "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED",
    "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
    "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
    "STDS_FAILED_TO_READ_",
    "INVALID_CHANGE_LOG_",
)
_UNREADABLE_ERRORS = (
    "org.apache.hadoop.fs.ChecksumException",
    "java.io.EOFException",
    "java.util.zip.ZipException",
    "com.fasterxml.jackson.",
    "net.jpountz.lz4.LZ4Exception",
)
_MISSING_ERRORS = (
    "java.io.FileNotFoundException",
    "java.nio.file.NoSuchFileException",
    "java.lang.IllegalStateException",  # of a log in which an older file is missing
)
_MISSING_TEXTS = ("does not exist", "doesn't exist", "No such file")
_SECONDARY_ERRORS = ("java.lang.NullPointerException", "java.lang.NumberFormatException")
_ROCKSDB = "org.rocksdb.RocksDBException"
_CORRUPT = re.compile(r"corrupt|mismatch", re.IGNORECASE)
_MAX_PROBLEM_CHARS = 300
_MAX_CAUSES = 20


def causes_of(error: BaseException) -> list[Cause]:
    """Return the Java exceptions in a PySpark error, outermost first; its text hides most.

    Empty if there are none, or the JVM does not answer any more.
    """
    java: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    causes: list[Cause] = []
    try:
        while java is not None and len(causes) < _MAX_CAUSES:
            causes.append(Cause(java.getClass().getName(), java.getMessage() or ""))
            java = java.getCause()
    except Py4JError:
        return []
    return causes


def java_reason(causes: Sequence[Cause]) -> str:
    """Return a chain of Java exceptions in one line: the outermost, and the one at its root."""
    first, last = causes[0], causes[-1]
    reasons = [_first_line(first) or first.kind]
    if last is not first:
        reasons.append(f"{last.kind.rpartition('.')[2]}: {_first_line(last)}")
    return "; ".join(reasons)


def damage_in(
    causes: Sequence[Cause], checkpoint: str, spark_folder: str
) -> CheckpointError | None:
    """Return the error for a cause chain (outermost first); None if it does not show damage.

    ``checkpoint``: only files below this folder count.
    """
    if not causes or any(cause.kind == _USER_ERROR for cause in causes):
        return None
    inside = re.compile(re.escape(checkpoint) + r"/[^\s:,;'\"]+")
    for cause in reversed(causes):
        named_file = inside.search(cause.message)
        if named_file is not None and _shows_damage(cause):
            # If Spark names only a folder, all files are checked.
            broken = (
                first_broken(spark_folder)
                if file_system_of(named_file[0]).is_folder(named_file[0])
                else None
            )
            return _damage_error(*(broken or (named_file[0], _first_line(cause))))
    if not _may_be_damage(causes):
        return None
    broken = first_broken(spark_folder)
    if broken is not None:
        return _damage_error(*broken)
    if any(cause.condition.startswith(_LOADING) for cause in causes):
        return _damage_error(f"{spark_folder}/state", _first_line(causes[-1]) or causes[-1].kind)
    return None


def _damage_error(file: str, problem: str) -> CheckpointError:
    return damaged_error("Spark's part of the checkpoint is damaged", file, problem)


def _shows_damage(cause: Cause) -> bool:
    if cause.kind in _MISSING_ERRORS:
        return any(part in cause.message for part in _MISSING_TEXTS)
    return cause.kind.startswith(_UNREADABLE_ERRORS) or _has_condition(cause)


def _has_condition(cause: Cause) -> bool:
    return cause.condition.startswith(_CONDITIONS)


def _may_be_damage(causes: Sequence[Cause]) -> bool:
    """Return whether to check all files: not if the last cause is, for example, a full disk."""
    last = causes[-1]
    if last.kind == _ROCKSDB:
        return _CORRUPT.search(last.message) is not None
    loading = any(map(_has_condition, causes))
    return last.kind.startswith(_UNREADABLE_ERRORS) or (
        loading and (last.kind in _SECONDARY_ERRORS or _has_condition(last))
    )


def _first_line(cause: Cause) -> str:
    line = cause.message.strip().partition("\n")[0]
    return line if len(line) <= _MAX_PROBLEM_CHARS else f"{line[:_MAX_PROBLEM_CHARS]} …"
