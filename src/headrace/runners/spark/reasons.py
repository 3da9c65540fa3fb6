"""Short explanations of Spark's failures: what happened, where, and what to do.

Spark's messages start with ids of the query and numbers of the task, before the reason. The
patterns are those of Spark 4.2 and 4.3.
"""

from __future__ import annotations

import re
import signal
from typing import NamedTuple

from headrace.runners.spark.failures import reason_in
from headrace.runners.spark.missing_on_workers import find_missing

_QUERY = re.compile(r"^\[STREAM_FAILED\] Query \[[^\]]*\] terminated with exception: ")
_TASK = re.compile(
    r"^(?:Job aborted due to stage failure: )?Task (?P<task>\d+) in stage (?P<stage>[\d.]+) failed"
    r" (?P<times>\d+) times?, most recent failure: Lost task [\d.]+ in stage [\d.]+"
    r" \(TID \d+\) \((?P<host>[^)]*)\): "
)
_WORKER_DIED = ("Python worker exited unexpectedly", "Python worker failed to connect back")
_EXECUTOR_LOST = re.compile(r"ExecutorLostFailure \(executor (?P<id>\S+) [^)]*\)\s*Reason: (.*)")
_EXIT_CODE = re.compile(r"exit(?:ed)?(?: with)?(?: exit)? (?:code|status):? (?P<code>\d+)")
_FULL_DISK = re.compile(
    r"(?:(?P<file>/[^\s:]+): )?(?P<what>No space left on device|Disk quota exceeded)"
)
_READ_ONLY = re.compile(r"(?:(?P<file>/[^\s:(]+)[:\s(]+)?Read-only file system")
_NO_MESSAGE = re.compile(r"SQLSTATE: \w+")
_END_OF_FILE = "java.io.EOFException"
_FATAL_PYTHON_ERROR = re.compile(r"Fatal Python error: (?P<what>[^\n]+)")
_NO_FILE_SYSTEM = re.compile(
    r"Class(?:NotFoundException|DefFoundError)?:? (?:Class )?"
    r"(?P<name>[\w./]*(?:s3a|azurebfs|awssdk)[\w./]*)"
)

_SIGKILL_EXIT_CODE = 128 + signal.SIGKILL
_MEMORY_HINT = (
    "the system kills a process usually because memory is short: give the job fewer cores"
    " (parallelism.default) or smaller micro-batches (headrace.source.max-records-per-batch)"
)
_CRASH_HINT = (
    "to see where a library crashes:"
    " headrace.spark.conf.spark.python.worker.faulthandler.enabled=true"
)


class ErrorParts(NamedTuple):
    """The parts of a ``JobError``."""

    message: str
    where: dict[str, str]
    hint: str | None = None


def explain_failure(text: str, kind: str) -> ErrorParts:
    """Return the error for a failure of Spark.

    ``kind``: the type of the exception at its root, for a failure without a text.
    """
    text = _QUERY.sub("", text.strip())
    where: dict[str, str] = {}
    task = _TASK.match(text)
    if task is not None:
        where["task"] = f"{task['task']} of stage {task['stage']}, tried {task['times']} times"
        where["host"] = task["host"].removesuffix(" executor driver")
        text = text[task.end() :]
    missing = find_missing(text)
    if missing is not None:
        return ErrorParts(missing.message, where, missing.hint)
    reason = reason_in(text)
    if not reason or _NO_MESSAGE.fullmatch(reason):
        reason = kind
    lost = _EXECUTOR_LOST.search(text)
    # Spark waited for an answer of the process that plans, and had no message for its end.
    if any(part in text for part in _WORKER_DIED) or reason == _END_OF_FILE:
        return ErrorParts(_worker_died(text), where, f"{_MEMORY_HINT}; {_CRASH_HINT}")
    if lost is not None:
        return ErrorParts(
            f"an executor of Spark died: {_exit_code_text(text) or lost[2]}", where, _MEMORY_HINT
        )
    if "OutOfMemoryError" in text:
        return ErrorParts(f"Spark's JVM ran out of memory: {reason}", where, _jvm_hint())
    return ErrorParts(f"Spark stopped the job: {reason}", where, _storage_hint(text))


def full_disk_error(text: str) -> ErrorParts | None:
    """Return an error if a message of Spark or Java reports a full disk; otherwise None."""
    match = _FULL_DISK.search(text)
    if match is None:
        return None
    return ErrorParts(
        f"a disk that Spark writes to is full: {match['what']}",
        {"file": match["file"]} if match["file"] else {},
        "free space on the disks of execution.checkpointing.dir and of"
        " headrace.spark.conf.spark.local.dir (/tmp by default), then start the program again",
    )


def read_only_error(text: str) -> ErrorParts | None:
    """Return an error if a message of Spark or Java reports a read-only disk; otherwise None."""
    match = _READ_ONLY.search(text)
    if match is None:
        return None
    return ErrorParts(
        "a disk that Spark writes to is read-only",
        {"file": match["file"]} if match["file"] else {},
        "a system mounts a disk read-only when it has errors: see that it can be written to, then"
        " start the program again",
    )


def explain_lost_jvm(code: int | None) -> ErrorParts:
    """Return the message and hint for a JVM that does not answer.

    ``code``: its exit code (128 + n: signal n), if known.
    """
    again = "start the program again: a job with a checkpoint continues from its last micro-batch"
    if code is None:
        return ErrorParts("Spark's JVM has ended, or no longer answers", {}, again)
    hint = f"{_MEMORY_HINT}; {again}" if code == _SIGKILL_EXIT_CODE else again
    return ErrorParts(f"Spark's JVM has ended: {_exit_text(code)}", {}, hint)


def _worker_died(text: str) -> str:
    fatal = _FATAL_PYTHON_ERROR.search(text)
    if fatal is not None:
        return f"a Python worker of Spark crashed: {fatal['what'].strip()}"
    how = _exit_code_text(text) or "it was killed, it ended itself, or a library crashed it"
    return f"a Python worker of Spark died without an exception: {how}"


def _exit_code_text(text: str) -> str | None:
    """Return the meaning of an exit code in the text; None if there is none."""
    match = _EXIT_CODE.search(text)
    return None if match is None else _exit_text(int(match["code"]))


def _exit_text(code: int) -> str:
    """Return how a process ended; codes above 128 are signals."""
    if code == _SIGKILL_EXIT_CODE:
        return f"it was killed (exit code {code}, SIGKILL)"
    if code > 128 and code - 128 in {number.value for number in signal.Signals}:
        return f"it ended by {signal.Signals(code - 128).name} (exit code {code})"
    return f"it ended with exit code {code}"


def _jvm_hint() -> str:
    return "give it more memory: headrace.spark.conf.spark.driver.memory (2g by default)"


def _storage_hint(text: str) -> str | None:
    """Return a hint if Spark lacks the classes of a storage; otherwise None."""
    lacking = _NO_FILE_SYSTEM.search(text)
    if lacking is None:
        return None
    module = "hadoop-azure" if "azure" in lacking["name"] else "hadoop-aws"
    return (
        f"Spark needs the jars of this storage, in the version of its own Hadoop:"
        f" spark.jars.packages = org.apache.hadoop:{module}:<version>"
    )
