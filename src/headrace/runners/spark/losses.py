"""Reports lost executors and failed tasks that Spark runs again.

Spark reports them only in its log; without these messages a job would just be slower.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext

from headrace.runners.observers import Slots

LOOK_SECONDS = 1.0
_EVENTS_MS = 2_000
"""How long ``look_last`` waits until Spark has counted the results of the last tasks."""

_FAILED = "FAILED"
_GIVEN_BACK = "Executor killed by driver."  # Spark's own text (4.2 and 4.3)


class LossWatch:
    """Watches the executors of a Spark context, and all its jobs since this object was made.

    Spark counts the failed tasks of a job, and keeps the counts after the job has ended. So no
    failure is missed, however short the jobs are. A job that is known to have failed as a whole is
    not reported, because its error gives the reason.

    ``tell`` is called with a sentence for each loss.
    """

    def __init__(
        self,
        context: SparkContext,
        tell: Callable[[str], None] = lambda text: print(f"headrace: {text}", file=sys.stderr),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._context, self._tell, self._clock = context, tell, clock
        self._looked_s = float("-inf")
        self._executors: set[str] = set()
        self._next_job = 0
        self._next_job = self._count_jobs()
        self._failed_tasks: dict[int, int] = {}
        """The number of failed tasks that were reported, by the id of a running Spark job."""

    def look(self) -> bool:
        """Report the losses since the last call, and return True; False within a second of it."""
        now_s = self._clock()
        if now_s - self._looked_s < LOOK_SECONDS:
            return False
        self._looked_s = now_s
        self._look()
        return True

    def look_last(self) -> None:
        """Report the losses since the last call, after the end of the last job."""
        with suppress(Py4JError):  # the context is being stopped, or a listener of the user is slow
            self._context._jsc.sc().listenerBus().waitUntilEmpty(_EVENTS_MS)
        self._look()

    def _look(self) -> None:
        try:
            self._look_at_executors()
            self._look_at_jobs()
        except Py4JError:  # the context is being stopped, which the attempt detects too
            return

    def _look_at_executors(self) -> None:
        found = executors_of(self._context)
        gone = self._executors - found
        if gone and self._context._jsc.sc().isStopped():  # it ends all of them
            return
        for lost in sorted(gone - self._given_back() if gone else gone):
            left = len(found) - 1
            self._tell(
                f"the executor at {lost} is gone, and what ran there runs again elsewhere"
                f" ({left} {'executor is' if left == 1 else 'executors are'} left)"
            )
        self._executors = found

    def _given_back(self) -> set[str]:
        """Return the executors that Spark has ended itself, as dynamic allocation does."""
        executors = self._context._jsc.sc().statusStore().executorList(False).iterator()
        found = set()
        while executors.hasNext():
            each = executors.next()
            if each.removeReason().isDefined() and each.removeReason().get() == _GIVEN_BACK:
                found.add(each.hostPort())
        return found

    def _look_at_jobs(self) -> None:
        count = self._count_jobs()
        self._failed_tasks.update(dict.fromkeys(range(self._next_job, count), 0))
        self._next_job = count
        later_known = False
        for job in sorted(self._failed_tasks, reverse=True):
            data = self._find_job(job)
            if data is None:
                if later_known:  # a later job is known, so Spark has already forgotten this one
                    del self._failed_tasks[job]
                continue
            later_known = True
            self._look_at_tasks(job, data)

    def _look_at_tasks(self, job: int, data: Any) -> None:
        ended = data.completionTime().isDefined()
        failed = data.numFailedTasks()
        more = failed - self._failed_tasks[job]
        if more > 0 and not (ended and data.status().toString() == _FAILED):
            tasks, them = ("a task", "it") if more == 1 else (f"{more} tasks", "them")
            again = "ran" if ended else "runs"
            self._tell(f"{tasks} of Spark's job {job} failed, and Spark {again} {them} again")
        if ended:
            del self._failed_tasks[job]
        else:
            self._failed_tasks[job] = failed

    def _count_jobs(self) -> int:
        """Return the number of Spark's jobs so far; a context that stops has no more of them."""
        scheduler = self._context._jsc.sc().dagScheduler()
        return self._next_job if scheduler is None else int(scheduler.numTotalJobs())

    def _find_job(self, job: int) -> Any | None:
        try:
            return self._context._jsc.sc().statusStore().job(job)
        except Py4JJavaError:  # not known yet, or no longer
            return None


def executors_of(context: SparkContext) -> set[str]:
    """Return the executors of a context as ``host:port``; the driver is one of them."""
    infos = context._jsc.sc().statusTracker().getExecutorInfos()
    return {f"{info.host()}:{info.port()}" for info in infos}


@contextmanager
def watching_slots(
    context: SparkContext, on_slots: Callable[[Slots | None], None], seconds: float = LOOK_SECONDS
) -> Iterator[None]:
    """Call ``on_slots`` at once and then about once a second, in a thread, in a ``with`` block."""
    ended = threading.Event()

    def run() -> None:
        on_slots(slots_of(context))
        while not ended.wait(seconds):
            on_slots(slots_of(context))

    threading.Thread(target=run, name="headrace-slots", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def slots_of(context: SparkContext) -> Slots | None:
    """Return the executors of a context; None if the context is being stopped."""
    executors = tasks = 0
    try:
        found = context._jsc.sc().statusStore().executorList(True).iterator()
        while found.hasNext():
            at_once = found.next().maxTasks()
            executors += at_once > 0  # on a cluster the driver is in the list, and runs no tasks
            tasks += at_once
    except (Py4JError, AttributeError):  # a context that was stopped has no ``_jsc``
        return None
    return Slots(executors, tasks)
