"""Who reads what in a micro-batch, and what is remembered of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.connector import Budget
from headrace.runtime.channel import ALL_SPLITS
from headrace.runtime.coordination.coordinator import merge_states
from headrace.runtime.tasks.source_task import NEW_SPLIT, SplitState
from tests.effort import examples
from tests.unit.runtime.folders import Folder, Harness, records, works


@settings(max_examples=examples(16))
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=5),
    st.integers(1, 6),
    st.booleans(),
    st.lists(st.integers(1, 80), max_size=4),
    st.integers(1, 50),
)
def test_everything_is_read_once_and_in_order(
    sizes: list[int], parallelism: int, one_task: bool, budgets: list[int], task_records: int
) -> None:
    folder = Folder({f"s{number}": size for number, size in enumerate(sizes)})
    harness = Harness(folder, parallelism=parallelism, one_task_per_split=one_task)
    read: dict[str, list[int]] = {split: [] for split in folder.splits}
    finished: list[str] = []
    for budget in [*budgets, 10**6]:
        before = harness.offset
        tasks = harness.step(budget=Budget(budget, 10**9), task_records=task_records)
        assert harness.coordinator.plan(before, harness.offset) == tasks  # a repetition is the same
        reading = [task for task in tasks if any(work.ranges for work in task.work)]
        worth = -(-sum(task.records for task in tasks) // task_records)
        assert len(reading) <= min(parallelism, worth)
        for split, ranges in records(tasks).items():
            read[split].extend(number for start, end in ranges for number in range(start, end))
        by_split: dict[str, int] = {}
        for task in tasks:
            for work in task.work:
                by_split[work.split] = by_split.get(work.split, 0) + bool(work.ranges)
                # behind the end of a split none of it is left
                assert work.split not in finished
        assert not one_task or all(count <= 1 for count in by_split.values())
        finished.extend(work.split for work in works(tasks) if work.finished)
        if harness.coordinator.has_ended(harness.offset):
            break
    assert {split: len(numbers) for split, numbers in read.items()} == folder.splits
    assert all(numbers == list(range(len(numbers))) for numbers in read.values())
    assert sorted(finished) == sorted(folder.splits)


def test_a_long_split_is_spread_over_tasks() -> None:
    tasks = Harness(Folder({"a": 100}), parallelism=4).step()[1:]
    assert [len(task.work[0].ranges) for task in tasks] == [2, 3, 2, 3]
    assert [task.work[0].finished for task in tasks] == [False, False, False, True]
    assert [task.work[0].announce for task in tasks] == [True, False, False, False]


@pytest.mark.parametrize(
    ("task_records", "sizes"),
    [(1, [20, 30, 20, 30]), (40, [30, 40, 30]), (60, [50, 50]), (100, [100]), (1000, [100])],
)
def test_few_records_are_read_by_few_tasks(task_records: int, sizes: list[int]) -> None:
    harness = Harness(Folder({"a": 100}), parallelism=4)
    assert [task.records for task in harness.step(task_records=task_records)[1:]] == sizes


def test_without_a_number_of_records_for_a_task_work_is_cut_as_by_older_builds() -> None:
    folder = Folder({"a": 20, "b": 20}, bounded=False)
    harness = Harness(folder, parallelism=4, idle_timeout_ms=100)
    harness.step(now_ms=0)
    folder.splits["b"] += 1
    tasks = harness.step(now_ms=100)  # one becomes idle, of the other there is a record
    assert [[(work.split, work.records) for work in task.work] for task in tasks] == [
        [("a", 0)],
        [("b", 1)],
    ]


def test_a_split_whose_watermarks_need_every_record_is_read_by_one() -> None:
    tasks = Harness(Folder({"a": 100, "b": 100}), parallelism=4, one_task_per_split=True).step()
    assert [[work.split for work in task.work] for task in tasks[1:]] == [["a"], ["b"]]


def test_every_reader_of_a_split_hears_that_it_woke() -> None:
    folder = Folder({"a": 20}, bounded=False)
    harness = Harness(folder, parallelism=3, idle_timeout_ms=100)
    harness.step(now_ms=0)
    assert [work.idle for work in works(harness.step(now_ms=100))] == [True]
    folder.splits["a"] = 80
    tasks = harness.step(now_ms=200)
    assert [[work.idle for work in task.work] for task in tasks] == [[False], [False], [False]]


def test_a_repetition_is_the_same_whatever_the_parallelism_is_by_then() -> None:
    before, after = (
        Harness(Folder({"a": 100}), parallelism=4),
        Harness(Folder({"a": 100}), parallelism=2),
    )
    start = before.offset
    tasks = before.step()
    assert after.coordinator.plan(start, before.offset) == tasks
    assert {task.chunk_records for task in tasks} == {4096}
    assert len(after.step()) == 3  # a task that announces, two that read: its own micro-batches


def test_a_first_position_is_where_a_split_is_read_from() -> None:
    folder = Folder({"a": 20}, bounded=False, first=5)
    harness = Harness(folder)
    assert records(harness.step()) == {"a": [(5, 15), (15, 20)]}
    folder.splits["b"] = 9
    assert records(harness.step()) == {"b": [(5, 9)]}
    assert harness.source().started == {"b": 5}


def test_a_repetition_is_the_same_whatever_the_source_is_by_then() -> None:
    before = Harness(Folder({"a": 20, "b": 30}, first=5))
    start, tasks = before.offset, before.step(budget=Budget(20, 1000))
    grown = Harness(Folder({"a": 99, "b": 99, "c": 99}, first=7))
    assert grown.coordinator.plan(start, before.offset) == tasks
    assert records(tasks) == {"a": [(5, 15), (15, 20)], "b": [(5, 10)]}


def test_two_epochs_joined_are_read_as_one() -> None:
    harness = Harness(Folder({"a": 20, "b": 30}, first=5, piece=100))
    start = harness.offset
    harness.step(budget=Budget(20, 1000))
    middle = harness.offset
    harness.step()
    joined = harness.offset.merged_with_earlier(middle)
    assert records(harness.coordinator.plan(start, joined)) == {"a": [(5, 20)], "b": [(5, 30)]}
    assert joined.source(0).finished == {"a": 20, "b": 30}


def test_a_reader_goes_on_from_the_state_of_its_split() -> None:
    harness = Harness(Folder({"a": 20, "b": 20}), parallelism=2)
    harness.step(budget=Budget(30, 1000))
    harness.states = {(0, "b"): SplitState(7, {1: "kept"})}
    (work,) = works(harness.step())
    assert (work.split, work.state) == ("b", SplitState(7, {1: "kept"}))
    assert works(Harness(Folder({"a": 5})).step())[-1].state == NEW_SPLIT


# What is remembered


def test_states_of_the_tasks_replace_those_before() -> None:
    before = {(0, "a"): SplitState(5, {}), (0, "b"): SplitState(6, {})}
    parts = [{(0, "b"): SplitState(8, {})}, {(1, "a"): SplitState(1, {})}]
    assert merge_states(before, parts) == {
        (0, "a"): SplitState(5, {}),
        (0, "b"): SplitState(8, {}),
        (1, "a"): SplitState(1, {}),
    }
    assert before[0, "b"].watermark == 6


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_readers_the_one_that_got_further_counts(turned: bool) -> None:
    parts: list[Any] = [{(0, "a"): SplitState(9, {1: 9})}, {(0, "a"): SplitState(4, {1: 4})}]
    assert merge_states({}, parts[::-1] if turned else parts) == {(0, "a"): SplitState(9, {1: 9})}


def test_of_two_readers_that_got_as_far_the_later_sender_counts() -> None:
    parts: list[Any] = [{(0, "a"): SplitState(9, {1: 9})}, {(0, "a"): SplitState(9, {1: 4})}]
    assert merge_states({}, parts) == {(0, "a"): SplitState(9, {1: 4})}


@pytest.mark.parametrize("turned", [False, True])
def test_a_finished_split_is_forgotten_even_if_another_task_read_of_it(turned: bool) -> None:
    before = {(0, "a"): SplitState(5, {}), (1, "a"): SplitState(MAX_WATERMARK, {})}
    parts: list[Any] = [{(0, "a"): None}, {(0, "a"): SplitState(4, {})}]
    after = merge_states(before, parts[::-1] if turned else parts)
    assert after == {(1, "a"): SplitState(MAX_WATERMARK, {})}


@pytest.mark.beam(
    "Bounded SDF/Bundle Finalization",
    "Unbounded SDF/Bundle Finalization",
    runners="local, streaming",
)
def test_enumerators_learn_what_is_committed_and_are_closed() -> None:
    folder = Folder({"a": 20})
    harness = Harness(folder)
    harness.step(budget=Budget(15, 1000))
    harness.coordinator.report_committed(harness.offset)
    assert folder.reported == [{"a": 15}]
    harness.coordinator.close()
    assert folder.closed


def test_another_program_hears_of_every_split() -> None:
    """Its receivers may be new: none may go on before it knows all that it waits for."""
    folder = Folder({"a": 30, "b": 30}, bounded=False)
    harness = Harness(folder)
    harness.step(budget=Budget(20, 10**9))
    assert not any(work.announce for work in works(harness.step()))
    harness.coordinator._job = replace(harness.coordinator._job, fingerprint="another")
    harness.states = {(0, "a"): SplitState(7, {})}
    folder.splits["a"] = 31
    before = harness.offset
    opening, *others = harness.step()
    assert [(work.split, work.announce, work.ranges) for work in opening.work] == [
        ("a", True, ()),
        ("b", True, ()),
    ]
    by_split = {work.split: work for task in others for work in task.work}
    assert by_split["a"].ranges and not by_split["b"].ranges
    assert by_split["a"].state.watermark == 7
    assert all(work.resends_watermark and not work.only_announces for work in by_split.values())
    assert harness.coordinator.plan(before, harness.offset) == [opening, *others]
    assert not any(work.announce for work in works(harness.step(budget=Budget(1, 10**9))))


@pytest.mark.parametrize("changed", [{"fingerprint": "another"}, {"changes": 2}])
def test_receivers_that_an_earlier_program_had_forget_what_they_knew(changed: Any) -> None:
    """Also where the same program comes back: a split may have ended meanwhile."""
    harness = Harness(Folder({"a": 30, "b": 30}, bounded=False), Folder({"c": 30}, bounded=False))
    job = harness.coordinator._job = replace(harness.coordinator._job, fingerprint="one")
    opening, *_ = harness.step(budget=Budget(20, 10**9))
    assert [work.split for work in opening.work] == ["a", "b", "c"], "there is nothing to forget"
    assert not any(work.announce for work in works(harness.step(budget=Budget(2, 10**9))))
    harness.coordinator._job = replace(job, **changed)
    opening, *_ = harness.step()
    opened = [(work.source, work.split) for work in opening.work]
    assert opened == [(0, ALL_SPLITS), (1, ALL_SPLITS), (0, "a"), (0, "b"), (1, "c")]
    assert all(work.only_announces for work in opening.work)
    assert not any(work.announce for work in works(harness.step(budget=Budget(1, 10**9))))


def test_a_micro_batch_of_the_program_before_is_announced_again() -> None:
    harness = Harness(Folder({"a": 30}, bounded=False))
    harness.step(budget=Budget(10, 10**9))
    start, planned = harness.offset, harness.latest(budget=Budget(10, 10**9))
    harness.coordinator._job = replace(harness.coordinator._job, fingerprint="another")
    assert [work.announce for work in works(harness.coordinator.plan(start, planned))] == [
        True,
        True,
    ]


def test_another_program_hears_that_a_source_has_ended() -> None:
    harness = Harness(Folder({"a": 3}))
    before = harness.offset
    harness.step()
    ended = harness.offset
    assert harness.coordinator.has_ended(ended)
    later = replace(ended, epoch=ended.epoch + 1)
    assert harness.coordinator.plan(ended, later) != []
    assert works(harness.coordinator.plan(ended, later)) == []
    (work,) = works(harness.coordinator.plan(replace(ended, program="another"), later))
    assert (work.split, work.finished, work.announce, work.ranges) == (ALL_SPLITS, True, False, ())
    assert before.epoch == 0
