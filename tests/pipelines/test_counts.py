"""Counts by operator and by source: exact, however the input is cut and whatever is fused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from headrace.datastream import OutputTag
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.metrics import BatchCounts, OperatorCounts
from headrace.testing import PipelineResults, run_pipeline

from .counted import (
    BY_TIME,
    FIRST,
    IN_AND_OUT,
    LATE_RECORDS,
    SECOND,
    Sort,
    environment,
    passed,
    program,
)

CUTS: tuple[Sequence[int], ...] = ((), (1,) * 60, (7, 1, 0, 30), (40,))


def counted(**how: Any) -> PipelineResults:
    return run_pipeline(program(environment()), **how)


def total(results: PipelineResults) -> tuple[OperatorCounts, ...]:
    return results.batches[-1].total_operators


@pytest.mark.parametrize("cuts", CUTS)
def test_every_operator_counts_however_the_input_is_cut(cuts: Sequence[int]) -> None:
    results = counted(cuts=cuts)
    assert passed(total(results)) == IN_AND_OUT
    by_batch = [each for batch in results.batches for each in batch.operators]
    assert passed(by_batch) == IN_AND_OUT
    by_subtask = [each for batch in results.batches for each in batch.subtasks]
    assert passed(by_subtask) == IN_AND_OUT
    late = {each.name: n for each in total(results) if (n := each.late_records_dropped)}
    assert late == {"windows": LATE_RECORDS}


def test_in_a_batch_nothing_is_late() -> None:
    results = counted(mode="batch")
    assert passed(total(results)) == IN_AND_OUT
    assert not any(each.late_records_dropped for each in total(results))


@pytest.mark.parametrize("key_groups", [1, 5])
@pytest.mark.parametrize("restarts", [True, "savepoint"])
def test_what_a_restart_goes_on_with_is_added_up(key_groups: int, restarts: Any) -> None:
    results = counted(cuts=(5,) * 30, backends="paged", restarts=restarts, key_groups=key_groups)
    assert passed(total(results)) == IN_AND_OUT


def test_operators_that_are_not_fused_count_the_same() -> None:
    unchained = environment(**{"python.operator-chaining.enabled": "false"})
    results = run_pipeline(program(unchained))
    assert passed(total(results)) == IN_AND_OUT


def test_state_and_time_are_those_of_the_groups_that_were_at_work_last() -> None:
    results = counted(cuts=(10,) * 3, backends="paged", key_groups=4)
    (count,) = [each for each in total(results) if each.name == "count"]
    assert count.state_entries == 3
    assert count.state_bytes is not None and count.state_bytes > 3
    assert count.watermark_ms == 2**63 - 1
    own = [each for batch in results.batches for each in batch.subtasks if each.name == "count"]
    assert {each.subtask for each in own if each.state_entries is not None} == {0, 1, 2, 3}
    on_the_heap = counted(cuts=(10,) * 3).batches[-1].total_operators
    (count,) = [each for each in on_the_heap if each.name == "count"]
    assert (count.state_entries, count.state_bytes) == (3, None)


def test_sources_count_by_name_and_know_what_is_left() -> None:
    batches = counted(cuts=(20, 20)).batches  # shared by the two sources
    assert batches[-1].source("first").records == len(FIRST)
    assert batches[-1].source("second").records == len(SECOND)
    left = [batch.source("first").pending_records for batch in batches]
    assert left == [30, 10, 0]
    assert [batch.sources[0].records for batch in batches] == [10, 20, 10]


def test_a_source_is_behind_by_its_lowest_watermark() -> None:
    env = environment()
    timed = env.from_collection(FIRST).name("first").assign_timestamps_and_watermarks(BY_TIME)
    untimed = env.from_collection(SECOND).name("second")
    streams = {"timed": timed, "untimed": untimed}
    batches = run_pipeline(streams, cuts=(20, 20), clock=lambda: 5_000).batches
    first = batches[0].source("first")
    assert (first.watermark_ms, first.event_time_lag_ms) == (899, 4_101)
    assert batches[0].source("second").event_time_lag_ms is None  # it has no times
    assert batches[-1].source("first").event_time_lag_ms is None  # it has ended


def test_files_know_the_bytes_that_are_left(tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_text("12345678\n" * 100)
    files = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    stream = environment().from_source(files.build(), None, "lines")
    batches = run_pipeline(stream, cuts=(50,)).batches
    left = [batch.source("lines").pending_bytes for batch in batches]
    assert left[0] is not None and 0 < left[0] < 900
    assert left[-1] == 0
    assert batches[-1].source("lines").records == 100


def test_a_record_that_several_operators_read_goes_out_once() -> None:
    env = environment()
    numbers = env.from_collection([*range(10)]).flat_map(lambda n: [n] * 2).name("twice")
    one = numbers.map(lambda n: n).name("one")
    two = numbers.filter(lambda n: n % 2).name("two")
    found = passed(run_pipeline({"one": one, "two": two}).batches[-1].total_operators)
    assert found["twice"] == (10, 20)
    assert (found["one"], found["two"]) == ((20, 20), (20, 10))


def test_two_outputs_into_one_operator_are_counted_apart() -> None:
    env = environment()
    numbers = env.from_collection([(n, n) for n in range(10)])
    evens = numbers.process(Sort()).name("sort")
    odd = evens.get_side_output(OutputTag("odd"))
    both = evens.union(odd).map(lambda value: value).name("both")
    found = passed(run_pipeline(both).batches[-1].total_operators)
    assert (found["sort"], found["both"]) == ((10, 10), (10, 10))


def test_a_failed_listener_fails_the_job() -> None:
    class Broken:
        def __repr__(self) -> str:
            return "Broken()"

        def on_batch(self, counts: BatchCounts) -> None:
            raise ValueError("full")

    env = environment(**{"execution.target": "local"})
    env.register_job_listener(Broken())
    with pytest.raises(ValueError, match="full") as error:
        list(env.from_collection([1]).execute_and_collect())
    assert any("Broken()" in note for note in error.value.__notes__)


def test_several_listeners_are_called_with_each_micro_batch() -> None:
    class Kept(list[BatchCounts]):
        on_batch = list.append

    one, two = Kept(), Kept()
    env = environment(**{"execution.target": "local"})
    env.register_job_listener(one)
    env.register_job_listener(two)
    streams = program(env)
    with streams["windows"].execute_and_collect() as results:
        assert len([*results]) == 8
    assert [*one] == [*two]
    assert [batch.batch_id for batch in one] == [*range(len(one))]
    assert one[-1].operator("timed").records_out == len(FIRST)
    assert sum(each.busy_ms for each in one[-1].total_operators) > 0
