"""One group at work: timers, clocks, state by key, and going on with nothing but the state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.datastream import MapFunction
from headrace.datastream.functions import CheckpointedFunction
from headrace.datastream.state import ListStateDescriptor
from headrace.operators.checkpointed import CheckpointedSpec
from headrace.operators.map import MapSpec
from headrace.operators.process import ProcessSpec
from headrace.operators.reduce import ReduceSpec
from headrace.runtime.block import Block
from headrace.runtime.channel import ALL_SPLITS
from headrace.runtime.program import VertexProgram
from headrace.runtime.tasks.keyed_task import TaskInput, sender_of
from headrace.runtime.user_function import UserFunction
from tests.effort import examples
from tests.unit.runtime.keyed import Harness, Memory, Timers, at, by_clock
from tests.unit.runtime.programs import (
    Mark,
    Spy,
    block,
    chain_of,
    channel,
    exchange,
    node,
    to_exchange,
    to_node,
)


@pytest.fixture(params=["heap", "paged"])
def paged(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "paged")


def reached(watermark: int, channel: str = "split") -> Block:
    """A block that holds a mark only."""
    return block(marks=[Mark(0, channel, watermark)])


def fired(results: list[Any]) -> list[Any]:
    """The timers among results: (key, time)."""
    return [(key, time_ms) for key, what, time_ms, _ in results if what != "record"]


# Timers


def test_timers_fire_in_the_order_of_their_time_across_keys(paged: bool) -> None:
    harness = Harness(Timers(), paged=paged)
    harness.advance(block(at(30, 10), at(20), at(5), keys=["a", "b", "c"]))
    assert harness.advance(reached(4)) == []
    assert fired(harness.advance(reached(10))) == [("c", 5), ("a", 10)]
    assert fired(harness.advance(reached(99))) == [("b", 20), ("a", 30)]
    assert harness.advance(reached(MAX_WATERMARK)) == []


def test_timers_of_one_moment_fire_in_the_order_they_were_set(paged: bool) -> None:
    harness = Harness(Timers(), paged=paged)
    keys = ["d", "a", "c", "b"]
    harness.advance(block(*[at(7)] * 4, keys=keys))
    assert fired(harness.advance(reached(7))) == [(key, 7) for key in keys]


def test_a_timer_set_twice_fires_once_and_a_deleted_one_never(paged: bool) -> None:
    harness = Harness(Timers(), paged=paged)
    harness.advance(
        block([*at(7, 7, 8, 9), ("delete_event_time_timer", 8)], at(7), keys=["a", "a"])
    )
    harness.advance(block([("delete_event_time_timer", 9)], keys=["other"]))
    assert fired(harness.advance(reached(10))) == [("a", 7), ("a", 9)]


def test_timers_set_by_timers_fire_when_they_are_due(paged: bool) -> None:
    """Those that are due already before any later one of another key."""
    harness = Harness(Timers(), paged=paged)
    harness.advance(block(at(100), at(101, 103), keys=["a", "b"]))
    results = harness.advance(reached(120))
    assert fired(results) == [("a", 100), ("b", 101), ("a", 101), ("b", 103)]
    assert {watermark for *_, watermark in results} == {120}
    assert fired(harness.advance(reached(150))) == [("a", 150)]


def test_records_before_a_mark_come_before_its_timers(paged: bool) -> None:
    marks = [Mark(1, "split", 10), Mark(2, "split", 20)]
    harness = Harness(Timers(), paged=paged)
    results = harness.advance(
        block(at(10), at(15, 20), at(12), keys=["a", "b", "c"], stamps=[1, 2, 3], marks=marks)
    )
    assert results == [
        ("a", "record", 1, MIN_WATERMARK),
        ("a", "EVENT_TIME", 10, 10),
        ("b", "record", 2, 10),
        ("b", "EVENT_TIME", 15, 20),
        ("b", "EVENT_TIME", 20, 20),
        ("c", "record", 3, 20),
    ]
    # a timer set for the past fires with the next watermark
    assert harness.advance(reached(21)) == [("c", "EVENT_TIME", 12, 21)]


def test_a_timer_at_the_end_of_time_fires_at_the_end(paged: bool) -> None:
    harness = Harness(Timers(), paged=paged)
    harness.advance(block(at(MAX_WATERMARK), at(MAX_WATERMARK - 1), keys=["a", "b"]))
    assert fired(harness.advance(reached(MAX_WATERMARK))) == [
        ("b", MAX_WATERMARK - 1),
        ("a", MAX_WATERMARK),
    ]


def test_timers_by_the_clock_fire_before_the_records_of_the_next_micro_batch(paged: bool) -> None:
    harness = Harness(Timers(), paged=paged)
    assert fired(harness.advance(block(by_clock(500, 1500), keys=["a"]), now_ms=1000)) == []
    assert harness.advance(block([], keys=["b"]), now_ms=1499) == [
        ("a", "PROCESSING_TIME", 500, MIN_WATERMARK),
        ("b", "record", MIN_WATERMARK, MIN_WATERMARK),
    ]
    assert fired(harness.advance(now_ms=1500)) == [("a", 1500)]
    assert harness.advance(now_ms=9999) == []


def test_at_the_end_timers_fire_whose_time_has_passed_and_no_others(paged: bool) -> None:
    harness = Harness(Timers(), paged=paged)
    first = block(by_clock(900, 1100), keys=["a"])
    assert fired(harness.advance(first, reached(MAX_WATERMARK), now_ms=1000)) == [("a", 900)]


def test_the_clocks_are_distinguished(paged: bool) -> None:
    harness = Harness(Timers(), paged=paged)
    harness.advance(block([*at(10), *by_clock(10)], keys=["a"]))
    assert fired(harness.advance(reached(10), now_ms=5)) == [("a", 10)]
    assert harness.advance(now_ms=10) == [("a", "PROCESSING_TIME", 10, 10)]


def test_the_clock_does_not_go_back_while_timers_wait_for_it(paged: bool) -> None:
    class Telling(Timers):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_processing_time_timer(9_000)
            yield ctx.timer_service().current_processing_time()

    harness = Harness(Telling(), paged=paged)
    assert harness.advance(block(0), now_ms=1000) == [1000]
    assert harness.advance(block(0), now_ms=400) == [1000]
    assert harness.advance(block(0), now_ms=1001) == [1001]


# State


def test_each_key_has_a_state_of_its_own(paged: bool) -> None:
    harness = Harness(Memory(), paged=paged)
    assert harness.advance(block("x", "y", "x", keys=["a", "b", "a"])) == [
        ("a", 1, ["x"], {"x": 1}),
        ("b", 1, ["y"], {"y": 1}),
        ("a", 2, ["x", "x"], {"x": 2}),
    ]
    assert harness.advance(block("z", "clear", "y", keys=["b", "a", "a"])) == [
        ("b", 2, ["y", "z"], {"y": 1, "z": 1}),
        ("a", 3, ["x", "x", "clear"], {"x": 2, "clear": 1}),
        ("a", 1, ["y"], {"y": 1}),
    ]


def test_each_group_has_a_state_of_its_own(paged: bool) -> None:
    harness = Harness(Memory(), paged=paged)
    harness.advance(block("x", keys=["a"]), reached(50), group=1)
    assert harness.advance(block("y", keys=["a"]), group=2) == [("a", 1, ["y"], {"y": 1})]
    assert harness.backend(1).header["watermark"] == 50
    assert harness.backend(2).header["watermark"] == MIN_WATERMARK


def test_keys_that_hold_nothing_are_forgotten(paged: bool) -> None:
    harness = Harness(Memory(), paged=paged)
    harness.advance(block("x", "clear", keys=["kept", "gone"]))
    assert list(harness.backend(0).keys()) == ["kept"]


def test_equal_keys_of_different_types_are_one_key(paged: bool) -> None:
    harness = Harness(Memory(), paged=paged)
    counts = [count for _, count, *_ in harness.advance(block(*"wxyz", keys=[1, True, 1.0, 2]))]
    assert counts == [1, 2, 3, 1]
    assert harness.advance(block("w", keys=[1.0]))[0][1] == 4


# Going on


events = st.tuples(
    st.sampled_from("abc"),
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "register_event_time_timer",
                    "register_event_time_timer",
                    "delete_event_time_timer",
                    "register_processing_time_timer",
                    "delete_processing_time_timer",
                ]
            ),
            st.integers(0, 40).map(lambda number: number * 10),
        ),
        max_size=3,
    ),
    st.integers(0, 30),
)


@settings(max_examples=examples(16))
@given(st.lists(events, min_size=1, max_size=12))
def test_a_new_task_over_the_stored_state_goes_on(steps: list[Any]) -> None:
    """A task that lives on and one made anew for every micro-batch give the same."""
    living, anew = Harness(Timers(), "0"), Harness(Timers(), "0", paged=True)
    now_ms = watermark = 0
    for key, commands, later in steps:
        watermark += later
        now_ms += later
        record = block(commands, keys=[key], stamps=[now_ms], marks=[Mark(1, "0", watermark)])
        expected = living.advance(record, now_ms=now_ms)
        assert anew.advance(record, now_ms=now_ms) == expected
    end = reached(MAX_WATERMARK, "0")
    expected = living.advance(end, now_ms=1000)
    assert anew.advance(end, now_ms=1000) == expected
    assert all(not harness.advance(now_ms=10**6) for harness in (living, anew))


def test_a_micro_batch_that_is_run_again_gives_the_same() -> None:
    harness = Harness(Timers(), paged=True)
    harness.advance(block(at(10), by_clock(7), keys=["a", "b"]))
    before = dict(harness.stores[0].records)
    task = [block(at(30), keys=["a"], marks=[Mark(1, "split", 20)])]
    first = harness.advance(*task, now_ms=8)
    after, harness.stores[0].records = harness.stores[0].records, before
    assert harness.advance(*task, now_ms=8) == first
    assert harness.stores[0].records == after
    assert fired(first) == [("b", 7), ("a", 10)]


def test_output_leaves_while_the_task_goes_on() -> None:
    """A micro-batch may be larger than memory."""
    harness = Harness(Timers(), flush_records=2)
    blocks = [block(*[[]] * 2, keys=["a"] * 2) for _ in range(3)]
    envelopes = harness.task.advance(TaskInput(5, blocks, 0), harness.backend(5))
    first = next(envelopes)
    assert len(first.payload.values) == 2
    rest = list(envelopes)
    assert [len(envelope.payload.values) for envelope in rest] == [2, 2]
    assert [e.seq for e in (first, *rest)] == [0, 1, 2]
    assert {e.sender for e in (first, *rest)} == {sender_of(harness.vertex, 5)}


def test_senders_are_distinguished() -> None:
    vertices = [replace(Harness(Timers()).vertex, number=number) for number in range(3)]
    senders = [sender_of(vertex, group) for vertex in vertices for group in (0, 1, 32_767)]
    assert senders == sorted(set(senders))
    assert min(senders) > 10_000  # above those of source tasks


def test_a_vertex_without_keys_pushes_its_records() -> None:
    def tell(value: Any, ctx: Any) -> Any:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()

    harness = Harness(ProcessSpec(UserFunction(tell)), keyed=False)
    records = block("a", "b", stamps=[5, None], marks=[Mark(1, "split", 9)])._replace(keys=None)
    assert harness.advance(records) == [("a", 5, MIN_WATERMARK), ("b", MIN_WATERMARK, 9)]
    # the watermark is remembered, although there is no keyed state
    assert harness.advance(records._replace(marks=[])) == [("a", 5, 9), ("b", MIN_WATERMARK, 9)]


class Listing(MapFunction, CheckpointedFunction):
    """Keeps a list of its instance."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.seen = store.get_list_state(ListStateDescriptor("seen", Types.STRING()))

    def map(self, value: Any) -> Any:
        return value

    def snapshot_state(self, context: Any) -> None:
        self.seen.update(["a"])


