"""What windows cost against a plain loop over one core: ``python -m bench.measure.windows``.

One process and no Spark: the operators themselves, with state on the heap, or through bytes after
each micro-batch as on Spark (``paged``). Records have three fields and 5 s of disorder. Processor
time, in turns, the least of several rounds. ``--spark`` adds Spark with two tasks, by the clock,
start included.
"""

from __future__ import annotations

import argparse
import gc
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from headrace.common import Configuration, Duration, WatermarkStrategy
from headrace.common.time import Time
from headrace.datastream import (
    AggregateFunction,
    DataStream,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from headrace.testing import run_pipeline

Record = tuple[int, int, int]
"""Key, value, timestamp (ms)."""

DISORDER_MS = 5_000
RECORDS_PER_MS = 10


class CountAndSum(AggregateFunction):
    """How many values there are, and their sum."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Record, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, accumulator[1] + value[1]

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class CountAndSumOfAll(ProcessWindowFunction[Any, Any, int, Any]):
    """The same of all records of a window at once."""

    def process(self, key: int, context: Any, elements: Any) -> Iterator[tuple[int, int]]:
        values = [value for _, value, _ in elements]
        yield len(values), sum(values)


@dataclass(frozen=True)
class Case:
    """Windows, and how their records are summed up."""

    name: str
    assigner: WindowAssigner[Any, Any]
    whole: bool = False


TUMBLING = TumblingEventTimeWindows.of(Time.seconds(10))
CASES = (
    Case("tumbling 10 s, aggregate", TUMBLING),
    Case("tumbling 10 s, process", TUMBLING, whole=True),
    Case("sliding 60 s by 6 s", SlidingEventTimeWindows.of(Time.seconds(60), Time.seconds(6))),
    Case("sessions, gap 3 s", EventTimeSessionWindows.with_gap(Time.seconds(3))),
)


def records(count: int, keys: int) -> list[Record]:
    """Records in the order of their arrival."""
    rng = random.Random(7)
    return [
        (
            rng.randrange(keys),
            number & 1023,
            number // RECORDS_PER_MS + rng.randrange(DISORDER_MS),
        )
        for number in range(count)
    ]


def stream(found: list[Record], case: Case, combining: bool) -> DataStream:
    """The results of the windows."""
    settings = {"headrace.combining.enabled": str(combining).lower()}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(DISORDER_MS))
    timed = env.from_collection(found).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda record: record[2])
    )
    windows = timed.key_by(lambda record: record[0]).window(case.assigner)
    return windows.process(CountAndSumOfAll()) if case.whole else windows.aggregate(CountAndSum())


def plain(found: list[Record], case: Case) -> int:
    """How many records all windows hold, by dictionaries and without watermarks."""
    if isinstance(case.assigner, EventTimeSessionWindows):
        return _plain_sessions(found, case.assigner.gap)
    size, slide, offset = case.assigner.grid  # type: ignore[attr-defined]
    tables: dict[int, dict[int, tuple[int, int]]] = {}
    for key, value, moment in found:
        last = moment - (moment - offset) % slide
        for start in range(last, moment - size, -slide):
            table = tables.get(start)
            if table is None:
                table = tables[start] = {}
            count, total = table.get(key, (0, 0))
            table[key] = (count + 1, total + value)
    return sum(count for table in tables.values() for count, _ in table.values())


def _plain_sessions(found: list[Record], gap: int) -> int:
    by_key: dict[int, list[tuple[int, int]]] = {}
    for key, value, moment in found:
        by_key.setdefault(key, []).append((moment, value))
    total = 0
    for pieces in by_key.values():
        pieces.sort()
        end, count, _sum = pieces[0][0], 0, 0
        for moment, value in pieces:
            if moment > end:
                total, count, _sum = total + count, 0, 0
            end, count, _sum = moment + gap, count + 1, _sum + value
        total += count
    return total


def ways(found: list[Record], case: Case) -> dict[str, Callable[[], int]]:
    """What is compared: each gives the number of records that all windows hold."""
    micro_batch = {"cuts": [100_000] * (len(found) // 100_000 + 1)}

    def run(combining: bool, **how: Any) -> int:
        results = run_pipeline(stream(found, case, combining), **micro_batch, **how)
        return sum(count for count, _ in results.only)

    return {
        "plain loop": lambda: plain(found, case),
        "two phases, heap": lambda: run(True),
        "one phase, heap": lambda: run(False),
        "two phases, paged": lambda: run(True, backends="paged", key_groups=16),
        "one phase, paged": lambda: run(False, backends="paged", key_groups=16),
    }


def measured(work: dict[str, Callable[[], int]], rounds: int) -> dict[str, float]:
    """The least processor time (s) of each, in turns; their results must be equal."""
    best = dict.fromkeys(work, float("inf"))
    results = set()
    for _ in range(rounds):
        for name, each in work.items():
            gc.collect()
            start = time.process_time()
            results.add(each())
            best[name] = min(best[name], time.process_time() - start)
    assert len(results) == 1, f"results differ: {results}"
    return best


def on_spark(count: int, keys: int, case: Case, combining: bool) -> float:
    """Seconds of a job on Spark with two tasks, from its start to its end."""

    def record(number: int) -> Record:
        disorder = number * 7_919 % DISORDER_MS
        return number * 104_729 % keys, number & 1023, number // RECORDS_PER_MS + disorder

    settings = {
        "headrace.combining.enabled": str(combining).lower(),
        "parallelism.default": "2",
        "execution.runtime-mode": "STREAMING",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(DISORDER_MS))
    timed = (
        env.from_sequence(0, count - 1)
        .map(record)
        .assign_timestamps_and_watermarks(
            strategy.with_timestamp_assigner(lambda record: record[2])
        )
    )
    windows = timed.key_by(lambda record: record[0]).window(case.assigner)
    results = (
        windows.process(CountAndSumOfAll()) if case.whole else windows.aggregate(CountAndSum())
    )
    total = results.map(lambda pair: pair[0]).key_by(lambda _: 0).reduce(lambda one, two: one + two)
    start = time.perf_counter()
    seen = max(total.execute_and_collect())
    took = time.perf_counter() - start
    assert seen >= count, (seen, count)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--spark", type=int, default=0, metavar="RECORDS")
    given = parser.parse_args()
    found = records(given.records, given.keys)
    print("| windows | way | records/s | time against the plain loop |")
    print("| --- | --- | ---: | ---: |")
    for case in CASES:
        best = measured(ways(found, case), given.rounds)
        for name, seconds in best.items():
            rate, against = given.records / seconds, seconds / best["plain loop"]
            print(f"| {case.name} | {name} | {rate / 1e3:,.0f}k | {against:.2f} |", flush=True)
        if given.spark:
            for combining in (True, False):
                on_spark(given.spark, given.keys, case, combining)  # warm
                seconds = on_spark(given.spark, given.keys, case, combining)
                name = f"Spark, {'two phases' if combining else 'one phase'}"
                print(
                    f"| {case.name} | {name} | {given.spark / seconds / 1e3:,.0f}k | |", flush=True
                )


if __name__ == "__main__":
    main()
