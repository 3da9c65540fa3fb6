"""What a record costs a join in pages does not depend on how many records its key has open."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from headrace.operators.joins.as_of import AsOfJoinSpec
from headrace.operators.joins.base import LEFT, RIGHT, TIMER_SLOT
from headrace.operators.joins.interval import IntervalJoinSpec
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.state.kinds import TIMES, VALUE, StateKind
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.runtime.state.time_buffer import TimeBuffer
from headrace.runtime.user_function import UserFunction
from headrace.testing import KeyedHarness
from tests.contract.stores import CountingStore

STEP_MS, TURNS = 10, 40


class Pairs:
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        return [(left[1], right[1])]


PAIRS = UserFunction(Pairs(), "process_element")
SPECS: dict[str, OperatorSpec] = {
    "newest": IntervalJoinSpec(PAIRS, -20 * STEP_MS, 0),
    "long past": IntervalJoinSpec(PAIRS, -50 * STEP_MS, -48 * STEP_MS),
    "as of": AsOfJoinSpec(UserFunction(lambda a, b: (a[1], b[1])), "join"),
}


def order(number: int) -> tuple[Any, ...]:
    return "key", number, number * 1.25, f"customer-{number}", number % 7 == 0


@cache
def stored(open_records: int) -> dict[str, bytes]:
    """The pages of a join whose one key has so many records of each side."""
    pages = MemoryPages()
    backend = PagedBackend(pages, 1)
    backend.declare(TIMER_SLOT, StateKind(VALUE))
    entry = backend.enter("key")
    for side in (LEFT, RIGHT):
        backend.declare(side, StateKind(TIMES))
        times = [number * STEP_MS for number in range(open_records)]
        entry[side] = TimeBuffer(times, [*map(order, range(open_records))])
    backend.changed("key")
    backend.flush()
    return pages.records


def cost(spec: OperatorSpec, open_records: int) -> tuple[float, float]:
    """Calls of the store and bytes moved by two micro-batches: a record of each side."""
    store: Any = CountingStore()
    store.records.update(stored(open_records))
    with KeyedHarness(spec, (0, 0), backend="paged") as task:
        task._store = store
        for number in range(open_records, open_records + TURNS):
            for side in (1, 0):
                task.process(order(number), number * STEP_MS, input=side)
        calls = len(store.read) + len(store.written) + len(store.removed)
        found = calls / TURNS, store.moved_bytes / TURNS
        if isinstance(spec, AsOfJoinSpec):
            task.advance_watermark((open_records + TURNS) * STEP_MS)
        assert len(task.output()) >= TURNS
        return found


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_a_record_costs_the_same_with_a_thousand_times_the_open_records(spec: OperatorSpec) -> None:
    few_calls, few_bytes = cost(spec, 100)
    many_calls, many_bytes = cost(spec, 100_000)
    assert many_calls <= 1.5 * few_calls
    assert many_bytes <= 1.5 * few_bytes
