"""Why Spark stopped a job, in a sentence: what happened, where, and what to do.

Its own messages name the query by two ids, the task by four numbers, and then the reason. The
patterns are those of Spark 4.3.
"""

from __future__ import annotations

import re
import signal
from typing import NamedTuple

from headrace.runners.spark.failures import reason_in

_QUERY = re.compile(r"^\[STREAM_FAILED\] Query \[[^\]]*\] terminated with exception: ")
_TASK = re.compile(
    r"^(?:Job aborted due to stage failure: )?Task (?P<task>\d+) in stage (?P<stage>[\d.]+) failed"
    r" (?P<times>\d+) times?, most recent failure: Lost task [\d.]+ in stage [\d.]+"
    r" \(TID \d+\) \((?P<host>[^)]*)\): "
)
_WORKER_DIED = ("Python worker exited unexpectedly", "Python worker failed to connect back")
_EXECUTOR_LOST = re.compile(r"ExecutorLostFailure \(executor (?P<id>\S+) [^)]*\)\s*Reason: (.*)")
_EXIT_CODE = re.compile(r"exit(?:ed)?(?: with)?(?: exit)? (?:code|status):? (?P<code>\d+)")
_FULL = re.compile(
    r"(?:(?P<file>/[^\s:]+): )?(?P<what>No space left on device|Disk quota exceeded)"
)
_FATAL = re.compile(r"Fatal Python error: (?P<what>[^\n]+)")
_NO_MODULE = re.compile(r"No module named '(?P<name>[^'.]+)")

_KILLED = 128 + signal.SIGKILL
_MEMORY = (
    "the system kills a process mostly for want of memory: give the job fewer cores"
    " (parallelism.default) or smaller micro-batches (headrace.source.max-records-per-batch)"
)
_CRASH = (
    "to see where a library crashes:"
    " headrace.spark.conf.spark.python.worker.faulthandler.enabled=true"
)


class Story(NamedTuple):
    """The parts of a ``JobError``."""

    message: str
    where: dict[str, str]
    hint: str | None = None


def story_of(text: str, kind: str) -> Story:
    """The message for a failure of Spark. ``kind`` is its type, for a failure without a text."""
    text = _QUERY.sub("", text.strip())
    where: dict[str, str] = {}
    task = _TASK.match(text)
    if task is not None:
        where["task"] = f"{task['task']} of stage {task['stage']}, tried {task['times']} times"
        where["host"] = task["host"].removesuffix(" executor driver")
        text = text[task.end() :]
    reason = reason_in(text) or kind
    lost = _EXECUTOR_LOST.search(text)
    if any(part in text for part in _WORKER_DIED):
        return Story(_worker_died(text), where, f"{_MEMORY}; {_CRASH}")
    if lost is not None:
        return Story(f"an executor of Spark died: {_ended(text) or lost[2]}", where, _MEMORY)
    if "OutOfMemoryError" in text:
        return Story(f"Spark's JVM ran out of memory: {reason}", where, _jvm_hint())
    return Story(f"Spark stopped the job: {reason}", where, hint_for(text))


def full_disk(text: str) -> Story | None:
    """The message where a text of Spark's or Java's says that a disk is full; else None."""
    found = _FULL.search(text)
    if found is None:
        return None
    return Story(
        f"a disk that Spark writes to is full: {found['what']}",
        {"file": found["file"]} if found["file"] else {},
        "make room where the checkpoint lies (execution.checkpointing.dir) and under"
        " headrace.spark.conf.spark.local.dir (/tmp without it), then start the program again",
    )


def story_of_lost_jvm(code: int | None) -> Story:
    """The message where the JVM does not answer; ``code``: its exit code (128 + n: signal n)."""
    again = "start the program again: a job with a checkpoint continues from its last micro-batch"
    if code is None:
        return Story("Spark's JVM has ended, or does not answer any more", {}, again)
    hint = f"{_MEMORY}; {again}" if code == _KILLED else again
    return Story(f"Spark's JVM has ended: {_end_of(code)}", {}, hint)


def _worker_died(text: str) -> str:
    fatal = _FATAL.search(text)
    if fatal is not None:
        return f"a Python worker of Spark crashed: {fatal['what'].strip()}"
    how = _ended(text) or "it was killed, or ended itself, or a library crashed it"
    return f"a Python worker of Spark died without an exception: {how}"


def _ended(text: str) -> str | None:
    """What an exit code in the text means."""
    found = _EXIT_CODE.search(text)
    return None if found is None else _end_of(int(found["code"]))


def _end_of(code: int) -> str:
    """How a process ended; codes above 128 are signals."""
    if code == _KILLED:
        return f"it was killed (exit code {code}, SIGKILL)"
    if code > 128 and code - 128 in {number.value for number in signal.Signals}:
        return f"it ended by {signal.Signals(code - 128).name} (exit code {code})"
    return f"it ended with exit code {code}"


def _jvm_hint() -> str:
    return "give it more memory: headrace.spark.conf.spark.driver.memory (2g without more)"


def hint_for(text: str) -> str | None:
    """What to do about a failure that has a known remedy."""
    missing = _NO_MODULE.search(text)
    if missing is None:
        return None
    if missing["name"] == "headrace":
        return (
            "Spark's workers run a Python without Headrace: before the session is made, set"
            " PYSPARK_PYTHON to one that has it"
        )
    return (
        f"of an imported module only the name travels, and the worker imports it: install"
        f" {missing['name']} where the workers run, or give it to spark.submit.pyFiles or addPyFile"
    )
