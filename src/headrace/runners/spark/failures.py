"""How an exception travels from a Python worker through the JVM to the user.

Spark turns it into text inside a Java exception. The text carries the exception itself, pickled,
between two markers; the driver takes it out and raises it again, with the worker's traceback as
its cause, and leaves the Java stack in the log.
"""

from __future__ import annotations

import base64
import functools
import pickle
import re
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

import cloudpickle

from headrace.errors import JobError
from headrace.runtime.failure import annotate, original, user_traceback

P = ParamSpec("P")
T = TypeVar("T")

_PATTERN = re.compile(r"\[headrace-failure:([A-Za-z0-9+/=]+)\]")
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*(?P<error>\S.*)")
_LONGEST_REASON = 500


class WorkerTraceback(Exception):
    """The traceback of an exception in the worker that raised it, as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


class TaskFailure(Exception):
    """Carries an exception out of a worker."""


def raise_encoded(error: BaseException) -> NoReturn:
    """Raise an exception whose text the driver can read.

    Raises:
        TaskFailure: always.
    """
    if isinstance(error, TaskFailure):
        raise error
    error = original(error)
    annotate(error)
    text = user_traceback(error)
    notes = list(getattr(error, "__notes__", []))
    try:
        data = cloudpickle.dumps(error.with_traceback(None))
        pickle.loads(data)
    except Exception:  # an exception that cannot travel is told by its text
        data = b""
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    packed = pickle.dumps((data, name, str(error), text, notes))
    message = f"[headrace-failure:{base64.b64encode(packed).decode()}]"
    raise TaskFailure(f"{type(error).__name__}: {error}\n{text}\n{message}") from None


def encoded(method: Callable[P, T]) -> Callable[P, T]:
    """The same method, for Spark to call: what it raises can be read by the driver."""

    @functools.wraps(method)
    def telling(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return method(*arguments, **named)
        except Exception as error:
            raise_encoded(error)

    return telling


def reason_in(text: str) -> str:
    """What one line can say of an error of Spark: its first, and a Python traceback's last."""
    text = text.strip()
    first = text.partition("\n")[0]
    found = _TRACEBACK.search(text)
    if found is not None:
        first = f"{first.partition('Traceback (')[0].strip()} {found['error']}".strip()
    return first if len(first) <= _LONGEST_REASON else f"{first[:_LONGEST_REASON]} …"


def failure_in(text: str) -> BaseException | None:
    """The exception that a worker packed into ``text``, ready to be raised, or None."""
    found = _PATTERN.search(text)
    if found is None:
        return None
    data, name, message, trace, notes = pickle.loads(base64.b64decode(found.group(1)))
    error: BaseException = pickle.loads(data) if data else JobError(f"{name}: {message}")
    if not getattr(error, "__notes__", None):
        for note in notes:
            error.add_note(note)
    error.__cause__ = WorkerTraceback(trace)
    return error
