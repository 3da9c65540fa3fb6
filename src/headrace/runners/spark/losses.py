"""Says which executors were lost and which tasks have failed, while Spark runs them again.

Spark tells it in its log only, and a job just takes longer.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from py4j.protocol import Py4JError
from pyspark import SparkContext

LOOK_SECONDS = 1.0


class LossWatch:
    """Looks once a second at the executors and the running stages of a job's Spark context.

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
        self._failed_tasks: dict[int, int] = {}

    def look(self) -> None:
        """Tell what has been lost since the last look; not more often than once a second."""
        now_s = self._clock()
        if now_s - self._looked_s < LOOK_SECONDS:
            return
        self._looked_s = now_s
        try:
            self._look_at_executors()
            self._look_at_tasks()
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

    def _look_at_tasks(self) -> None:
        tracker = self._context.statusTracker()
        failed: dict[int, int] = {}
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None:
                failed[stage] = info.numFailedTasks
                more = info.numFailedTasks - self._failed_tasks.get(stage, 0)
                if more > 0:
                    tasks = "a task" if more == 1 else f"{more} tasks"
                    self._tell(f"{tasks} of Spark's stage {stage} failed and will be tried again")
        self._failed_tasks = failed


def executors_of(context: SparkContext) -> set[str]:
    """Return the executors of a context as ``host:port``; the driver is one of them."""
    infos = context._jsc.sc().statusTracker().getExecutorInfos()
    return {f"{info.host()}:{info.port()}" for info in infos}
