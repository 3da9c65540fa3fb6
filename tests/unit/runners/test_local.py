"""The local runner gives each task objects of its own, as workers have them, and closes all."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from headrace.common import Configuration
from headrace.common._options.catalogue import MAX_RECORDS_PER_BATCH
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.function import FunctionSink
from headrace.errors import JobError
from headrace.testing import run_pipeline


def local(parallelism: int = 1, records_per_batch: int = 1000) -> StreamExecutionEnvironment:
    settings = Configuration()
    settings.set_string(MAX_RECORDS_PER_BATCH.key, str(records_per_batch))
    settings.set_string("execution.target", "local")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(parallelism)
    return env


def collected(stream: DataStream) -> list[Any]:
    with stream.execute_and_collect() as results:
        return list(results)


class Counting(MapFunction):
    def __init__(self) -> None:
        self.count = 0

    def map(self, value: Any) -> Any:
        self.count += 1
        return value, self.count


class Subtask(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> Any:
        return self.subtask


class KeyGroups(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_max_number_of_parallel_subtasks()

    def map(self, value: Any) -> Any:
        return self.count


def test_functions_know_the_key_groups_of_the_program() -> None:
    """The runner itself has one."""
    env = local()
    env.set_max_parallelism(16)
    keyed = env.from_collection([1, 2]).key_by(lambda value: value)
    assert collected(keyed.map(KeyGroups())) == [16, 16]


def test_two_operators_of_one_function_object_do_not_share_it() -> None:
    function, numbers = Counting(), local().from_collection([1, 2])
    both = numbers.map(function).union(numbers.map(function))
    assert sorted(collected(both)) == [(1, 1), (1, 1), (2, 2), (2, 2)]
    assert function.count == 0
    assert sorted(collected(both)) == [(1, 1), (1, 1), (2, 2), (2, 2)]


def test_a_bound_method_works_on_a_copy_of_its_object() -> None:
    function = Counting()
    assert collected(local().from_collection([1, 2]).map(function.map)) == [(1, 1), (2, 2)]
    assert function.count == 0


def test_each_subtask_has_its_own_function_object() -> None:
    env = local(4, records_per_batch=8)  # the second micro-batch finds all of them open
    stream = env.from_collection(list(range(16))).rebalance().map(Subtask())
    assert Counter(collected(stream)) == {0: 4, 1: 4, 2: 4, 3: 4}


def test_a_key_selector_starts_afresh_with_each_run() -> None:
    class Alternating(KeySelector):
        turn = 0

        def get_key(self, value: Any) -> int:
            self.turn += 1
            return self.turn

    class Key(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield ctx.get_current_key()

    keys = local().from_collection(["a", "b"]).key_by(Alternating()).process(Key())
    first = sorted(collected(keys))
    assert first[1] - first[0] == 1  # key_by itself has tried the selector
    assert sorted(collected(keys)) == first


def test_a_plain_function_keeps_what_it_closes_over() -> None:
    seen: list[int] = []

    class Noting(MapFunction):
        def map(self, value: Any) -> Any:
            seen.append(value)
            return value

    stream = local().from_collection([1, 2]).map(lambda v: seen.append(v) or v).map(Noting())
    assert collected(stream) == [1, 2]
    assert seen == [1, 1, 2, 2]


def renamed(record: dict[str, Any]) -> dict[str, Any]:
    record["n"] += 100
    return record


def test_a_job_does_not_change_the_values_that_it_was_given() -> None:
    given = [{"n": 1}, {"n": 2}]
    stream = local().from_collection(given).map(renamed)
    assert collected(stream) == [{"n": 101}, {"n": 102}]
    assert given == [{"n": 1}, {"n": 2}]
    assert collected(stream) == [{"n": 101}, {"n": 102}]


def test_a_value_that_stands_twice_in_a_collection_is_two_records() -> None:
    value = {"n": 1}
    assert collected(local().from_collection([value, value]).map(renamed)) == [{"n": 101}] * 2


def test_what_changes_a_reduced_value_does_not_change_the_state() -> None:
    records = [{"key": "a", "n": 1}, {"key": "a", "n": 2}, {"key": "a", "n": 3}]
    sums = (
        local()
        .from_collection(records)
        .key_by(lambda record: record["key"])
        .reduce(lambda one, other: {"key": one["key"], "n": one["n"] + other["n"]})
    )
    assert [record["n"] for record in collected(sums.map(renamed))] == [101, 103, 106]


def test_a_side_output_has_the_record_as_it_was_emitted() -> None:
    aside = OutputTag("aside")

    class Both(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            record = {"n": value}
            yield record
            yield aside, record

    both = local().from_collection([1]).process(Both())
    main, side = both.map(renamed), both.get_side_output(aside)
    assert sorted(record["n"] for record in collected(main.union(side))) == [1, 101]


class Closing(MapFunction):
    def __init__(self, closed: Callable[[], Any], fails: bool) -> None:
        self.closed, self.fails = closed, fails

    def map(self, value: Any) -> Any:
        if value == "bad":
            raise ValueError("the user's")
        return value

    def close(self) -> None:
        self.closed()
        if self.fails:
            raise OSError("cannot close")


def closing_job(records: list[str]) -> tuple[list[str], DataStream]:
    """The functions that were closed, and a job of two tasks whose first fails to close."""
    closed: list[str] = []
    stream = (
        local()
        .from_collection(records)
        .map(Closing(lambda: closed.append("first"), True))
        .rebalance()
        .map(Closing(lambda: closed.append("second"), False))
    )
    return closed, stream


def test_a_function_that_fails_to_close_fails_the_job_and_leaves_no_other_open() -> None:
    closed, stream = closing_job(["good"])
    with pytest.raises(OSError, match="cannot close"):
        collected(stream)
    assert closed == ["first", "second"]


def test_an_error_in_close_does_not_hide_the_one_before() -> None:
    closed, stream = closing_job(["good", "bad"])
    with pytest.raises(ValueError, match="the user's") as caught:
        collected(stream)
    assert "and closing failed: OSError: cannot close" in caught.value.__notes__
    assert closed == ["first"]  # the second task never began


class CountingRecords(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def map(self, value: Any) -> Any:
        self.seen.inc()
        return value


def test_counters_count_what_was_committed() -> None:
    """Of a micro-batch that failed at its sink nothing is counted."""
    written: list[int] = []

    def write(values: list[int]) -> None:
        if 2 in values:
            raise OSError("full")
        written.extend(values)

    env = local(records_per_batch=2)
    env.from_collection([0, 1, 2, 3]).map(CountingRecords()).name("count").sink_to(
        FunctionSink(write)
    )
    client = env.execute_async("job")
    with pytest.raises(OSError, match="full"):
        client.get_job_execution_result().result()
    assert client.get_accumulators().result()["count.seen"] == 2


@pytest.mark.parametrize("restarts", [False, True])
def test_counters_count_once_over_restarts(restarts: bool) -> None:
    results = run_pipeline(
        lambda env: env.from_sequence(1, 6).map(CountingRecords()).name("count"),
        cuts=[2, 2],
        backends="paged",
        restarts=restarts,
    )
    assert results.counters["count.seen"] == 6


def test_counters_of_two_operators_of_one_name_stay_apart_without_a_uid() -> None:
    results = run_pipeline(
        lambda env: (
            env.from_sequence(1, 6)
            .map(CountingRecords())
            .filter(lambda value: value > 4)
            .map(CountingRecords())
        )
    )
    counted = results.counters
    own = [counted[name] for name in counted if name.endswith(".seen") and name != "Map.seen"]
    assert sorted(own) == [2, 6]
    assert counted["Map.seen"] == 8


class Ledger:
    """Counts on its class: the runner writes with a copy."""

    calls: ClassVar[list[Any]] = []

    def invoke(self, value: int) -> None:
        self.calls.append(value)

    def close(self) -> None:
        self.calls.append("closed")


def test_a_sink_of_python_code_is_closed_with_its_job() -> None:
    for _ in range(2):
        env = local(records_per_batch=1)
        env.from_collection([1, 2]).sink_to(FunctionSink(Ledger()))
        env.execute()
    assert Ledger.calls == [1, 2, "closed"] * 2


class Invoked:
    def invoke(self, value: int) -> None:
        if value == 3:
            raise OSError("full")


def test_a_failing_sink_is_named() -> None:
    env = local()
    env.from_collection([1, 2, 3]).sink_to(FunctionSink(Invoked())).name("ledger").uid("out")
    with pytest.raises(OSError, match="full") as raised:
        env.execute()
    (note,) = raised.value.__notes__
    sink, record = note.splitlines()
    assert sink.startswith("sink:     ledger (uid=out), built at ")
    assert sink.endswith(", writing micro-batch 0, partition 0") and Path(__file__).name in sink
    assert record == "record:   3"


class Unprintable:
    def __str__(self) -> str:
        raise ValueError("no words")


def test_a_record_that_cannot_be_printed_names_its_sink() -> None:
    env = local()
    env.from_collection([1]).map(lambda value: Unprintable()).print("here")
    with pytest.raises(ValueError, match="no words") as raised:
        env.execute()
    assert "delivering" in raised.value.__notes__[0]


def test_a_program_is_not_ended_by_its_functions() -> None:
    env = local()
    env.from_collection([1]).map(lambda value: sys.exit(value)).name("leaves").print()
    with pytest.raises(JobError, match=r"sys\.exit\(1\)") as raised:
        env.execute()
    assert raised.value.__notes__[0].startswith("operator: leaves")