def test_the_size_of_state_is_told_where_there_may_be_state() -> None:
    plain = ProcessSpec(UserFunction(lambda value, ctx: []))
    with_state = CheckpointedSpec(UserFunction(Listing(), "map"), MapSpec)
    for spec, told in ((plain, False), (with_state, True)):
        harness = Harness(spec, "split", keyed=False)
        harness.advance(block("a", "b")._replace(keys=None))
        figures = harness.metrics.snapshot()
        assert any("stateEntries" in name for name in figures) is told


# Batch


def in_batch(*blocks: Block) -> list[Any]:
    return Harness(Timers(), "0", batch=True).advance(*blocks, reached(MAX_WATERMARK), now_ms=70)


def test_a_batch_takes_records_by_time_and_fires_timers_behind_them() -> None:
    results = in_batch(
        block(at(10), at(5), keys=["a", "b"], stamps=[30, 20], marks=[Mark(1, "split", 25)]),
        block(at(10), [], keys=["c", "d"], stamps=[20, None]),
    )
    assert results == [
        ("d", "record", MIN_WATERMARK, MIN_WATERMARK),
        ("b", "record", 20, MIN_WATERMARK),
        ("c", "record", 20, MIN_WATERMARK),
        ("a", "record", 30, MIN_WATERMARK),
        ("b", "EVENT_TIME", 5, MAX_WATERMARK),
        ("c", "EVENT_TIME", 10, MAX_WATERMARK),
        ("a", "EVENT_TIME", 10, MAX_WATERMARK),
    ]


