"""Opens one partial match for each of many keys, and says what the state with them takes.

A keyed task works through the input of job (p1): a small event of each key, and then events that
are neither small nor large, whose time lets the watermark pass the others. On the heap the figure
is what Python has allocated when there is nothing left but the state, so with the events (tuples
of three ints) and the timers of ``within``; in pages the bytes of all pages.
"""

from __future__ import annotations

import gc
import json
import tracemalloc

from bench import jobs, workload
from bench.measure.operators import HEAP, again, noting_inputs
from bench.peers.protocol import options
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.operators.patterns.operator import MATCHES
from headrace.operators.patterns.stored import count_stored
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.runtime.tasks.keyed_task import KeyedTask, TaskInput
from headrace.testing import run_pipeline

MIB = 1 << 20
SMALL, NEITHER = 0, 500
BATCHES = 5


def inputs(keys: int) -> list[tuple[KeyedTask, TaskInput]]:
    """What the keyed tasks are given, as the local runner works through the job once."""
    batch = max(keys // BATCHES, 1)
    values = [SMALL] * keys + [NEITHER] * 2 * batch  # the last batch ends the job
    records = [(i % keys, value, workload.BASE_MS + i) for i, value in enumerate(values)]
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    stream = jobs.pattern_job(jobs.Api("headrace"), "p1", env.from_collection(records), keys)
    found: list[tuple[KeyedTask, TaskInput]] = []
    with noting_inputs(found):
        run_pipeline(stream, cuts=[batch] * (len(records) // batch + 1))
    return found


def opened(state: StateBackend) -> int:
    """How many partial matches there are."""
    return sum(count_stored(entry[MATCHES]) for _, entry in state.scan() if MATCHES in entry)


def filled(backend: str, keys: int) -> tuple[list[StateBackend], list[MemoryPages]]:
    """The states when all keys have a partial match, and the pages below them."""
    states: dict[int, StateBackend] = {}
    stores: list[MemoryPages] = []
    tasks: dict[KeyedTask, KeyedTask] = {}
    for task, given in inputs(keys):
        state = states.get(given.group)
        if state is None:
            if backend == HEAP:
                state = HeapBackend()
            else:
                stores.append(MemoryPages())
                state = PagedBackend(stores[-1], task.vertex.groups)
            states[given.group] = state
        if task not in tasks:
            tasks[task] = again(task)
        for _ in tasks[task].advance(given, state):
            pass
        if sum(opened(each) for each in states.values()) == keys:
            return [*states.values()], stores
    raise AssertionError("some keys have no partial match")


def taken(backend: str, keys: int) -> float:
    """Bytes."""
    filled(backend, 10)  # what is made once
    if backend != HEAP:
        _, stores = filled(backend, keys)
        return sum(len(page) for store in stores for page in store.records.values())
    gc.collect()
    tracemalloc.start()
    states, _ = filled(backend, keys)
    gc.collect()
    found, _ = tracemalloc.get_traced_memory()
    assert sum(opened(each) for each in states) == keys
    return found


def main() -> None:
    asked = options()
    keys = int(asked["keys"])
    total = taken(asked["backend"], keys)
    print(json.dumps({"bytes_each": round(total / keys, 1), "mib": round(total / MIB, 2)}))


if __name__ == "__main__":
    main()
