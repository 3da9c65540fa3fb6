"""Ends a job after its micro-batch when the process gets SIGINT, SIGTERM or SIGHUP."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.common.completable_future import CompletableFuture
from headrace.common.job_client import JobHandle
from headrace.common.job_execution_result import JobExecutionResult

ENDING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class _Ending(BaseException):
    """The process got a signal that ends it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def ending_signals() -> Iterator[None]:
    """Have SIGTERM and SIGHUP end a job that the ``with`` block waits for.

    Only in the main thread, and only a signal whose default action was in place. After the block
    the process ends with the exit code that the signal's default action gives.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [number for number in ENDING_SIGNALS if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, frame: object) -> None:
        raise _Ending(number)

    for number in taken:
        signal.signal(number, end)
    try:
        yield
    except _Ending as ending:
        raise SystemExit(128 + ending.number) from None
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def wait_or_cancel(job: JobHandle, timeout_s: float) -> JobExecutionResult:
    """Wait for a job; a signal cancels it, and the wait lasts ``timeout_s`` at most from then on.

    A second signal ends the wait at once.

    Raises:
        KeyboardInterrupt: SIGINT came.
    """
    try:
        return job.wait()
    except (KeyboardInterrupt, _Ending) as ending:
        print("cancelling the job", file=sys.stderr)
        try:
            CompletableFuture.run_in_thread(job.cancel).result(timeout_s)
        except TimeoutError:
            late = f"the micro-batch did not end within {timeout_s:g} s; the next start repeats it"
        except (KeyboardInterrupt, _Ending):
            late = "not waiting for the end of the job"
        else:
            late = ""
        if late:
            print(f"headrace: {late}", file=sys.stderr, flush=True)
            if isinstance(ending, _Ending):
                _end_at_once(ending.number)
        raise ending.with_traceback(None) from None  # its traceback would only show this wait


def _end_at_once(number: int) -> None:
    """End the process as the signal's default action does."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


@contextmanager
def default_interrupts() -> Iterator[None]:
    """Replace PySpark's handler of Ctrl-C by Python's default within a ``with`` block.

    PySpark's handler calls into the JVM, even in the middle of another call. That breaks the
    connection and fails the micro-batch with which a cancelled job ends (Spark 4.3). A handler of
    the user stays.
    """
    before = signal.getsignal(signal.SIGINT)
    of_pyspark = str(getattr(before, "__module__", "")).startswith("pyspark")
    if not of_pyspark or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