def test_a_batch_of_several_splits_has_one_watermark_the_last() -> None:
    """None of its splits is idle until then."""
    after = Spy("after")
    harness = Harness(Timers(), batch=True)
    (root,) = harness.vertex.chain.nodes.values()
    chain = chain_of(replace(root, links=(to_node(2),)), node(2, after))
    harness.vertex = replace(harness.vertex, chain=chain)
    harness.task = harness.new_task()
    harness.advance(*(block([], keys=["a"], marks=[Mark(1, split, 9)]) for split in ("0:a", "0:b")))
    assert len(after.records()) == 2
    assert after.watermarks() == [(MAX_WATERMARK, False)]


def test_a_batch_without_times_keeps_the_order_of_arrival() -> None:
    results = in_batch(block([], [], keys=["b", "a"]), block([], keys=["c"]))
    assert [key for key, *_ in results] == ["b", "a", "c"]


def test_at_its_end_a_batch_fires_what_waits_for_the_clock() -> None:
    results = in_batch(block(by_clock(10**15), keys=["a"]))
    assert fired(results) == [("a", 10**15)]


class Repeating(Timers):
    """Each timer by the clock sets the next ones, by both clocks, and takes one back."""

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timestamp + 1000)
        timers.register_event_time_timer(timestamp + 1000)
        timers.delete_processing_time_timer(7777)
        yield ctx.get_current_key(), ctx.time_domain().name, timestamp, 0


