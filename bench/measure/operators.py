"""What operators cost beside another checkout: ``python -m bench.measure.operators CHECKOUT``.

For each case the processor time that a keyed task needs for a record, with this checkout's engine
and with the other's. Both run in processes of their own, which live for a round and are asked in
turn; each answers several times, and the least counts. For each case it prints this checkout's rate
by the other's, the mean over the rounds and its interval of 95 %: above 1, this one is faster.

A case is a program of the DataStream API. It runs once through the local runner, which gives the
inputs of its keyed tasks; what is measured are new tasks with the same inputs and state that begins
empty, on the heap or in pages. Records are not combined before the exchange. It uses only what an
older engine has as well.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import processes
from bench.against import interval
from bench.environments import ROOT
from headrace.common import Configuration, Duration, WatermarkStrategy
from headrace.common.time import Time
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.aggregates import Aggregates, Count, Sum
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.functions import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessJoinFunction,
    RuntimeContext,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.metrics.metricbase import MetricGroup
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.runtime.tasks.keyed_task import KeyedTask, TaskInput
from headrace.testing import run_pipeline

HEAP, PAGES = "heap", "pages"
REPEATS = 2
MANY_KEYS = 1_000_000

Record = tuple[int, int, int]
"""Key, value, timestamp (ms)."""

Environment = StreamExecutionEnvironment


class Sums(KeyedProcessFunction):
    """Keeps count and sum of a key, and gives both as a list."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count and sum"))

    def process_element(self, value: Record, ctx: Any) -> Any:
        count, total = self.state.value() or (0, 0)
        count, total = count + 1, total + value[1]
        self.state.update((count, total))
        return [(value[0], count, total)]


class Keeps(Sums):
    """Keeps count and sum, and gives nothing."""

    def process_element(self, value: Record, ctx: Any) -> None:
        count, total = self.state.value() or (0, 0)
        self.state.update((count + 1, total + value[1]))


