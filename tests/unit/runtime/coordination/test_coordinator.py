"""How far sources are read next: budgets, new splits, ticks, idleness, alignment."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.connector import Budget
from headrace.runtime.channel import ALL_SPLITS
from headrace.runtime.coordination.offset import SourceProgress
from headrace.runtime.tasks.source_task import SplitState
from tests.unit.runtime.folders import Folder, Harness, records, works

LARGE = Budget(1000, 1 << 30)


# How far


def test_the_first_offset_holds_nothing() -> None:
    harness = Harness(Folder({"a": 5}))
    assert (harness.offset.epoch, harness.offset.sources) == (0, {})
    assert not harness.coordinator.has_ended(harness.offset)


def test_a_budget_bounds_a_micro_batch() -> None:
    harness = Harness(Folder({"a": 25, "b": 10}))
    ten = Budget(10, 1 << 30)
    assert records(harness.step(budget=ten)) == {"a": [(0, 10)], "b": []}
    assert harness.source().positions == {"a": 10, "b": 0}
    assert records(harness.step(budget=ten)) == {"a": [(10, 20)]}
    assert records(harness.step(budget=ten)) == {"a": [(20, 25)], "b": [(0, 5)]}
    assert harness.source().finished == {"a": 25}
    assert records(harness.step(budget=ten)) == {"b": [(5, 10)]}
    assert harness.offset.epoch == 4
    assert harness.coordinator.has_ended(harness.offset)
    assert harness.latest() is harness.offset


def test_sources_that_still_run_share_the_budget() -> None:
    short, long = Folder({"a": 3}), Folder({"b": 900})
    harness = Harness(short, long)
    harness.step(budget=Budget(100, 4000))
    assert short.budgets == long.budgets == [Budget(50, 2000)]
    assert harness.source(0).ended
    harness.step(budget=Budget(100, 4000))
    assert long.budgets[1] == Budget(100, 4000)
    assert len(short.budgets) == 1  # what has ended is not asked again
    harness.step()
    assert long.budgets[2].max_records == 1000  # the job's own


def test_the_smallest_budget_still_moves() -> None:
    one, other = Folder({"a": 9}), Folder({"b": 9})
    Harness(one, other).step(budget=Budget(1, 1))
    assert one.budgets == other.budgets == [Budget(1, 1)]


def test_where_nothing_is_new_the_offset_stays() -> None:
    harness = Harness(Folder({"a": 5}, bounded=False))
    harness.step()
    for now_ms in (0, 10, 10_000):
        assert harness.latest(now_ms) is harness.offset


def test_the_clock_of_an_offset_does_not_go_back() -> None:
    harness = Harness(Folder({"a": 25}))
    harness.step(now_ms=500, budget=Budget(10, 100))
    assert harness.latest(now_ms=400).now_ms == 500


def test_what_was_done_is_named_once() -> None:
    harness = Harness(Folder({"a": 3}), Folder({"b": 30}))
    harness.step(budget=Budget(20, 100))
    assert harness.source(0).finished == {"a": 3}
    tasks = harness.step(budget=Budget(20, 100))
    assert harness.source(0) == SourceProgress(ended=True)
    assert {work.source for work in works(tasks)} == {1}


# A folder that is watched


def test_files_that_appear_are_read_and_announced() -> None:
    folder = Folder({}, bounded=False)
    harness = Harness(folder)
    assert harness.latest() is harness.offset
    folder.splits["a"] = 5
    tasks = harness.step()
    assert records(tasks) == {"a": [(0, 5)]}
    assert [work.announce for work in works(tasks)] == [True, True]
    folder.splits["b"] = 7
    folder.splits["a"] = 6
    tasks = harness.step()
    assert records(tasks) == {"b": [(0, 7)], "a": [(5, 6)]}
    assert {work.split for work in works(tasks) if work.announce} == {"b"}
    assert not harness.coordinator.has_ended(harness.offset)


def test_new_splits_are_announced_before_anything_is_read() -> None:
    tasks = Harness(Folder({"a": 40, "b": 40, "c": 1}), parallelism=3).step()
    assert [(work.split, work.ranges) for work in tasks[0].work] == [
        ("a", ()),
        ("b", ()),
        ("c", ()),
    ]
    assert [task.sender for task in tasks] == list(range(len(tasks)))


def test_a_split_that_appears_and_ends_at_once_is_announced_and_finished() -> None:
    harness = Harness(Folder({"a": 3}))
    opening, reading = works(harness.step())
    assert (opening.announce, opening.finished, opening.ranges) == (True, False, ())
    assert (reading.announce, reading.finished) == (True, True)
    assert [(each.start, each.end) for each in reading.ranges] == [(0, 3)]


def test_an_empty_split_is_finished_without_a_range() -> None:
    harness = Harness(Folder({"a": 0}))
    assert [(work.finished, work.ranges) for work in works(harness.step())] == [
        (False, ()),
        (True, ()),
    ]
    assert harness.coordinator.has_ended(harness.offset)


def test_a_bounded_source_without_splits_has_ended() -> None:
    harness = Harness(Folder({}))
    tasks = harness.step()
    assert harness.coordinator.has_ended(harness.offset)
    (work,) = works(tasks)  # who reads it would wait for ever
    assert (work.split, work.finished, work.ranges) == (ALL_SPLITS, True, ())
    assert len(tasks) == 1


def test_a_source_that_is_added_later_starts_at_its_beginning() -> None:
    one, other = Folder({"a": 30}, first=5), Folder({"b": 30}, first=7)
    before = Harness(one)
    before.step(budget=Budget(10, 1000))
    after = Harness(one, other)
    after.offset = before.offset
    assert not after.coordinator.has_ended(after.offset)
    tasks = after.step()
    assert records(tasks, 0) == {"a": [(15, 25), (25, 30)]}
    assert records(tasks, 1) == {"b": [(7, 17), (17, 27), (27, 30)]}
    assert {work.split for work in works(tasks) if work.announce} == {"b"}


# Another program


@pytest.mark.parametrize("dataframe", [False, True])
def test_a_changed_program_is_announced_before_rows_of_a_dataframe(dataframe: bool) -> None:
    """They come in the first micro-batch, also where no split has anything new."""
    folder = Folder({"a": 5}, bounded=False)
    before = Harness(folder, dataframe=dataframe)
    before.step()
    assert before.latest() is before.offset
    harness = Harness(folder, dataframe=dataframe)
    harness.offset = replace(before.offset, program="another")
    if dataframe:
        assert harness.latest().epoch == harness.offset.epoch + 1
        tasks = harness.step()
        assert any(work.split == "a" and work.announce for work in works(tasks))
    assert harness.latest() is harness.offset


# Ticks


def test_without_ticks_a_job_sleeps() -> None:
    harness = Harness(Folder({"a": 5}, bounded=False))
    harness.step()
    assert harness.latest(now_ms=10**9) is harness.offset
    assert not any(task.ticks for task in harness.step(now_ms=10**9))


def test_a_tick_is_due_after_its_interval() -> None:
    harness = Harness(Folder({"a": 5}, bounded=False), needs_ticks=True)
    harness.step(now_ms=1000)
    assert harness.latest(now_ms=1199) is harness.offset
    (ticking,) = harness.step(now_ms=1200)  # one task: there is nothing to read
    assert (ticking.work, ticking.ticks, ticking.now_ms) == ((), True, 1200)
    assert harness.latest(now_ms=1399) is harness.offset


def test_a_sink_gets_a_commit_though_nothing_is_read() -> None:
    harness = Harness(Folder({"a": 5}, bounded=False), commit_interval_ms=500)
    harness.step(now_ms=1000)
    assert harness.latest(now_ms=1499) is harness.offset
    (empty,) = harness.step(now_ms=1500)
    assert (empty.work, empty.ticks) == ((), False)
    assert harness.latest(now_ms=1999) is harness.offset


def test_a_tick_comes_by_the_steady_time() -> None:
    harness = Harness(Folder({"a": 5}, bounded=False), needs_ticks=True)
    harness.step(now_ms=10**9)
    assert harness.latest(now_ms=10**9 + 500, monotonic_ms=10**9 + 199) is harness.offset
    (ticking,) = harness.step(now_ms=10**9 + 7, monotonic_ms=10**9 + 200)
    assert (ticking.ticks, ticking.now_ms) == (True, 10**9 + 7)


def test_every_micro_batch_of_such_a_job_tells_the_time() -> None:
    harness = Harness(Folder({"a": 25}), needs_ticks=True)
    tasks = harness.step(now_ms=7, budget=LARGE)
    assert [task.ticks for task in tasks] == [False, False, True]
    assert tasks[-1].sender == 2
    assert {(task.epoch, task.now_ms) for task in tasks} == {(1, 7)}


def test_behind_the_end_there_are_no_ticks() -> None:
    harness = Harness(Folder({"a": 5}), needs_ticks=True)
    harness.step()
    assert harness.coordinator.has_ended(harness.offset)
    assert harness.latest(now_ms=10**9) is harness.offset


# Idleness


def test_a_clock_that_jumps_makes_no_split_idle_and_keeps_none_from_it() -> None:
    folder = Folder({"loud": 5, "silent": 5}, bounded=False)
    harness = Harness(folder, idle_timeout_ms=100)
    harness.step(now_ms=0)
    folder.splits["loud"] = 6
    assert harness.step(now_ms=10**9, monotonic_ms=99)
    assert harness.source().idle == frozenset()
    tasks = harness.step(now_ms=10**9, monotonic_ms=100)
    assert {work.split: work.idle for work in works(tasks)} == {"silent": True}


def test_a_silent_split_goes_idle_and_wakes() -> None:
    folder = Folder({"loud": 5, "silent": 5}, bounded=False)
    harness = Harness(folder, idle_timeout_ms=100)
    harness.step(now_ms=0)
    folder.splits["loud"] = 6
    tasks = harness.step(now_ms=100)
    assert {work.split: work.idle for work in works(tasks)} == {"loud": None, "silent": True}
    assert harness.source().idle == {"silent"}
    assert harness.source().seen_ms == {"loud": 100, "silent": 0}
    assert harness.latest(now_ms=150) is harness.offset
    folder.splits["silent"] = 6
    tasks = harness.step(now_ms=199)
    assert {work.split: work.idle for work in works(tasks)} == {"silent": False}
    assert records(tasks) == {"silent": [(5, 6)]}
    tasks = harness.step(now_ms=200)
    assert {work.split: work.idle for work in works(tasks)} == {"loud": True}


def test_idleness_is_asked_for() -> None:
    harness = Harness(Folder({"a": 5}, bounded=False))
    harness.step()
    assert harness.source() == SourceProgress({"a": 5}, {"a": 0})


# Alignment


def aligned(harness: Harness, **watermarks: int) -> dict[str, list[tuple[int, int]]]:
    """What is read next where splits stand at these watermarks."""
    harness.states = {(0, split): SplitState(at, {}) for split, at in watermarks.items()}
    return records(harness.step(now_ms=harness.offset.now_ms + 1, budget=Budget(30, 1000)))


def test_a_split_too_far_ahead_waits_for_the_slowest() -> None:
    folder = Folder({"fast": 100, "slow": 100})
    harness = Harness(folder, alignment=("group", 50, 1000))
    harness.step(budget=Budget(30, 1000))
    assert harness.source().positions == {"fast": 30, "slow": 0}
    assert aligned(harness, fast=1051, slow=1000) == {"slow": [(0, 10), (10, 20), (20, 30)]}
    assert aligned(harness, fast=1051, slow=1001) == {"fast": [(30, 40), (40, 50), (50, 60)]}
    assert harness.source().positions == {"fast": 60, "slow": 30}


def test_a_split_not_yet_read_counts_as_the_slowest() -> None:
    harness = Harness(Folder({"a": 100, "b": 100}), alignment=("group", 50, 1000))
    harness.step(budget=Budget(30, 1000))
    assert set(aligned(harness, a=0)) == {"b"}


def test_an_idle_split_is_not_waited_for() -> None:
    folder = Folder({"fast": 5, "idle": 5}, bounded=False)
    harness = Harness(folder, alignment=("group", 50, 1000), idle_timeout_ms=100)
    harness.step(now_ms=0)
    folder.splits["fast"] = 9
    harness.step(now_ms=100)
    assert harness.source().idle == {"idle"}
    folder.splits["fast"] = 12
    assert aligned(harness, fast=10_000, idle=0) == {"fast": [(9, 12)]}


def test_a_split_that_must_wait_is_not_silent() -> None:
    folder = Folder({"fast": 5, "slow": 5}, bounded=False)
    harness = Harness(folder, alignment=("group", 50, 1000), idle_timeout_ms=100)
    harness.step(now_ms=0)
    harness.states = {(0, "fast"): SplitState(10_000, {}), (0, "slow"): SplitState(0, {})}
    folder.splits["fast"] = 9
    for now_ms, size in ((60, 6), (120, 7), (180, 8)):
        folder.splits["slow"] = size
        assert records(harness.step(now_ms)) == {"slow": [(size - 1, size)]}
    assert not harness.source().idle
    harness.states[0, "slow"] = SplitState(10_000, {})
    assert records(harness.step(now_ms=240)) == {"fast": [(5, 9)]}
    assert not harness.source().idle


def test_the_silence_of_a_split_goes_on_where_it_stood_when_it_had_to_wait() -> None:
    folder = Folder({"fast": 5, "slow": 5}, bounded=False)
    harness = Harness(folder, alignment=("group", 50, 1000), idle_timeout_ms=100)
    harness.step(now_ms=0)
    folder.splits["slow"] = 6
    harness.step(now_ms=40)  # fast is silent for 40 ms
    harness.states = {(0, "fast"): SplitState(10_000, {}), (0, "slow"): SplitState(0, {})}
    for now_ms, size in ((100, 7), (900, 8)):  # and must wait for 860
        folder.splits["slow"] = size
        harness.step(now_ms)
    harness.states = {}
    folder.splits["slow"] = 9
    harness.step(now_ms=959)
    assert not harness.source().idle
    folder.splits["slow"] = 10
    harness.step(now_ms=960)
    assert harness.source().idle == {"fast"}


def test_a_clock_that_stands_still_makes_no_micro_batch() -> None:
    folder = Folder({"fast": 5, "slow": 5}, bounded=False)
    harness = Harness(folder, alignment=("group", 50, 1000), idle_timeout_ms=100)
    harness.step(now_ms=0)
    harness.states = {(0, "fast"): SplitState(10_000, {}), (0, "slow"): SplitState(0, {})}
    assert harness.latest(now_ms=99) is harness.offset


def test_sources_of_one_group_are_aligned_with_each_other() -> None:
    harness = Harness(Folder({"x": 100}), Folder({"x": 100}), alignment=("group", 50, 1000))
    harness.step(budget=Budget(20, 1000))
    harness.states = {(0, "x"): SplitState(100, {}), (1, "x"): SplitState(10, {})}
    tasks = harness.step(budget=Budget(20, 1000))
    assert {work.source for work in works(tasks)} == {1}
