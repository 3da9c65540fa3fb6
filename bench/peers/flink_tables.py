"""Flink's SQL, and PyFlink's Table API: the same program as for Headrace.

Options: ``backend``, ``minibatch=1``; for Python functions ``mode`` (process, thread).
"""

from __future__ import annotations

from collections.abc import Mapping

from bench.peers import flink
from bench.peers.protocol import Outcome, Task, answer
from bench.sql import program, statements

_PYTHON = {
    "python.fn-execution.bundle.size": "100000",
    "python.fn-execution.bundle.time": "1000",
    "python.fn-execution.arrow.batch.size": "10000",
}


def run(task: Task) -> Outcome:
    """Run the statement to its end, then check it on less."""
    flink.use_this_python()

    def settings(folder: str) -> Mapping[str, str]:
        chosen = flink.settings(task)
        chosen["execution.checkpointing.dir"] = (task.folder / folder).as_uri()
        if task.job in statements.PYTHON_JOBS:
            chosen |= {**_PYTHON, "python.execution-mode": task.option("mode", "process")}
        return chosen

    return program.run("pyflink", task, settings)


if __name__ == "__main__":
    answer(run)
