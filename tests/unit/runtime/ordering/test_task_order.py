"""The one order of records and marks in which a task reads its blocks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.datastream import KeyedProcessFunction
from headrace.runtime.block import Block
from headrace.runtime.tasks.keyed_task import TaskInput
from tests.unit.runtime.keyed import Harness
from tests.unit.runtime.programs import Mark, block


class Seen(KeyedProcessFunction):
    """Yields each record and the watermark under which it is seen."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timer_service().current_watermark()


def from_stage(
    *records: Any, first_watermark_ms: int | None, marks: Sequence[tuple[int, int]] = ()
) -> Block:
    """A block of one group of a keyed stage; marks are (position, watermark)."""
    return block(
        *records,
        first_watermark_ms=first_watermark_ms,
        marks=[Mark(position, "0", watermark) for position, watermark in marks],
        merged_channel="0",
    )


def test_blocks_of_sources_are_read_one_behind_the_other() -> None:
    harness = Harness(Seen())
    first = block("a", "b", marks=[Mark(0, "0:x", 5), Mark(1, "0:x", 10), Mark(2, "0:x", 20)])
    second = block("c", marks=[Mark(1, "0:x", 30)])
    assert harness.advance(first, second, block("d")) == [
        ("a", 5),
        ("b", 10),
        ("c", 20),
        ("d", 30),
    ]


def test_a_split_that_was_announced_holds_the_others_back() -> None:
    harness = Harness(Seen())
    announced = block(marks=[Mark(0, "0:x", MIN_WATERMARK), Mark(0, "0:y", MIN_WATERMARK)])
    results = harness.advance(
        announced,
        block("a", "b", marks=[Mark(1, "0:x", 50)]),
        block("c", "d", marks=[Mark(1, "0:y", 20), Mark(2, "0:y", MAX_WATERMARK)]),
        block("e"),
    )
    assert results == [
        ("a", MIN_WATERMARK),
        ("b", MIN_WATERMARK),
        ("c", MIN_WATERMARK),
        ("d", 20),
        ("e", 50),
    ]


def test_a_channel_known_from_the_plan_holds_back_before_it_speaks() -> None:
    harness = Harness(Seen(), "0@0", "0@1")
    assert harness.advance(block("a", marks=[Mark(0, "0@1", 9)])) == [("a", MIN_WATERMARK)]
    assert harness.advance(block("b", marks=[Mark(0, "0@0", 7)])) == [("b", 7)]


def test_an_idle_channel_lets_the_others_go_on() -> None:
    harness = Harness(Seen(), "silent")
    marks = [Mark(0, "loud", 9), Mark(1, "silent", MIN_WATERMARK, True)]
    assert harness.advance(block("a", "b", marks=marks)) == [("a", MIN_WATERMARK), ("b", 9)]


def test_senders_of_a_stage_are_merged_by_watermark() -> None:
    harness = Harness(Seen(), "0")
    results = harness.advance(
        from_stage("a1", "a2", "a3", first_watermark_ms=10, marks=[(1, 20), (2, 30)]),
        from_stage("b1", "b2", first_watermark_ms=10, marks=[(1, 30)]),
        from_stage("c1", first_watermark_ms=20),
        from_stage(first_watermark_ms=None, marks=[(0, 40)]),
    )
    assert results == [
        ("a1", 10),
        ("b1", 10),
        ("a2", 20),
        ("c1", 20),
        ("a3", 30),
        ("b2", 30),
    ]
    assert harness.backend(0).header["watermark"] == 40


def test_how_output_was_cut_into_blocks_makes_no_difference() -> None:
    """``since`` follows from the records' place, wherever a sender drained its buffers."""
    whole = [
        from_stage("a1", "a2", first_watermark_ms=0, marks=[(1, 10)]),
        from_stage("b1", "b2", first_watermark_ms=0, marks=[(0, 10), (1, 20), (2, 20)]),
    ]
    cut = [
        from_stage("a1", first_watermark_ms=0, marks=[(1, 10)]),
        from_stage("a2", first_watermark_ms=10),
        from_stage(first_watermark_ms=0, marks=[(0, 10)]),
        from_stage("b1", first_watermark_ms=10),
        from_stage("b2", first_watermark_ms=20, marks=[(0, 20), (1, 20)]),
    ]
    assert Harness(Seen(), "0").advance(*whole) == Harness(Seen(), "0").advance(*cut)
    assert Harness(Seen(), "0").advance(*whole) == [("a1", 0), ("a2", 10), ("b1", 10), ("b2", 20)]


