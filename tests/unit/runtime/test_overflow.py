"""What one call emits leaves in pieces, the same ones each time."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.types import Row
from headrace.datastream import KeyedProcessFunction
from headrace.operators.flat_map import FlatMapSpec
from headrace.runtime.block import BlockBuffer, Envelope, records_of
from headrace.runtime.context import TaskInfo
from headrace.runtime.exchange.send_context import MAX_BUFFERED_BYTES
from headrace.runtime.overflow import estimate_bytes, estimate_new_bytes
from headrace.runtime.tasks.keyed_task import TaskInput
from headrace.runtime.user_function import UserFunction
from tests.unit.runtime.keyed import Harness
from tests.unit.runtime.programs import (
    block,
    chain_of,
    exchange,
    mapping,
    node,
    running,
    to_exchange,
)

SIZE = 20_000
RESULTS = 5_000
"""100 MB in all, as one text is held by all."""


def fan_out(value: Any) -> Any:
    text = "x" * SIZE
    return ((number, text) for number in range(RESULTS))


def emitted(seen: list[int]) -> list[Envelope]:
    """What a call emits; ``seen`` gets the weight that waits whenever a record is made."""

    def watched(value: Any) -> Any:
        for result in fan_out(value):
            seen.append(chain.send_context.buffered_bytes)
            yield result

    root = node(1, FlatMapSpec(UserFunction(watched)), to_exchange(0))
    keys = exchange(0, selector=UserFunction(lambda pair: pair[0]))
    chain = running(chain_of(root, exchanges=[keys]))
    chain.push_all(["go"], None)
    assert chain.is_full
    found = list(chain.drain())
    assert not chain.is_full and not chain.buffered_records()
    return found


def test_a_call_that_emits_without_end_holds_a_part_in_buffers() -> None:
    seen: list[int] = []
    envelopes = emitted(seen)
    assert max(seen) < MAX_BUFFERED_BYTES * 1.2
    assert [envelope.seq for envelope in envelopes] == [*range(len(envelopes))]
    for group in range(4):
        numbers = [n for e in envelopes if e.group == group for n, _ in records_of(e.payload)]
        assert numbers == sorted(numbers)
    assert sum(len(envelope.payload.values) for envelope in envelopes) == RESULTS


def test_a_repetition_leaves_in_the_same_blocks() -> None:
    first, second = emitted([]), emitted([])
    assert len(first) > 4
    assert [len(e.payload.values) for e in first] == [len(e.payload.values) for e in second]
    assert first == second


class ManyTimers(KeyedProcessFunction):
    """Each timer gives 1 MB."""

    fired = 0

    def process_element(self, value: Any, ctx: Any) -> None:
        for at in range(value):
            ctx.timer_service().register_processing_time_timer(at)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        ManyTimers.fired += 1
        return [f"{timestamp} {number}".zfill(100_000) for number in range(10)]


@pytest.mark.parametrize("batch", [False, True])
def test_timers_that_fire_give_out_between_them(batch: bool) -> None:
    ManyTimers.fired = 0
    harness = Harness(ManyTimers(), "split", batch=batch)
    given = TaskInput(0, [block(100, keys=["a"])], 0)
    if not batch:
        harness.advance(*given.blocks)
        given = TaskInput(0, [], 500)
    envelopes = harness.task.advance(given, harness.backend(0))
    first = next(envelopes)
    assert ManyTimers.fired < 30
    rest = [value for envelope in (first, *envelopes) for value in records_of(envelope.payload)]
    assert rest == [f"{at} {n}".zfill(100_000) for at in range(100) for n in range(10)]


def test_what_a_failed_call_put_aside_is_forgotten() -> None:
    def failing(value: Any) -> Any:
        yield from fan_out(value)
        raise ValueError(value)

    root = node(1, FlatMapSpec(UserFunction(failing)), to_exchange(0))
    keys = exchange(0, selector=UserFunction(lambda pair: pair[0]))
    chain = running(chain_of(root, exchanges=[keys]))
    with pytest.raises(ValueError, match="go"):
        chain.push_all(["go"], None)
    chain.begin(sender=3, now_ms=1000)
    assert not chain.is_full
    assert not list(chain.drain())


class Plain:
    def __init__(self, text: str) -> None:
        self.text = text


class Sized:
    nbytes = 5_000


@pytest.mark.parametrize(
    "value",
    [
        "x" * 5_000,
        b"x" * 5_000,
        ("a", "x" * 5_000),
        ["x" * 50] * 100,
        {"a": "x" * 5_000},
        Row(name="x" * 5_000),
        Plain("x" * 5_000),
        (1, {"a": ["x" * 5_000]}),
        Sized(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_bytes_of_a_value(value: Any) -> None:
    assert 4_900 < estimate_bytes(value) < 11_000


def test_a_value_that_holds_itself_has_a_size() -> None:
    value: list[Any] = []
    value.append(value)
    assert estimate_bytes(value) > 0


def test_a_buffer_is_weighed_by_what_came_since() -> None:
    buffer = BlockBuffer(None)
    buffer.values = ["x" * 1_000] * 100
    assert 100_000 < estimate_new_bytes(buffer) < 120_000
    buffer.estimated_count = 100
    assert estimate_new_bytes(buffer) == 0


def test_every_task_has_an_overflow_of_its_own() -> None:
    task_info = TaskInfo()
    assert task_info.overflow() is not task_info.overflow()


def test_between_chunks_what_waits_is_counted_in_bytes() -> None:
    root = node(1, mapping(lambda value: value * SIZE), to_exchange(0))
    keys = exchange(0, selector=UserFunction(lambda text: text[:1]))
    chain = running(chain_of(root, exchanges=[keys]))
    chunks = 0
    while not chain.is_full:
        chain.push_all([*"abcd"] * 25, None)  # 2 MB
        chunks += 1
    assert 8 <= chunks <= 9
