"""What waiting costs: lookups of 20 ms over HTTP, one by one and 1,000 at once.

``python -m bench.measure.lookups``. The service is a process of its own on this machine; it answers
each request 20 ms after it came. The client keeps its connections open. Jobs run on the local
runner, in one process, on connections that are open already. Compared are

- a job with capacity 1, one lookup at a time,
- jobs with capacity 1,000, ordered and unordered, with 1,000 lookups and with 20,000,
- the client alone: the same lookups, as many at once, by ``asyncio`` without Headrace. What it
  takes more than 20 ms is the client's work, and the service's,
- all of it with a sleep of 20 ms in place of the service: what the operator costs beside waiting.

Each figure is the best of several turns.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import multiprocessing
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench.measure.lookups_service import asleep, connect, over_http, serve
from bench.measure.probes import several
from bench.throughput import Plan, Row
from headrace.common import Configuration, Time
from headrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from headrace.operators.asynchronous.loop import event_loop

AT_ONCE = 1_000
SUSTAINED = 20_000
ONE_BY_ONE = 250
"""So many are enough for what one takes: 5 s."""

HTTP, SLEEP = "over HTTP", "a sleep"

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
    """The same lookups, as many at once, without Headrace."""
    waiting = iter(range(count))

    async def one_after_another() -> None:
        for number in waiting:
            await lookup(number)

    async def gathered() -> None:
        await asyncio.gather(*[one_after_another() for _ in range(AT_ONCE)])

    asyncio.run_coroutine_threadsafe(gathered(), event_loop()).result()


def best_s(run: Callable[[], None], rounds: int) -> tuple[float, float]:
    """The seconds of the fastest round, and the least processor time of this process (s)."""
    (found,) = best_in_turns([run], rounds)
    return found


def best_in_turns(runs: Sequence[Callable[[], None]], rounds: int) -> list[tuple[float, float]]:
    """The same for each of several, which take turns."""
    taken: list[list[float]] = [[] for _ in runs]
    worked: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for number, run in enumerate(runs):
            gc.collect()
            begin, begin_work = time.perf_counter(), time.process_time()
            run()
            taken[number].append(time.perf_counter() - begin)
            worked[number].append(time.process_time() - begin_work)
    return [(min(seconds), min(work)) for seconds, work in zip(taken, worked, strict=True)]


@dataclass(frozen=True)
class Way:
    """So many lookups, made in one way."""

    contender: str
    run: Callable[[Lookup, int], None]


WAYS = (
    Way(
        "headrace-ordered",
        lambda lookup, count: job(lookup, AsyncDataStream.ordered_wait, count, AT_ONCE),
    ),
    Way(
        "headrace-unordered",
        lambda lookup, count: job(lookup, AsyncDataStream.unordered_wait, count, AT_ONCE),
    ),
    Way("client-alone", alone),
)


def rows(scale: float, turns: int) -> Iterator[Row]:
    """A row for each way, service or sleep, and number of lookups."""
    few = max(round(ONE_BY_ONE * scale), 20)
    # Opens the connections.
    job(over_http, AsyncDataStream.unordered_wait, 2 * AT_ONCE, AT_ONCE)
    for lookup, name in ((over_http, HTTP), (asleep, SLEEP)):
        pack_singly = partial(job, lookup, AsyncDataStream.ordered_wait, few, 1)
        base, worked = best_s(pack_singly, 1)
        yield _row("headrace-one-by-one", name, few, base, worked, base / few)
        for count in (AT_ONCE, max(round(SUSTAINED * scale), AT_ONCE)):
            runs = [partial(way.run, lookup, count) for way in WAYS]
            for way, found in zip(WAYS, best_in_turns(runs, turns), strict=True):
                yield _row(way.contender, f"{name}, {count:,} lookups", count, *found, base / few)


def _row(
    contender: str, point: str, count: int, seconds: float, worked: float, base_s: float
) -> Row:
    values = {
        "lookups_per_second": round(count / seconds, 1),
        "times_one_by_one": round(base_s * count / seconds, 2),
        "processor_us_each": round(worked / count * 1e6, 2),
    }
    return {"contender": contender, "point": point, "values": values}


def measure(plan: Plan) -> list[Row]:
    """The rows, from a process of their own; nothing where Headrace is not wanted."""
    if not plan.takes("headrace"):
        return []
    return several("lookups", "lookups", [f"--scale={plan.scale}"], limit_seconds=180)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0)
    given = parser.parse_args()
    here, there = multiprocessing.Pipe()
    service = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    service.start()
    connect(here.recv())
    try:
        print(json.dumps({"rows": [*rows(given.scale, given.turns)]}))
    finally:
        service.terminate()
        service.join()


if __name__ == "__main__":
    main()