class Stamped(KeyedProcessFunction):
    """Yields each record with its key, timestamp and the watermark under which it is seen."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield ctx.get_current_key(), value, ctx.timestamp(), ctx.timer_service().current_watermark()


def test_many_short_runs_of_many_senders_keep_keys_stamps_and_order() -> None:
    """Under each of three watermarks 40 senders have 5 to 44 records, some without a stamp."""
    blocks, expected = [], []
    for sender in range(40):
        records = [f"{sender}/{n}" for n in range(3 * 5 + 3 * sender)]
        third = len(records) // 3
        stamps = list(range(len(records))) if sender % 4 else None
        marks = [Mark(third, "0", 10), Mark(2 * third, "0", 20), Mark(len(records), "0", 30)]
        keys = [record[-1] for record in records]
        blocks.append(
            block(
                *records,
                keys=keys,
                stamps=stamps,
                first_watermark_ms=0,
                marks=marks,
                merged_channel="0",
            )
        )
        found = stamps or [MIN_WATERMARK] * len(records)
        watermarks = [0] * third + [10] * third + [20] * third
        expected += zip(keys, records, found, watermarks, strict=True)
    expected.sort(key=lambda seen: seen[3])  # stable: the order of senders within a watermark
    assert len(expected) > 2000
    assert Harness(Stamped(), "0").advance(*blocks) == expected


@pytest.mark.parametrize("paged", [False, True], ids=["heap", "paged"])
def test_the_next_micro_batch_goes_on_from_the_last_mark(paged: bool) -> None:
    harness = Harness(Seen(), "0", paged=paged)
    harness.advance(from_stage("a", first_watermark_ms=10, marks=[(1, 20)]))
    # one sender lags behind what another said: what was said stays said
    assert harness.advance(
        from_stage("b", first_watermark_ms=15), from_stage("c", first_watermark_ms=25)
    ) == [
        ("b", 20),
        ("c", 25),
    ]


def test_before_the_first_watermark_records_of_a_stage_have_no_since() -> None:
    harness = Harness(Seen(), "0")
    results = harness.advance(
        from_stage("a", first_watermark_ms=None),
        from_stage("b", first_watermark_ms=MIN_WATERMARK, marks=[(1, 5)]),
    )
    assert results == [("a", MIN_WATERMARK), ("b", MIN_WATERMARK)]


def test_a_union_of_a_source_and_a_stage_waits_for_both() -> None:
    harness = Harness(Seen(), "0")
    source = block("s1", "s2", marks=[Mark(0, "1:x", MIN_WATERMARK), Mark(1, "1:x", 30)])
    stage = from_stage("t1", "t2", first_watermark_ms=10, marks=[(1, 20)])
    results = harness.advance(source, stage)
    assert results == [("s1", MIN_WATERMARK), ("t1", 10), ("t2", 20), ("s2", 20)]
    assert harness.backend(0).header["watermark"] == 20


def test_tasks_of_a_dataframe_count_together() -> None:
    """Their records lie side by side: all come first, then the least of their marks."""

    def part(*records: Any, watermark: int) -> Block:
        return block(
            *records,
            marks=[Mark(0, "df:0", MIN_WATERMARK), Mark(len(records), "df:0", watermark)],
            merged_channel="df:0",
        )

    parts = [part("a", "b", watermark=50), part("c", watermark=20), part("d", watermark=90)]
    for order in itertools.permutations(parts):
        harness = Harness(Seen(), "df:0")
        results = harness.advance(*order)
        assert {watermark for _, watermark in results} == {MIN_WATERMARK}
        assert len(results) == 4
        assert harness.backend(0).header["watermark"] == 20


class OpenTimers(KeyedProcessFunction):
    """Sets a timer at each record's time, and notes how many are open at most."""

    open_now = 0
    most = 0

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp())
        self.open_now += 1
        self.most = max(self.most, self.open_now)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        self.open_now -= 1


def test_inputs_that_meet_hold_few_timers_open() -> None:
    """One read to its end before the other would hold all of its timers open."""

    def split(channel: str) -> list[Block]:
        return [
            block(
                *[0] * 100,
                keys=[f"{channel}{start + at}" for at in range(100)],
                stamps=[*range(start, start + 100)],
                marks=[Mark(100, channel, start + 99)],
                channel_starts=((0, channel),),
            )
            for start in range(0, 5_000, 100)
        ]

    function = OpenTimers()
    harness = Harness(function, "0:x", "1:y")
    blocks = [*split("0:x"), *split("1:y")]
    task = TaskInput(0, blocks, 0, [1] * 50 + [2] * 50)
    assert not [*harness.task.advance(task, harness.backend(0))][1:]
    noted = harness.task._keyed._spec.function.target  # type: ignore[union-attr]
    assert noted.open_now == 0
    assert noted.most <= 300
