"""Says which executors were lost and which tasks have failed, while Spark runs them again.

Spark tells it in its log only, and a job just takes longer.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext

LOOK_SECONDS = 1.0
_EVENTS_MS = 2_000
"""How long the last look waits for Spark to count what its last tasks did."""

_FAILED = "FAILED"


class LossWatch:
    """Looks at the executors and at Spark's jobs of a context: all jobs since it was made.

    Spark counts the failed tasks of a job, and keeps the counts when the job has ended. So no
    failure is missed, however short the jobs are. Of a job that failed as a whole it says nothing
    when that is known: its error says why.

    ``tell`` takes a sentence.
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
        self._next_job = self._count_jobs()
        self._failed_tasks: dict[int, int] = {}
        """The number of failed tasks that were reported, by Spark job; ended jobs are left out."""

    def look(self) -> None:
        """Tell what has been lost since the last look; not more often than once a second."""
        now_s = self._clock()
        if now_s - self._looked_s < LOOK_SECONDS:
            return
        self._looked_s = now_s
        self._look()

    def look_last(self) -> None:
        """Tell what has been lost since the last look, when no more jobs come."""
        with suppress(Py4JError):  # the context stops, or a listener of the user is slow
            self._context._jsc.sc().listenerBus().waitUntilEmpty(_EVENTS_MS)
        self._look()

    def _look(self) -> None:
        try:
            self._look_at_executors()
            self._look_at_jobs()
        except Py4JError:  # the context stops: the attempt notices it, too
            return

    def _look_at_executors(self) -> None:
        found = executors_of(self._context)
        for lost in sorted(self._executors - found):
            left = len(found) - 1
            self._tell(
                f"the executor at {lost} is gone, and what ran there runs again elsewhere"
                f" ({left} {'executor is' if left == 1 else 'executors are'} left)"
            )
        self._executors = found

    def _look_at_jobs(self) -> None:
        count = self._count_jobs()
        self._failed_tasks.update(dict.fromkeys(range(self._next_job, count), 0))
        self._next_job = count
        later_known = False
        for job in sorted(self._failed_tasks, reverse=True):
            data = self._find_job(job)
            if data is None:
                if later_known:  # jobs are known in their order: Spark has forgotten it
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
        return int(self._context._jsc.sc().dagScheduler().numTotalJobs())

    def _find_job(self, job: int) -> Any | None:
        try:
            return self._context._jsc.sc().statusStore().job(job)
        except Py4JJavaError:  # not known yet, or not any more
            return None


def executors_of(context: SparkContext) -> set[str]:
    """Return the executors of a context as ``host:port``; the driver is one of them."""
    infos = context._jsc.sc().statusTracker().getExecutorInfos()
    return {f"{info.host()}:{info.port()}" for info in infos}