class SumsOfBoth(KeyedCoProcessFunction):
    """Keeps what came by either input, and gives the sum of both as a list."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.first = runtime_context.get_state(ValueStateDescriptor("first"))
        self.second = runtime_context.get_state(ValueStateDescriptor("second"))

    def process_element1(self, value: Record, ctx: Any) -> Any:
        self.first.update(value[1])
        return [value[1] + (self.second.value() or 0)]

    def process_element2(self, value: Record, ctx: Any) -> Any:
        self.second.update(value[1])
        return [value[1] + (self.first.value() or 0)]


class Pairs(ProcessJoinFunction):
    """The values of a pair."""

    def process_element(self, left: Record, right: Record, ctx: Any) -> Any:
        return [(left[1], right[1])]


def key(record: Record) -> int:
    """The key of a record."""
    return record[0]


def summed(one: Record, other: Record) -> Record:
    """The key of two records, the sum of their values, and the later time."""
    return one[0], one[1] + other[1], other[2]


def pair(left: Record, right: Record | None) -> tuple[int, int | None]:
    """The values of a pair."""
    return left[1], None if right is None else right[1]


@dataclass(frozen=True)
class Input:
    """How many records come, of how many keys, and how far out of order.

    ``rate``: records in a second of event time, of all inputs together.
    """

    records: int = 40_000
    keys: int = 2_000
    rate: int = 2_000
    disorder_ms: int = 2_000
    batch: int = 5_000

    def strategy(self) -> WatermarkStrategy:
        """Watermarks for the disorder."""
        return WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(self.disorder_ms))

    def rows(self, env: Environment, inputs: int = 1, timed: bool = True) -> list[DataStream]:
        """A stream of tuples for each input."""
        drawn, made = random.Random(7), [[] for _ in range(inputs)]  # type: ignore[var-annotated]
        for number in range(self.records):
            time_ms = number * 1_000 // self.rate + drawn.randrange(self.disorder_ms)
            record = drawn.randrange(self.keys), number & 1023, time_ms
            made[number % inputs].append(record)
        streams = [env.from_collection(records) for records in made]
        if not timed:
            return streams
        strategy = self.strategy().with_timestamp_assigner(lambda record: record[2])
        return [stream.assign_timestamps_and_watermarks(strategy) for stream in streams]

    def columns(self, env: Environment) -> DataStream:
        """The stream ``key``, ``value``, ``time`` as columns."""

        def made(index: Any) -> Any:
            late_ms = index * 2_246_822_519 % 4_294_967_291 % self.disorder_ms
            return {
                "key": index * 2_654_435_761 % 4_294_967_291 % self.keys,
                "value": index & 1023,
                "time": index * 1_000 // self.rate + late_ms,
            }

        source = DataGeneratorSource.of_columns(made, count=self.records)
        strategy = self.strategy().with_timestamp_assigner("time")
        return env.from_source(source, None, "columns").assign_timestamps_and_watermarks(strategy)


@dataclass(frozen=True)
class Case:
    """A program by its input, and where its state may lie."""

    build: Callable[[Environment, Input], DataStream]
    given: Input = Input()
    backends: tuple[str, ...] = (HEAP, PAGES)
    repeats: int = REPEATS


def _process(function: KeyedProcessFunction) -> Callable[[Environment, Input], DataStream]:
    def build(env: Environment, given: Input) -> DataStream:
        (records,) = given.rows(env, timed=False)
        return records.key_by(key).process(function)

    return build


def _two_inputs(env: Environment, given: Input) -> DataStream:
    first, second = given.rows(env, 2, timed=False)
    return first.connect(second).key_by(key, key).process(SumsOfBoth())


def _reduce(env: Environment, given: Input) -> DataStream:
    (records,) = given.rows(env, timed=False)
    return records.key_by(key).reduce(summed)


def _windows(assigner: Any, reduces: bool = False) -> Callable[[Environment, Input], DataStream]:
    def build(env: Environment, given: Input) -> DataStream:
        (records,) = given.rows(env)
        windows = records.key_by(key).window(assigner)
        if reduces:
            return windows.reduce(summed)
        return windows.aggregate(Aggregates(count=Count(), total=Sum(1)))

    return build


def _window_columns(env: Environment, given: Input) -> DataStream:
    windows = given.columns(env).key_by("key").window(TUMBLING)
    return windows.aggregate(Aggregates(count=Count(), total=Sum("value")))


def _window_column_sums(env: Environment, given: Input) -> DataStream:
    return given.columns(env).key_by("key").window(TUMBLING).sum("value")


def _column_sums(env: Environment, given: Input) -> DataStream:
    return given.columns(env).key_by("key").sum("value")


def _interval_join(reach_ms: int) -> Callable[[Environment, Input], DataStream]:
    def build(env: Environment, given: Input) -> DataStream:
        left, right = (stream.key_by(key) for stream in given.rows(env, 2))
        bounds = Time.milliseconds(-reach_ms), Time.milliseconds(reach_ms)
        return left.interval_join(right).between(*bounds).process(Pairs())

    return build


def _as_of_join(tolerance: Any = None) -> Callable[[Environment, Input], DataStream]:
    def build(env: Environment, given: Input) -> DataStream:
        left, right = (stream.key_by(key) for stream in given.rows(env, 2))
        return left.as_of_join(right, tolerance=tolerance).apply(pair)

    return build


def _window_join(env: Environment, given: Input) -> DataStream:
    first, second = given.rows(env, 2)
    joined = first.join(second).where(key).equal_to(key)
    return joined.window(TumblingEventTimeWindows.of(Time.seconds(2))).apply(pair)


TUMBLING = TumblingEventTimeWindows.of(Time.seconds(2))
FEW_OPEN = Input(records=50_000)
"""A key has a record of each side every 2 s, so 2 to 5 of each are kept."""

MANY_OPEN = Input(records=30_000, keys=75, rate=1_500, disorder_ms=10_000)
"""A key has 10 records of each side in a second, and the watermark is 10 s late."""

COLUMNS = Input(records=200_000, keys=10_000, rate=20_000, batch=50_000)

CASES: dict[str, Case] = {
    "process, a list": Case(_process(Sums())),
    "process, nothing": Case(_process(Keeps())),
    "process, two inputs": Case(_two_inputs),
    "reduce": Case(_reduce),
    "tumbling, Aggregates": Case(_windows(TUMBLING)),
    "tumbling, reduce": Case(_windows(TUMBLING, reduces=True)),
    "sliding, Aggregates": Case(
        _windows(SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(2))),
        Input(records=20_000),
    ),
    "sessions": Case(_windows(EventTimeSessionWindows.with_gap(Time.seconds(1)))),
    "window columns, Aggregates": Case(_window_columns, COLUMNS),
    "window columns, sum": Case(_window_column_sums, COLUMNS),
    "reduce columns": Case(_column_sums, COLUMNS),
    "interval join, few": Case(_interval_join(2_000), FEW_OPEN),
    "interval join, 100": Case(_interval_join(250), MANY_OPEN),
    "as-of join, few": Case(_as_of_join(), FEW_OPEN),
    "as-of join in 2 s, few": Case(_as_of_join(Time.seconds(2)), FEW_OPEN),
    "as-of join, 100": Case(_as_of_join(), MANY_OPEN),
    "window join": Case(_window_join),
    "process, 1,000,000 keys": Case(
        _process(Keeps()),
        Input(records=MANY_KEYS // 4, keys=MANY_KEYS, batch=100_000),
        backends=(PAGES,),
        repeats=1,
    ),
}


class Work:
    """The inputs of a case's keyed tasks, which can be worked through again and again."""

    def __init__(self, case: Case) -> None:
        settings = {"headrace.combining.enabled": "false"}
        env = Environment.get_execution_environment(Configuration.from_dict(settings))
        stream, given = case.build(env, case.given), case.given
        self.records = given.records
        self._inputs: list[tuple[KeyedTask, TaskInput]] = []
        with noting_inputs(self._inputs):
            run_pipeline(stream, cuts=[given.batch] * (given.records // given.batch + 1))

    def run(self, backend: str) -> tuple[float, int]:
        """The processor time for a record in µs, and how many records came out."""
        tasks = {task: again(task) for task, _ in self._inputs}
        stores: dict[Any, MemoryPages] = {}
        heaps: dict[Any, HeapBackend] = {}
        took = outputs = 0

        def backend_of(task: KeyedTask, group: int) -> StateBackend:
            if backend == HEAP:
                return heaps.setdefault((task, group), HeapBackend())
            store = stores.setdefault((task, group), MemoryPages())
            return PagedBackend(store, task.vertex.groups)

        gc.collect()
        gc.disable()
        for task, given in self._inputs:
            state = backend_of(task, given.group)
            start = time.process_time_ns()
            found = [*tasks[task].advance(given, state)]
            took += time.process_time_ns() - start
            outputs += sum(len(envelope.payload.values) for envelope in found)
        gc.enable()
        return took / self.records / 1e3, outputs


@contextmanager
def noting_inputs(inputs: list[tuple[KeyedTask, TaskInput]]) -> Iterator[None]:
    """Note what keyed tasks are given."""
    work = KeyedTask.run_group

    def noting(self: KeyedTask, task: TaskInput, *rest: Any, **named: Any) -> Any:
        inputs.append((self, task))
        return work(self, task, *rest, **named)

    KeyedTask.run_group = noting  # type: ignore[method-assign]
    try:
        yield
    finally:
        KeyedTask.run_group = work  # type: ignore[method-assign]


def again(task: KeyedTask) -> KeyedTask:
    """A new task that does the same."""
    return KeyedTask(task.vertex, task.job, task.task_info, MetricGroup())


def figure(name: str, backend: str) -> str:
    """The name of a case with one backend."""
    return f"{name}, {backend}"


class Engine:
    """A process with the engine of a checkout."""

    def __init__(self, checkout: Path) -> None:
        self._checkout = checkout
        path = f"{checkout.resolve() / 'src'}{os.pathsep}{ROOT}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.measure.operators", str(checkout), "--serve"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, name: str, backend: str) -> tuple[float, int]:
        """µs for a record, and the number of outputs, of one run of a case."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, backend]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{figure(name, backend)}: the engine of {self._checkout} ended")
        took, outputs = json.loads(answer)
        return took, outputs

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def serve() -> None:
    """Answer questions from the standard input with the engine that Python's path names."""
    answers, sys.stdout = sys.stdout, sys.stderr
    work, last = None, None
    for line in sys.stdin:
        name, backend = json.loads(line)
        if work is None or last != name:
            work = None  # first free the last case's
            work, last = Work(CASES[name]), name
        print(json.dumps(work.run(backend)), file=answers, flush=True)


def measure(checkout: Path, names: Sequence[str], runs: int) -> dict[str, list[float]]:
    """By figure, this checkout's rate by the other's, of each round."""
    ratios: dict[str, list[float]] = {}
    for number in range(runs):
        with Engine(ROOT) as here, Engine(checkout) as there:
            for name in names:
                for backend in CASES[name].backends:
                    us_here, us_there = _least(here, there, name, backend, number)
                    found = ratios.setdefault(figure(name, backend), [])
                    found.append(us_there / us_here)
                    print(
                        f"{figure(name, backend):<32} {us_here:>8.2f} µs here"
                        f" {us_there:>8.2f} µs there {us_there / us_here:.3f}",
                        file=sys.stderr,
                        flush=True,
                    )
    return ratios


def _least(here: Engine, there: Engine, name: str, backend: str, number: int) -> list[float]:
    """The least of both engines, after a run of each that does not count."""
    repeats = CASES[name].repeats
    took: dict[Engine, list[float]] = {here: [], there: []}
    outputs: set[int] = set()
    for repeat in range(repeats + (repeats > 1)):
        for engine in (here, there) if (number + repeat) % 2 else (there, here):
            us, came = engine.ask(name, backend)
            took[engine].append(us)
            outputs.add(came)
    if len(outputs) != 1:
        raise RuntimeError(f"{figure(name, backend)}: the outputs differ: {sorted(outputs)}")
    return [min(each[repeats > 1 :]) for each in took.values()]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path, help="another checkout of Headrace")
    parser.add_argument("names", nargs="*", metavar="NAME", help="; ".join(CASES))
    parser.add_argument("--runs", type=int, default=7, help="rounds")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve()
        return 0
    if unknown := set(chosen.names) - set(CASES):
        parser.error(f"no such case: {'; '.join(sorted(unknown))}")
    if not (chosen.checkout / "src" / "headrace").is_dir():
        parser.error(f"no checkout of Headrace: {chosen.checkout}")
    processes.stay_on_two_cores()
    ratios = measure(chosen.checkout, chosen.names or [*CASES], chosen.runs)
    print("| operator | rate to the other | interval of 95 % |")
    print("| --- | ---: | ---: |")
    for name, found in ratios.items():
        low, middle, high = interval(found)
        print(f"| {name} | {middle:.3f} | {low:.3f} to {high:.3f} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
