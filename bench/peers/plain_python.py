"""A loop in plain Python with a dict for the state: what the interpreter itself costs."""

from __future__ import annotations

import time

from bench import two_streams, workload
from bench.peers.protocol import Outcome, Task, answer
from bench.tally import Counter


def stateless(task: Task, counter: Counter) -> None:
    """Job (d)."""
    for path in sorted(workload.json_folder(task.records, task.scratch).iterdir()):
        with path.open() as lines:
            for line in lines:
                order = workload.decode(line)
                if workload.wanted(order):
                    counter.add(workload.summary(order))


def keyed(task: Task, counter: Counter) -> None:
    """Job (a)."""
    make = workload.record_function(task.keys, task.distribution)
    state: dict[int, tuple[int, int]] = {}
    every = workload.OUTPUT_EVERY
    for index in range(task.records):
        key, value, _ = make(index)
        count, total = state.get(key, (0, 0))
        state[key] = count, total = count + 1, total + value
        if (key + count) % every == 0:
            counter.add((key, count, total))


def two_stream(task: Task, counter: Counter) -> None:
    """Jobs join and rules."""
    add = counter.add
    for output in two_streams.outputs(task.job, task.records, task.keys, task.distribution):
        add(output)


def run(task: Task) -> Outcome:
    """Run the job to its end."""
    work = {"a": keyed, "d": stateless, **dict.fromkeys(two_streams.JOBS, two_stream)}[task.job]
    if task.job == "d":
        workload.json_folder(task.records, task.scratch)
    counter = Counter(task.tally)
    started = time.perf_counter()
    work(task, counter)
    seconds = time.perf_counter() - started
    counter.close()
    return Outcome(seconds, task.tally.total())


if __name__ == "__main__":
    answer(run)
