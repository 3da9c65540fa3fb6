"""A loop in plain Python with a dict for the state: what the interpreter itself costs."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

from bench import two_streams, workload
from bench.peers.protocol import Outcome, Task, answer
from bench.tally import Counter, LastByKey


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


def windows(task: Task, counter: Counter) -> None:
    """Jobs (wt), (wp), (ws): windows end with the watermark; in (wp) they hold values."""
    slides = task.job == "ws"
    size = workload.SLIDING_MS if slides else workload.TUMBLING_MS
    slide = workload.SLIDE_MS if slides else size
    whole = task.job == "wp"
    tables: dict[int, dict[int, Any]] = {}
    latest, due = 0, float("inf")

    def fire(watermark: float) -> float:
        for start in sorted(start for start in tables if start + size - 1 <= watermark):
            for key, found in tables.pop(start).items():
                counter.add((key, len(found), sum(found)) if whole else (key, *found))
        return min(tables, default=float("inf")) + size - 1

    make = workload.timed_record_function(task.job, task.keys)
    for key, value, time_ms in map(make, range(task.records)):
        last = time_ms - time_ms % slide
        for start in range(last, time_ms - size, -slide):
            table = tables.get(start)
            if table is None:
                table = tables[start] = {}
                due = min(due, start + size - 1)
            if whole:
                values = table.get(key)
                if values is None:
                    table[key] = [value]
                else:
                    values.append(value)
            else:
                count, total = table.get(key, (0, 0))
                table[key] = count + 1, total + value
        if time_ms > latest:
            latest = time_ms
            if latest - workload.DISORDER_MS > due:
                due = fire(latest - workload.DISORDER_MS - 1)
    fire(float("inf"))


class Sessions:
    """Open sessions by key, each ``[first, last, count, sum]``; those at an end are counted."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._open: dict[int, list[list[int]]] = {}
        self._due: list[tuple[int, int]] = []  # a heap of (when it may end, key)

    def add(self, key: int, value: int, time_ms: int) -> None:
        """Put a record into the session that it lies in or next to."""
        found = self._open.get(key)
        if found is None or len(found) > 1:
            self._merge(key, [time_ms, time_ms, 1, value])
            return
        (session,) = found
        if session[0] - workload.GAP_MS <= time_ms <= session[1] + workload.GAP_MS:
            if time_ms > session[1]:
                session[1] = time_ms
            elif time_ms < session[0]:
                session[0] = time_ms
            session[2] += 1
            session[3] += value
        else:
            self._merge(key, [time_ms, time_ms, 1, value])

    def _merge(self, key: int, new: list[int]) -> None:
        apart = []
        for other in self._open.get(key, ()):
            if other[0] - workload.GAP_MS <= new[1] and new[0] <= other[1] + workload.GAP_MS:
                first, last = min(other[0], new[0]), max(other[1], new[1])
                new = [first, last, other[2] + new[2], other[3] + new[3]]
            else:
                apart.append(other)
        self._open[key] = [*apart, new]
        heappush(self._due, (new[1] + workload.GAP_MS - 1, key))

    def fire(self, watermark: float) -> float:
        """Count those that have ended; gives when the next may end."""
        while self._due and self._due[0][0] <= watermark:
            _, key = heappop(self._due)
            left = []
            for session in self._open.pop(key, ()):
                end = session[1] + workload.GAP_MS - 1
                if end <= watermark:
                    self._counter.add((key, session[2], session[3]))
                else:
                    left.append(session)
                    heappush(self._due, (end, key))
            if left:
                self._open[key] = left
        return self._due[0][0] if self._due else float("inf")


def sessions(task: Task, counter: Counter) -> None:
    """Job (we)."""
    make = workload.timed_record_function(task.job, task.keys)
    kept = Sessions(counter)
    latest, due = 0, workload.BASE_MS + workload.GAP_MS - 1.0
    for index in range(task.records):
        key, value, time_ms = make(index)
        kept.add(key, value, time_ms)
        if time_ms > latest:
            latest = time_ms
            if latest - workload.DISORDER_MS > due:
                due = kept.fire(latest - workload.DISORDER_MS - 1)
    kept.fire(float("inf"))


def csv_records(task: Task) -> Iterator[tuple[int, int, int]]:
    """The records of job (csv), file by file."""
    folder = workload.csv_folder(task.records, task.keys, task.scratch)
    for path in sorted(folder.iterdir()):
        with path.open(newline="") as lines:
            rows = csv.reader(lines)
            next(rows)
            for key, value, time_ms in rows:
                yield int(key), int(value), int(time_ms)


def sums(task: Task, tally: LastByKey) -> None:
    """Job (csv)."""
    totals: dict[int, int] = {}
    for key, value, _ in csv_records(task):
        totals[key] = totals.get(key, 0) + value
    tally.note(totals)


def run(task: Task) -> Outcome:
    """Run the job to its end."""
    workload.input_of(task.job, task.records, task.keys, task.scratch)
    tally = task.tally
    started = time.perf_counter()
    if isinstance(tally, LastByKey):
        sums(task, tally)
        return Outcome(time.perf_counter() - started, tally.total())
    counter = Counter(tally)
    JOBS[task.job](task, counter)
    seconds = time.perf_counter() - started
    counter.close()
    return Outcome(seconds, tally.total())


JOBS = {"a": keyed, "d": stateless, "we": sessions, **dict.fromkeys(("wt", "wp", "ws"), windows)}
JOBS |= dict.fromkeys(two_streams.JOBS, two_stream)


if __name__ == "__main__":
    answer(run)
