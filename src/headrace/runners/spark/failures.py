"""How an exception gets from a Python worker through the JVM to the user.

Spark turns it into text inside a Java exception. This text contains the pickled exception between
two markers. The driver unpickles it and raises it again, with one traceback that starts in the
worker, where the user's function was called. The Java stack trace stays in the log.
"""

from __future__ import annotations

import base64
import functools
import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn, ParamSpec, TypeVar

import cloudpickle
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headrace.errors import JobError
from headrace.runners.spark.task_output import OutputLine, take_last_output
from headrace.runtime.failure import to_job_failure, user_frames, user_traceback
from headrace.tracebacks import (
    FrameLocation,
    frame_locations,
    rebuild_traceback,
    trim_tracebacks,
    wants_full_tracebacks,
)

P = ParamSpec("P")
T = TypeVar("T")

_PATTERN = re.compile(r"\[headrace-failure:([A-Za-z0-9+/=]+)\]")
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*(?P<error>\S.*)")
_MAX_REASON_CHARS = 500
_MAX_CAUSES = 8
"""The maximum depth of causes that are sent."""


class WorkerTraceback(Exception):
    """The traceback of an exception in the worker that raised it, as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


@dataclass(frozen=True)
class PackedError:
    """An exception as it is sent: pickled if possible, and what pickling does not include.

    ``locations``: of its traceback's frames.
    """

    data: bytes
    name: str
    message: str
    notes: list[str]
    locations: list[FrameLocation]
    cause: PackedError | None
    context: PackedError | None
    context_shown: bool


class TaskFailure(Exception):
    """Carries an exception out of a worker."""


def raise_encoded(error: BaseException) -> NoReturn:
    """Raise an exception whose text the driver can decode.

    Raises:
        TaskFailure: always.
    """
    if isinstance(error, TaskFailure):
        raise error
    error = to_job_failure(error)
    text = user_traceback(error)
    sent = _pack(error, _MAX_CAUSES, user_frames(error)), text, take_last_output()
    packed = pickle.dumps(sent)
    message = f"[headrace-failure:{base64.b64encode(packed).decode()}]"
    raise TaskFailure(f"{type(error).__name__}: {error}\n{text}\n{message}") from None


def encodes_errors(method: Callable[P, T]) -> Callable[P, T]:
    """Decorate a method that Spark calls: the driver can decode the exceptions it raises."""

    @functools.wraps(method)
    def encode_errors(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return method(*arguments, **named)
        except BaseException as error:
            raise_encoded(error)

    return encode_errors


def _pack(error: BaseException, depth: int, trace: TracebackType | None) -> PackedError:
    locations, notes = frame_locations(trace), list(getattr(error, "__notes__", []))
    cause, context = (
        None if other is None or depth == 0 else _pack(other, depth - 1, user_frames(other))
        for other in (error.__cause__, error.__context__)
    )
    try:
        data = cloudpickle.dumps(error.with_traceback(None))
        pickle.loads(data)
    except Exception:  # an exception that cannot be pickled is sent as text
        data = b""
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    return PackedError(
        data, name, str(error), notes, locations, cause, context, not error.__suppress_context__
    )


def _unpack(packed: PackedError) -> BaseException:
    error: BaseException
    if packed.data:
        error = pickle.loads(packed.data)
    else:
        error = JobError(f"{packed.name}: {packed.message}")
    if not getattr(error, "__notes__", None):
        for note in packed.notes:
            error.add_note(note)
    error.__traceback__ = rebuild_traceback(packed.locations)
    error.__cause__ = None if packed.cause is None else _unpack(packed.cause)
    error.__context__ = None if packed.context is None else _unpack(packed.context)
    error.__suppress_context__ = not packed.context_shown
    return error


def reason_in(text: str) -> str:
    """Return a Spark error in one line: its first line, and a Python traceback's last line."""
    text = text.strip()
    first = text.partition("\n")[0]
    match = _TRACEBACK.search(text)
    if match is not None:
        first = f"{first.partition('Traceback (')[0].strip()} {match['error']}".strip()
    return first if len(first) <= _MAX_REASON_CHARS else f"{first[:_MAX_REASON_CHARS]} …"


def output_in(text: str) -> list[OutputLine]:
    """Return the last lines that the failed task has printed and logged on a cluster."""
    match = _PATTERN.search(text)
    if match is None:
        return []
    lines: list[OutputLine] = pickle.loads(base64.b64decode(match.group(1)))[2]
    return lines


@contextmanager
def worker_errors() -> Iterator[None]:
    """Raise the exception of a worker, if a job of Spark's fails with one."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        failure = failure_in(str(error))
        if failure is None:
            raise
        raise failure from None


def failure_in(text: str) -> BaseException | None:
    """Return the exception of a worker that is encoded in ``text``; None if there is none."""
    match = _PATTERN.search(text)
    if match is None:
        return None
    packed, text, _ = pickle.loads(base64.b64decode(match.group(1)))
    error = trim_tracebacks(_unpack(packed))
    if wants_full_tracebacks():
        error.__cause__ = WorkerTraceback(text)
    return error
