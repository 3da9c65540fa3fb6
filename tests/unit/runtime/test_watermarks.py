"""The watermark of a task with several inputs."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.runtime.block import Block
from headrace.runtime.program import VertexProgram
from headrace.runtime.watermarks import (
    ChannelWatermarks,
    EmptyGroupIdleness,
    InputWatermarks,
    NodeInputs,
)
from tests.effort import examples
from tests.unit.runtime.programs import Mark, block, chain_of, channel, exchange, job_of, node


def tracker(*channels: str) -> ChannelWatermarks:
    return ChannelWatermarks({channel: (MIN_WATERMARK, False) for channel in channels})


def test_one_channel_is_followed() -> None:
    watermarks = tracker()
    assert watermarks.current == MIN_WATERMARK
    assert watermarks.update("a", 5)
    assert watermarks.current == 5
    assert not watermarks.update("a", 5)
    assert watermarks.update("a", 6)
    assert watermarks.current == 6


def test_the_least_counts() -> None:
    watermarks = tracker("a", "b")
    assert not watermarks.update("a", 10)
    assert watermarks.current == MIN_WATERMARK
    assert watermarks.update("b", 3)
    assert watermarks.current == 3
    assert watermarks.update("b", 20)
    assert watermarks.current == 10


def test_a_channel_does_not_go_back() -> None:
    watermarks = tracker("a", "b")
    watermarks.update("a", 10)
    watermarks.update("b", 10)
    assert not watermarks.update("a", 4)
    assert watermarks.state["a"] == (10, False)
    assert watermarks.current == 10


def test_a_new_channel_holds_the_watermark_and_does_not_lower_it() -> None:
    watermarks = tracker("a")
    watermarks.update("a", 10)
    assert not watermarks.update("late", MIN_WATERMARK)
    assert watermarks.current == 10
    assert not watermarks.update("a", 20)
    assert watermarks.current == 10
    assert watermarks.update("late", 15)
    assert watermarks.current == 15


def test_an_idle_channel_does_not_hold_the_others_back() -> None:
    watermarks = tracker("fast", "silent")
    watermarks.update("fast", 10)
    assert watermarks.update("silent", MIN_WATERMARK, True)
    assert (watermarks.current, watermarks.idle) == (10, False)
    assert watermarks.update("fast", 20)
    assert watermarks.current == 20


def test_a_channel_that_wakes_holds_back_again() -> None:
    watermarks = tracker("fast", "silent")
    watermarks.update("silent", 0, True)
    watermarks.update("fast", 20)
    assert not watermarks.update("silent", 5, False)
    assert watermarks.current == 20  # what was said stays said
    assert not watermarks.update("fast", 30)
    assert watermarks.update("silent", 25)
    assert watermarks.current == 25


def test_while_all_are_idle_the_greatest_counts() -> None:
    watermarks = tracker("a", "b")
    watermarks.update("a", 10)
    watermarks.update("b", 4)
    assert watermarks.update("b", 4, True)
    assert (watermarks.current, watermarks.idle) == (10, False)
    assert watermarks.update("a", 10, True)
    assert (watermarks.current, watermarks.idle) == (10, True)
    assert watermarks.update("b", 5, False)
    assert (watermarks.current, watermarks.idle) == (10, False)


def test_the_greatest_of_the_idle_counts_even_if_it_went_idle_first() -> None:
    watermarks = tracker("a", "b")
    watermarks.update("a", 10, True)
    watermarks.update("b", 4)
    assert watermarks.current == 4
    assert watermarks.update("b", 4, True)
    assert (watermarks.current, watermarks.idle) == (10, True)


def test_an_ended_channel_does_not_hold_back() -> None:
    watermarks = tracker("short", "long")
    watermarks.update("long", 10)
    assert watermarks.update("short", MAX_WATERMARK)
    assert watermarks.current == 10
    watermarks.update("long", 12)
    assert watermarks.current == 12


def test_the_end_comes_with_the_last_channel() -> None:
    watermarks = tracker("a", "b")
    watermarks.update("a", MAX_WATERMARK)
    assert watermarks.current == MIN_WATERMARK
    assert watermarks.update("b", MAX_WATERMARK)
    assert (watermarks.current, watermarks.idle) == (MAX_WATERMARK, False)


def test_the_end_of_one_while_others_are_idle_is_not_the_end() -> None:
    watermarks = tracker("ended", "idle")
    watermarks.update("idle", 7, True)
    watermarks.update("ended", MAX_WATERMARK)
    assert (watermarks.current, watermarks.idle) == (7, True)
    watermarks.update("idle", 9, False)
    assert (watermarks.current, watermarks.idle) == (9, False)


def test_who_forgets_splits_still_says_that_they_were_idle() -> None:
    """Those that there are now may be active: receivers must hear that, or they would not wait."""
    known = {channel("0:a"): (5, True), channel("0:b"): (7, True)}
    watermarks = ChannelWatermarks(known, 7)
    assert watermarks.idle
    watermarks.forget_splits("0")
    assert (watermarks.state, watermarks.current) == ({}, 7)
    assert watermarks.update(channel("0:a"), MIN_WATERMARK)
    assert (watermarks.current, watermarks.idle) == (7, False)


def test_splits_of_one_exchange_are_forgotten_and_nothing_else() -> None:
    watermarks = tracker(*map(channel, ("0:a", "1:a", "2")))
    watermarks.forget_splits("0")
    watermarks.forget_splits("2")
    assert [*watermarks.state] == [channel("1:a"), channel("2")]


def test_of_what_has_ended_only_splits_are_left_out_of_the_header() -> None:
    state = {
        channel("0:a"): (MAX_WATERMARK, False),
        channel("0:b"): (7, True),
        channel("1"): (MAX_WATERMARK, False),
    }
    stored = ChannelWatermarks(state).to_data()
    assert stored == {tuple(channel("0:b")): (7, True), tuple(channel("1")): (MAX_WATERMARK, False)}


def test_since_holds_while_nothing_passes_it() -> None:
    """A task that was replaced does not fall behind what it had said before."""
    watermarks = ChannelWatermarks({"a": (3, False)}, current=50)
    assert watermarks.current == 50
    assert not watermarks.update("a", 40)
    assert watermarks.current == 50
    assert watermarks.update("a", 51)
    assert watermarks.current == 51


class Scans(dict[str, tuple[int, bool]]):
    """A state that counts how often all of it is looked at."""

    count = 0

    def items(self) -> Any:
        self.count += 1
        return super().items()

    def values(self) -> Any:
        self.count += 1
        return super().values()


def test_many_channels_are_not_looked_at_for_each_mark() -> None:
    state = Scans({f"file {n}": (MIN_WATERMARK, False) for n in range(1_000)})
    watermarks = ChannelWatermarks(state)
    for moment in (5, 9, MAX_WATERMARK):
        for n in range(1_000):
            watermarks.update(f"file {n}", min(moment * 1_000 + n, MAX_WATERMARK))
            if moment < MAX_WATERMARK and n == 999:
                assert watermarks.current == moment * 1_000
    assert watermarks.current == MAX_WATERMARK
    assert state.count < 10


marks = st.tuples(
    st.sampled_from("abc"),
    st.one_of(st.integers(0, 20), st.sampled_from([MIN_WATERMARK, MAX_WATERMARK])),
    st.booleans(),
)


@settings(max_examples=examples(24))
@given(st.lists(marks, max_size=30), st.integers(0, 30))
def test_it_never_falls_and_goes_on_after_a_restart(
    updates: list[tuple[str, int, bool]], cut: int
) -> None:
    whole, cut_up = tracker("a", "b", "c"), tracker("a", "b", "c")
    for index, update in enumerate(updates):
        if index == cut:
            cut_up = ChannelWatermarks(pickle.loads(pickle.dumps(cut_up.state)), cut_up.current)
        before = (whole.current, whole.idle)
        changed = whole.update(*update)
        assert cut_up.update(*update) == changed
        assert (cut_up.current, cut_up.idle) == (whole.current, whole.idle)
        assert whole.current >= before[0]
        assert changed == (before != (whole.current, whole.idle))
        running = [(w, idle) for w, idle in whole.state.values() if w < MAX_WATERMARK]
        active = [w for w, idle in running if not idle]
        highest = max((w for w, _ in running), default=MAX_WATERMARK)
        assert whole.current == max(before[0], min(active) if active else highest)
        assert whole.idle == bool(running and not active)


@pytest.mark.parametrize(
    ("state", "idle"),
    [
        ({}, False),
        ({"a": (1, True)}, True),
        ({"a": (1, True), "b": (2, False)}, False),
        ({"a": (1, True), "b": (MAX_WATERMARK, False)}, True),
        ({"a": (MAX_WATERMARK, True)}, False),
    ],
)
def test_idleness_is_found_again(state: dict[str, tuple[int, bool]], idle: bool) -> None:
    assert ChannelWatermarks(dict(state)).idle == idle


# Channels of key groups


def quiet_groups(*, keyed: bool = True) -> tuple[EmptyGroupIdleness, ChannelWatermarks]:
    """A vertex behind exchange 7, from three groups with watermarks of their own, and 8."""
    feeder = VertexProgram(
        0, 1, keyed, 3, 1, chain_of(node(1, None), exchanges=[exchange(7)]), ("0",)
    )
    channels = tuple(map(channel, ("7@0", "7@1", "7@2", "8")))
    vertex = VertexProgram(1, 2, True, 3, 1, chain_of(node(2, None)), channels)
    return EmptyGroupIdleness(vertex, job_of((), feeder, vertex)), tracker(*channels)


def said(*marks: Mark) -> list[Block]:
    return [block(marks=[each]) for each in marks]


def take(quiet: EmptyGroupIdleness, watermarks: ChannelWatermarks, *marks: Mark) -> int:
    """The watermark after a micro-batch with these marks."""
    quiet.update_idleness(watermarks, said(*marks))
    for each in marks:
        if not quiet.should_ignore(watermarks, each):
            watermarks.update(each.channel, each.watermark, each.idle)
    return watermarks.current


def test_groups_that_never_spoke_do_not_hold_back_those_that_did() -> None:
    quiet, watermarks = quiet_groups()
    take(quiet, watermarks, Mark(0, "8", 100))
    assert take(quiet, watermarks, Mark(0, "7@1", 10)) == 10
    # a group that begins holds back from then on
    assert take(quiet, watermarks, Mark(0, "7@1", 30), Mark(0, "7@0", 20)) == 20
    assert take(quiet, watermarks, Mark(0, "7@1", 40)) == 20


def test_a_group_that_begins_counts_from_the_start_of_its_micro_batch() -> None:
    quiet, watermarks = quiet_groups()
    take(quiet, watermarks, Mark(0, "8", 100))
    quiet.update_idleness(watermarks, said(Mark(0, "7@0", 50), Mark(0, "7@1", 5)))
    watermarks.update(channel("7@0"), 50)
    assert watermarks.current == MIN_WATERMARK  # the records of 7@1 are still to come
    watermarks.update(channel("7@1"), 5)
    assert watermarks.current == 5


def test_before_the_first_group_speaks_the_other_inputs_wait() -> None:
    quiet, watermarks = quiet_groups()
    assert take(quiet, watermarks, Mark(0, "8", 100)) == MIN_WATERMARK
    assert watermarks.state[channel("7@0")] == (MIN_WATERMARK, False)


def test_a_group_that_wakes_without_a_watermark_holds_nothing_back() -> None:
    quiet, watermarks = quiet_groups()
    take(quiet, watermarks, Mark(0, "8", 100), Mark(0, "7@1", 10))
    wakes = [Mark(0, f"7@{group}", MIN_WATERMARK) for group in (0, 2)]
    assert take(quiet, watermarks, *wakes, Mark(0, "7@1", 20)) == 20


def test_the_end_comes_with_the_last_group() -> None:
    quiet, watermarks = quiet_groups()
    ends = [Mark(0, text, MAX_WATERMARK) for text in ("7@1", "8", "7@0", "7@2")]
    assert take(quiet, watermarks, *ends[:3]) == MIN_WATERMARK
    assert take(quiet, watermarks, ends[3]) == MAX_WATERMARK


def test_subtasks_are_waited_for() -> None:
    """Records are spread over them, so each will speak."""
    quiet, watermarks = quiet_groups(keyed=False)
    assert take(quiet, watermarks, Mark(0, "8", 100), Mark(0, "7@1", 10)) == MIN_WATERMARK
    assert take(quiet, watermarks, Mark(0, "7@0", 10), Mark(0, "7@2", 7)) == 7


def test_an_input_has_the_least_of_its_channels_and_never_falls() -> None:
    inputs = InputWatermarks(2, lambda channel: int(channel.exchange == "b"))
    state = {channel(name): (MIN_WATERMARK, False) for name in ("a", "a.0", "b")}
    inputs.restart(state, MIN_WATERMARK, ())
    inputs.update(channel("a"), 10, False)
    assert inputs.list_watermarks() == (MIN_WATERMARK, MIN_WATERMARK)
    inputs.update(channel("a.0"), 4, True)
    inputs.update(channel("b"), 7, False)
    assert inputs.list_watermarks() == (10, 7)
    inputs.update(channel("a.0"), 5, False)
    assert inputs.list_watermarks() == (10, 7)
    again = InputWatermarks(2, lambda channel: int(channel.exchange == "b"))
    again.restart(
        {channel("a"): (10, False), channel("a.0"): (5, False)}, 7, inputs.list_watermarks()
    )
    assert (again.watermark(0), again.watermark(1)) == (10, 7)


def two_inputs() -> InputWatermarks:
    return InputWatermarks(2, lambda channel: int(channel.exchange == "b"))


def test_an_input_that_was_not_heard_of_holds_back_the_other() -> None:
    inputs = two_inputs()
    assert not inputs.update(channel("a"), 10)
    assert inputs.update(channel("b"), 4)
    assert inputs.current == 4


def test_while_all_inputs_are_idle_time_stands_still() -> None:
    """As in Flink: when the slower one speaks again it is not late."""
    inputs = two_inputs()
    inputs.update(channel("a"), 100)
    inputs.update(channel("b"), 50)
    assert not inputs.update(channel("a"), 100, True)
    assert inputs.update(channel("b"), 50, True)
    assert (inputs.current, inputs.idle) == (50, True)
    assert inputs.update(channel("b"), 60)
    assert (inputs.current, inputs.idle) == (60, False)


def test_an_input_that_ended_counts_once_all_have() -> None:
    inputs = two_inputs()
    inputs.update(channel("b"), 50)
    inputs.update(channel("a"), MAX_WATERMARK)
    assert inputs.current == 50
    inputs.update(channel("b"), 50, True)
    assert (inputs.current, inputs.idle) == (50, True)
    later = two_inputs()
    later.restart({channel("b"): (50, True)}, 50, inputs.list_watermarks())
    assert (later.current, later.idle, later.list_watermarks()) == (50, True, (MAX_WATERMARK, 50))
    assert later.update(channel("b"), MAX_WATERMARK)
    assert (later.current, later.idle) == (MAX_WATERMARK, False)


def test_a_node_that_is_fed_by_one_other_through_both_inputs() -> None:
    inputs = NodeInputs(2)
    first, second = channel("p")._replace(group=0), channel("p")._replace(group=1)
    inputs.add(first)
    inputs.add(second)
    assert not inputs.update(first, 5, False)
    assert (inputs.watermark(0), inputs.watermark(1)) == (5, MIN_WATERMARK)
    assert inputs.update(second, 3, False)
    assert inputs.all.current == 3
    again = NodeInputs(2)
    again.add(first)
    again.add(second)
    again.restore(pickle.loads(pickle.dumps(inputs.to_data())))
    assert (again.all.current, again.watermark(0), again.watermark(1)) == (3, 5, 3)
    again.restore(None)
    assert (again.all.current, again.watermark(0)) == (MIN_WATERMARK, MIN_WATERMARK)
