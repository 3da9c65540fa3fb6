"""Headrace's SQL; the options are those of ``headrace_peer``, and ``minibatch=1``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bench.peers import headrace_peer
from bench.peers.protocol import Outcome, Task, answer
from bench.processes import processor_seconds
from bench.sql import program


def run(task: Task) -> Outcome:
    """Run the statement to its end, then check it on less."""

    def settings(folder: str) -> Mapping[str, str]:
        chosen = headrace_peer.settings(task)
        if "execution.checkpointing.dir" in chosen:
            chosen["execution.checkpointing.dir"] = str(task.folder / folder)
        return chosen

    Path(task.folder).mkdir(exist_ok=True)
    used: list[dict[str, float]] = []
    outcome = program.run("headrace", task, settings, lambda: used.append(_used()))
    before, after = used
    outcome.facts["processor_seconds"] = {k: round(after[k] - before[k], 2) for k in after}
    outcome.facts["micro_batches"] = headrace_peer.micro_batches(task.folder / program.TIMED)
    return outcome


def _used() -> dict[str, float]:
    return processor_seconds(os.getpid())


if __name__ == "__main__":
    answer(run)