def test_at_the_end_of_a_batch_each_timer_by_the_clock_fires_once(paged: bool) -> None:
    """And none that they set, or the batch would never end."""
    harness = Harness(Repeating(), "split", paged=paged, batch=True)
    records = block(by_clock(3000, 1000), by_clock(2000, 7777), keys=["a", "b"])
    assert fired(harness.advance(records)) == [("a", 1000), ("b", 2000), ("a", 3000)]
    figures = harness.metrics.snapshot()
    assert [count for name, count in figures.items() if "numTimersDropped" in name] == [6]
    assert harness.advance(now_ms=10**6) == []


def test_a_stream_goes_on_with_the_timers_that_timers_set(paged: bool) -> None:
    harness = Harness(Repeating(), "split", paged=paged)
    harness.advance(block(by_clock(1000), keys=["a"]))
    assert fired(harness.advance(now_ms=3500)) == [("a", 1000), ("a", 2000), ("a", 3000)]
    assert fired(harness.advance(now_ms=4000)) == [("a", 4000)]


def test_a_batch_gives_final_results_and_a_stream_each() -> None:
    total = ReduceSpec(UserFunction(lambda one, other: one + other))
    records = block(1, 2, 3, keys=["a", "b", "a"])
    assert Harness(total).advance(records, reached(MAX_WATERMARK)) == [1, 2, 4]
    assert Harness(total, "split", batch=True).advance(records) == [4, 2]


def test_the_end_comes_once() -> None:
    harness = Harness(ReduceSpec(UserFunction(max)), "split", batch=True)
    assert harness.advance(block(1, 2, keys=["a", "a"])) == [2]
    assert harness.advance(reached(MAX_WATERMARK)) == []


def test_channels_that_have_ended_are_forgotten() -> None:
    """A folder of files has a channel for each that was ever read."""
    harness = Harness(Timers(), "0:last")
    for number in range(300):
        split = f"0:{number}"
        marks = [Mark(0, split, number), Mark(0, split, MAX_WATERMARK)]
        harness.advance(block(marks=[*marks, Mark(0, "0:last", number)]))
    assert [*harness.backend(0).header["channels"]] == [("0", "last", None)]
    assert harness.backend(0).header["watermark"] == 299
    harness.advance(block(marks=[Mark(0, "0:last", MAX_WATERMARK)]))
    assert harness.backend(0).header["channels"] == {}
    assert harness.backend(0).header["watermark"] == MAX_WATERMARK


