"""What waiting costs: lookups of 20 ms over HTTP, one by one and 1,000 at once.

``python -m bench.measure.lookups``. The service is a process of its own on this machine; it answers
each request 20 ms after it came. The client keeps its connections open. Jobs run on the local
runner, in one process. A line each:

- one by one: capacity 1.
- at once: capacity 1,000, ordered and unordered.
- the client alone: ``asyncio.gather`` over the same lookups, without Headrace. What it takes more
  than 20 ms is the client's work, and the service's.
- a sleep of 20 ms in place of the service: what the operator costs beside waiting.

Each is the best of several rounds, on connections that are open already. ``times`` compares with
one by one.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import multiprocessing
import time
from collections.abc import Callable, Coroutine
from typing import Any

from bench.measure.lookups_service import asleep, connect, over_http, serve
from headrace.common import Configuration, Time
from headrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from headrace.operators.asynchronous.loop import event_loop

LOOKUPS = 1_000
SUSTAINED = 20_000

Lookup = Callable[[int], Coroutine[Any, Any, int]]


def job(lookup: Lookup, wait: Any, count: int, capacity: int) -> None:
    """Run a job of so many lookups.

    Raises:
        RuntimeError: a result is missing.
    """
    settings = Configuration.from_dict({"execution.target": "local"})
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    numbers = env.from_collection(list(range(count)))
    found = wait(numbers, lookup, Time.seconds(60), capacity).execute_and_collect(limit=count + 1)
    if sorted(found) != [number * number for number in range(count)]:
        raise RuntimeError(f"{len(found)} results of {count}, or wrong ones")


def alone(lookup: Lookup, count: int) -> None:
    """The same lookups at once, without Headrace."""

    async def gathered() -> None:
        await asyncio.gather(*[lookup(number) for number in range(count)])

    asyncio.run_coroutine_threadsafe(gathered(), event_loop()).result()


def best_s(run: Callable[[], None], rounds: int) -> tuple[float, float]:
    """The seconds of the fastest round, and the least processor time of this process (s)."""
    taken, worked = [], []
    for _ in range(rounds):
        gc.collect()
        begin, begin_work = time.perf_counter(), time.process_time()
        run()
        taken.append(time.perf_counter() - begin)
        worked.append(time.process_time() - begin_work)
    return min(taken), min(worked)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    ordered, unordered = AsyncDataStream.ordered_wait, AsyncDataStream.unordered_wait
    here, there = multiprocessing.Pipe()
    service = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    service.start()
    connect(here.recv())
    try:
        job(over_http, unordered, 2 * LOOKUPS, LOOKUPS)  # opens the connections
        one_by_one_s, _ = best_s(lambda: job(over_http, ordered, LOOKUPS, 1), 1)
        print(f"one by one, over HTTP: {one_by_one_s:.2f} s for {LOOKUPS:,} lookups")
        runs: list[tuple[str, Callable[[], None], int]] = [
            ("at once, ordered", lambda: job(over_http, ordered, LOOKUPS, LOOKUPS), LOOKUPS),
            ("at once, unordered", lambda: job(over_http, unordered, LOOKUPS, LOOKUPS), LOOKUPS),
            ("at once, the client alone", lambda: alone(over_http, LOOKUPS), LOOKUPS),
            (
                f"{SUSTAINED:,} lookups, {LOOKUPS:,} at once",
                lambda: job(over_http, unordered, SUSTAINED, LOOKUPS),
                SUSTAINED,
            ),
            ("at once, a sleep, ordered", lambda: job(asleep, ordered, LOOKUPS, LOOKUPS), LOOKUPS),
            ("at once, a sleep, alone", lambda: alone(asleep, LOOKUPS), LOOKUPS),
            (
                f"{SUSTAINED:,} sleeps, {LOOKUPS:,} at once",
                lambda: job(asleep, unordered, SUSTAINED, LOOKUPS),
                SUSTAINED,
            ),
        ]
        for name, run, count in runs:
            seconds, work_s = best_s(run, rounds)
            times = one_by_one_s / LOOKUPS / (seconds / count)
            print(
                f"{name}: {seconds * 1000:.0f} ms, {count / seconds:,.0f}/s, {times:.0f} times;"
                f" {work_s / count * 1e6:.0f} us of processor time each"
            )
    finally:
        service.terminate()
        service.join()


if __name__ == "__main__":
    main()
