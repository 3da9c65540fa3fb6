"""Operators in one generated function: the same records, and errors that name the right one."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common._watermark_generators import NoWatermarks
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.operators.filter import FilterSpec
from headrace.operators.flat_map import FlatMapSpec
from headrace.operators.timestamps import TimestampsSpec
from headrace.runtime.block import decode, encode, isolate_for_receiver, records_of
from headrace.runtime.chain.chain import Chain
from headrace.runtime.failure import annotate
from headrace.runtime.loops import Step, call_step, compile_push, compile_push_all
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.user_function import UserFunction
from tests.unit.runtime.programs import (
    chain_of,
    exchange,
    mapping,
    node,
    running,
    to_exchange,
    to_node,
    to_sink,
)

Record = tuple[Any, int | None]


def row_of(*specs: OperatorSpec) -> Chain:
    """A source, the operators behind it one after the other, and a sink."""
    nodes = [node(1, None, to_node(2))]
    for number, spec in enumerate(specs, 2):
        last = number == len(specs) + 1
        nodes.append(node(number, spec, to_sink(0) if last else to_node(number + 1)))
    return running(chain_of(*nodes))


def sunk(chain: Chain) -> list[Record]:
    blocks = [isolate_for_receiver(envelope.payload) for envelope in chain.drain()]
    return [
        pair
        for block in blocks
        for pair in zip(
            records_of(block), block.timestamps or [None] * len(block.values), strict=True
        )
    ]


OPERATORS: dict[str, OperatorSpec] = {
    "double": mapping(lambda value: value * 2),
    "odd": FilterSpec(UserFunction(lambda value: value % 2 == 1)),
    "count down": FlatMapSpec(UserFunction(lambda value: range(value % 4))),
    "nothing": FlatMapSpec(UserFunction(lambda value: None)),
    "lazy": FlatMapSpec(UserFunction(lambda value: (value + more for more in (1, 2)))),
}


@given(
    st.lists(st.sampled_from(sorted(OPERATORS)), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 20), st.none() | st.integers(0, 9)), max_size=8),
)
def test_a_chunk_gives_what_its_records_give(names: list[str], records: list[Record]) -> None:
    specs = [OPERATORS[name] for name in names]
    one_by_one, at_once = row_of(*specs), row_of(*specs)
    for value, timestamp in records:
        one_by_one.push(value, timestamp)
    at_once.push_all([value for value, _ in records], [timestamp for _, timestamp in records])
    assert sunk(at_once) == sunk(one_by_one)


def generator(value: int) -> Iterator[int]:
    yield value
    if value == 7:
        raise KeyError("in the generator")
    yield -value


def failing(value: int) -> int:
    if value == -3:
        raise KeyError("behind it")
    return value * 100


@pytest.mark.parametrize(
    ("records", "operator", "record"),
    [([1, 7], "node 2", 7), ([1, 3], "node 3", -3)],
    ids=["in a generator that went on", "in what it feeds"],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_an_error_names_the_operator_and_its_record(
    records: Sequence[int], operator: str, record: int, at_once: bool
) -> None:
    chain = row_of(FlatMapSpec(UserFunction(generator)), mapping(failing))
    with pytest.raises(KeyError) as raised:
        if at_once:
            chain.push_all(list(records), None)
        else:
            for value in records:
                chain.push(value, None)
    annotate(raised.value)
    note = "\n".join(raised.value.__notes__)
    assert f"operator: {operator} " in note
    assert f"record:   {record}" in note.splitlines()
    assert "key:" not in note


def test_a_traceback_shows_the_generated_lines() -> None:
    chain = row_of(mapping(failing))
    with pytest.raises(KeyError) as raised:
        chain.push_all([-3], None)
    shown = "".join(traceback.format_exception(raised.value))
    assert "value = function_0(value)" in shown


def test_a_loop_tells_the_generator_of_the_highest_timestamp() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value
    )
    chain = running(
        chain_of(
            node(1, None, to_node(2)),
            node(2, TimestampsSpec(strategy), to_exchange(0)),
            exchanges=[exchange(0, groups=1)],
        )
    )
    chain.begin_channel("split", {})
    chain.push_all([3, 9, 4], None)
    chain.tick()
    chain.push_all([5], None)
    chain.tick()
    (envelope,) = chain.drain()
    assert [mark.watermark for mark in envelope.payload.marks] == [8]
    assert envelope.payload.marks[0].position == 3
    assert envelope.payload.timestamps == [3, 9, 4, 5]


def test_every_result_of_a_flat_map_gets_the_timestamp_of_its_record() -> None:
    later = WatermarkStrategy.no_watermarks().with_timestamp_assigner(
        lambda value, stamp: stamp + 1
    )
    specs = [FlatMapSpec(UserFunction(lambda value: [value] * 3)), TimestampsSpec(later)]
    chain, other = row_of(*specs), row_of(*specs)
    chain.push_all([1, 2], [1000, 2000])
    for value in (1, 2):
        other.push(value, value * 1000)
    assert [stamp for _, stamp in sunk(chain)] == [1001] * 3 + [2001] * 3
    assert [stamp for _, stamp in sunk(other)] == [1001] * 3 + [2001] * 3


class Wall(NoWatermarks):
    """Says where event time stands whenever it is asked."""

    def on_periodic_emit(self, output: Any) -> None:
        output.emit_watermark(5)


def timed(strategy: WatermarkStrategy) -> Chain:
    return running(
        chain_of(
            node(1, None, to_node(2)),
            node(2, TimestampsSpec(strategy), to_exchange(0)),
            exchanges=[exchange(0, groups=1)],
        )
    )


def test_a_generator_that_extends_a_known_one_is_asked() -> None:
    chain = timed(WatermarkStrategy.for_generator(Wall))
    chain.begin_channel("split", {})
    chain.push_all([1], None)
    chain.tick()
    (envelope,) = chain.drain()
    assert [mark.watermark for mark in envelope.payload.marks] == [5]


def test_a_strategy_changed_since_the_checkpoint_takes_its_own_generator() -> None:
    before = timed(WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda v, _: v))
    before.begin_channel("split", {})
    state = before.snapshot()
    chain = timed(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, _: v)
    )
    chain.begin_channel("split", state)
    chain.push_all([3, 9], None)
    chain.tick()
    (envelope,) = chain.drain()
    assert [mark.watermark for mark in envelope.payload.marks] == [8]


def test_a_record_that_a_filter_keeps_is_sent_as_it_was() -> None:
    seen: list[dict[str, int]] = []

    def keep(value: dict[str, int]) -> bool:
        for earlier in seen:
            earlier["changed"] = 1
        seen.append(value)
        return True

    chain = row_of(FilterSpec(UserFunction(keep)))
    chain.push_all([{"i": 1}, {"i": 2}], None)
    assert [value for value, _ in sunk(chain)] == [{"i": 1}, {"i": 2}]


def test_what_a_record_shares_within_itself_it_shares_afterwards() -> None:
    inner = [1]
    chain = running(
        chain_of(
            node(1, None, to_exchange(0)),
            exchanges=[exchange(0, groups=1, selector=UserFunction(lambda value: 1))],
        )
    )
    chain.push_all([{"a": inner, "b": inner}], None)
    (envelope,) = chain.drain()
    for block in (isolate_for_receiver(envelope.payload), decode(encode(envelope.payload))):
        (value,) = records_of(block)
        assert value["a"] is value["b"]


def test_a_record_that_cannot_be_pickled_is_shown() -> None:
    chain = running(
        chain_of(
            node(1, None, to_exchange(0)),
            exchanges=[exchange(0, groups=1, selector=UserFunction(lambda value: 1))],
        )
    )
    chain.push_all([[1], [threading.Lock()]], None)
    (envelope,) = chain.drain()
    with pytest.raises(TypeError) as raised:
        encode(envelope.payload)
    (note,) = raised.value.__notes__
    assert note.startswith("record:   [<unlocked _thread.lock")


def test_fresh_records_that_share_an_object_get_one_each() -> None:
    shared = ["shared"]
    chain = running(
        chain_of(
            node(1, None, to_exchange(0)),
            exchanges=[exchange(0, groups=1, selector=UserFunction(lambda value: 1))],
        )
    )
    chain.push_all([shared, shared], None)
    (envelope,) = chain.drain()
    for block in (isolate_for_receiver(envelope.payload), decode(encode(envelope.payload))):
        first, second = records_of(block)
        first.append("changed")
        assert second == ["shared"]
    assert shared == ["shared"]


def test_a_record_that_holds_itself_travels() -> None:
    knot: list[Any] = []
    knot.append(knot)
    chain = running(
        chain_of(
            node(1, None, to_exchange(0)),
            exchanges=[exchange(0, groups=1, selector=UserFunction(lambda value: 1))],
        )
    )
    chain.push_all([knot], None)
    (envelope,) = chain.drain()
    (arrived,) = records_of(decode(encode(envelope.payload)))
    assert arrived[0] is arrived
    assert arrived is not knot


def test_names_of_two_steps_do_not_meet() -> None:
    seen: list[Any] = []
    add = Step(("value = value + $more",), {"more": 1})
    more = Step(("value = value + $more",), {"more": 10})
    end = call_step(lambda value, timestamp: seen.append((value, timestamp)))
    compile_push((add, more, end), "test")(0, 5)
    compile_push_all((add, more, end), "test")([1, 2], None)
    assert seen == [(11, 5), (12, None), (13, None)]