@pytest.mark.parametrize("changed", [{"fingerprint": "another"}, {"changes": 2}])
def test_in_another_program_a_task_tells_the_time_again(changed: Any) -> None:
    """Its receivers may be others than before; what it knows of its own inputs stays.

    Where the same program comes back, they have heard of others in the meantime.
    """
    harness = Harness(Timers(), "0", paged=True)
    root = node(1, harness.vertex.chain.nodes[1].spec, to_exchange(5))
    harness.vertex = replace(harness.vertex, chain=chain_of(root, exchanges=[exchange(5)]))
    harness.advance(block(marks=[Mark(0, "0", 40), Mark(0, "gone:x", 50)]))
    harness.job = replace(harness.job, **changed, stages=((feeding("0"), harness.vertex),))
    harness.task = harness.new_task()
    found = harness.task.advance(TaskInput(0, [block()], 0), harness.backend(0))
    blocks = [envelope.payload for envelope in found]
    assert {mark[1:3] for each in blocks for mark in each.marks} == {(channel("5"), 40)}
    assert [*harness.backend(0).header["channels"]] == [channel("0")]
    assert harness.backend(0).header["watermark"] == 40


def test_time_begins_again_where_another_program_reads_on_after_the_end() -> None:
    """All input had ended; a source was added, and its records must not be late.

    The task upstream may be fed by it, or else sends its end again.
    """
    harness = Harness(Timers(), "0", paged=True)
    harness.advance(block(marks=[Mark(0, "0", MAX_WATERMARK)]))
    assert harness.backend(0).header["watermark"] == MAX_WATERMARK
    harness.job = replace(
        harness.job, fingerprint="another", stages=((feeding("0"), harness.vertex),)
    )
    harness.task = harness.new_task()
    harness.advance(block(marks=[Mark(0, "0", 30), Mark(0, "0:new", 40)]))
    assert harness.backend(0).header["watermark"] == 30
    harness.advance(block(marks=[Mark(0, "0", MAX_WATERMARK)]))
    assert harness.backend(0).header["watermark"] == 40
    harness.advance(block(marks=[Mark(0, "0:new", MAX_WATERMARK)]))
    assert harness.backend(0).header["watermark"] == MAX_WATERMARK


def test_what_goes_on_after_the_end_can_end_again() -> None:
    """Timers that were set to a time which has passed fire at each end."""
    harness = Harness(Timers(), paged=True)
    harness.advance(reached(MAX_WATERMARK, "0:a"), now_ms=1000)
    harness.job = replace(
        harness.job, fingerprint="another", stages=((feeding("0"), harness.vertex),)
    )
    marks = [Mark(0, "0:b", 30), Mark(1, "0:b", MAX_WATERMARK)]
    assert fired(harness.advance(block(by_clock(900), keys=["a"], marks=marks), now_ms=1000)) == [
        ("a", 900)
    ]


def test_splits_that_ended_in_the_meantime_are_not_waited_for() -> None:
    """Those that there are come after the mark for all of them; until then nothing advances."""
    harness = Harness(Timers(), "1", paged=True)
    known = [Mark(0, "0:a", 40), Mark(0, "0:b", 50), Mark(0, "1", 70)]
    harness.advance(block(marks=known))
    least = [Mark(0, f"0:{split}", MIN_WATERMARK) for split in (ALL_SPLITS, "b")]
    harness.advance(block(marks=[*least, Mark(0, "1", 80)]))
    header = harness.backend(0).header
    assert [*header["channels"]] == [channel("1"), channel("0:b")]
    assert header["watermark"] == 40
    harness.advance(block(marks=[Mark(0, "0:b", 60)]))
    assert harness.backend(0).header["watermark"] == 60
    harness.advance(block(marks=[Mark(0, f"0:{ALL_SPLITS}", MAX_WATERMARK)]))
    assert harness.backend(0).header["watermark"] == 80


def feeding(exchange_id: str) -> VertexProgram:
    chain = chain_of(node(2, None, to_exchange(0)), exchanges=[exchange(0, target=0)])
    return VertexProgram(9, 1, True, 4, 1, chain)
