"""Whether Spark's JVM has ended, and how."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext

from headrace.runners.spark.reasons import ErrorParts, explain_lost_jvm

_END_SECONDS = 5.0


def lost_jvm_error(error: BaseException) -> ErrorParts | None:
    """Return the error for a lost connection to the JVM; None for other errors."""
    process: subprocess.Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)
    if _is_connection_error(error):
        return explain_lost_jvm(None if process is None else _exit_code(process))
    # A later call is refused, as by any server that has ended.
    if not isinstance(error, ConnectionRefusedError) or process is None:
        return None
    code = _exit_code(process)
    return None if code is None else explain_lost_jvm(code)


def _is_connection_error(error: BaseException) -> bool:
    if isinstance(error, ConnectionError):
        # py4j connects anew after it has lost the connection.
        return isinstance(error.__context__, Py4JNetworkError)
    if isinstance(error, Py4JNetworkError):
        return True
    # An empty answer to a call, without an exception of Java or a trace.
    return (
        isinstance(error, Py4JError)
        and not isinstance(error, Py4JJavaError)
        and str(error).startswith("An error occurred while calling")
        and "Trace:" not in str(error)
    )


@contextmanager
def without_py4j_logging() -> Iterator[None]:
    """Suppress py4j's log entries of a lost connection within a ``with`` block.

    py4j writes them with the root logger, so the level of its own logger has no effect (0.10.9).
    """
    root = logging.getLogger()
    root.addFilter(_is_other_record)
    try:
        yield
    finally:
        root.removeFilter(_is_other_record)


def _is_other_record(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], Py4JNetworkError))


def _exit_code(process: subprocess.Popen[bytes]) -> int | None:
    """Return the exit code, 128 + n after signal n; None if the process still runs."""
    try:
        code = process.wait(_END_SECONDS)  # its sockets close a moment before it ends
    except subprocess.TimeoutExpired:
        return None
    return code if code >= 0 else 128 - code
