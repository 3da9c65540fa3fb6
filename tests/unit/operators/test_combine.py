"""Reductions of a batch that are combined before they are sent: the results stay the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from headrace.common import Configuration, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.datastream.functions import ReduceFunction, associative
from headrace.errors import PlanError
from headrace.operators import combine, combine_policy
from headrace.operators.combine import CombineSpec
from headrace.runtime.exchange.steps import ValueWithKey
from headrace.runtime.user_function import UserFunction
from headrace.testing import ProcessHarness, run_pipeline

Build = Callable[[DataStream], DataStream]
_BATCH = RuntimeExecutionMode.BATCH
RECORDS = [(number * 7 % 5, number, f"r{number}") for number in range(60)]


class Times(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Joined(ReduceFunction):
    """Keeps the records' numbers in their order, as a list that it changes."""

    associative = True

    def reduce(self, value1: Any, value2: Any) -> Any:
        value1[1].extend(value2[1])
        return value1


def with_times(stream: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Times()))


PROGRAMS: dict[str, Build] = {
    "sum": lambda s: s.key_by(lambda v: v[0]).sum(1),
    "max_by": lambda s: s.key_by(lambda v: v[0]).max_by(1),
    "a key that the sum changes": lambda s: s.map(lambda v: v[1] % 3).key_by(lambda v: v).sum(0),
    "a key that reducing changes": lambda s: s.key_by(lambda v: v[0]).reduce(
        associative(lambda a, b: (a[0] + b[0], b[1], "x"))
    ),
    "first": lambda s: s.key_by(lambda v: v[0]).reduce(associative(lambda a, b: a)),
    "last": lambda s: s.key_by(lambda v: v[0]).reduce(associative(lambda a, b: b)),
    "lists": lambda s: s.map(lambda v: [v[0], [v[1]]]).key_by(lambda v: v[0]).reduce(Joined()),
    "typed keys": lambda s: s.key_by(lambda v: (v[0], str(v[0]))).sum(1),
    "times": lambda s: with_times(s).key_by(lambda v: v[0]).sum(1),
    "after a union": lambda s: (
        s.union(s.map(lambda v: (v[0], v[1], "x")))
        .key_by(lambda v: v[0])
        .reduce(associative(lambda a, b: a))
    ),
    "twice": lambda s: s.key_by(lambda v: v[0]).sum(1).key_by(lambda v: v[1] % 2).min(1),
    "side by side": lambda s: s.key_by(lambda v: v[0]).sum(1).union(s.key_by(lambda v: 0).max(1)),
}


def run(build: Build, combining: bool, records: list[Any] = RECORDS, **how: Any) -> list[Any]:
    configuration = Configuration.from_dict({"headrace.combining.enabled": str(combining).lower()})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    stream = build(env.from_collection(records))
    assert ("Combine for" in stream.explain()) is (combining and "mode" in how)
    return run_pipeline(stream, **how).only


@pytest.fixture(autouse=True)
def _as_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combine, "MAX_KEYS", 3)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("how", [{}, {"key_groups": 4, "parallelism": 2}], ids=["one", "spread"])
def test_results_are_the_same(name: str, how: dict[str, Any]) -> None:
    def build(stream: DataStream) -> DataStream:
        stream._env.set_runtime_mode(_BATCH)
        return PROGRAMS[name](stream)

    one_by_one = run(build, False, mode="batch", **how)
    assert sorted(run(build, True, mode="batch", **how)) == sorted(one_by_one)


def test_a_stream_sends_every_record() -> None:
    assert len(run(PROGRAMS["sum"], True)) == len(RECORDS)


def combined(spec: CombineSpec, records: list[Any]) -> list[Any]:
    """What is sent, without the keys that go with it."""
    with ProcessHarness(spec, batch=True) as task:
        for record in records:
            task.process(record)
        task.end_input()
        return [each.value if type(each) is ValueWithKey else each for each in task.output()]


SUM = CombineSpec(UserFunction(lambda v: v[0]), UserFunction(lambda a, b: (a[0], a[1] + b[1])))


def test_records_of_a_key_become_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combine, "MAX_KEYS", 100)
    assert combined(SUM, [("a", 1), ("b", 2), ("a", 3)]) == [("a", 4), ("b", 2)]


def test_a_record_that_is_passed_on_comes_after_those_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(combine, "MAX_KEYS", 100)
    with ProcessHarness(SUM, batch=True) as task:
        task.process(("a", 1))
        task.process(("a", 2))
        task.process(("a", 7), 5)  # one with a timestamp is not combined
        task.end_input()
        values = [each.value if type(each) is ValueWithKey else each for each in task.output()]
        assert values == [("a", 3), ("a", 7)]


def test_keys_that_do_not_repeat_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combine_policy, "SAMPLE_RECORDS", 6)
    records = [(number, 1) for number in range(6)] + [(0, 1)] * 7
    assert combined(SUM, records) == records


def test_too_many_keys_are_sent_before_others_come() -> None:
    records = [(number % 3, 1) for number in range(6)]
    assert combined(SUM, [*records, (0, 1)]) == [*records, (0, 1)]


def test_a_record_that_someone_changes_is_kept_as_it_was() -> None:
    """Records of one key keep their order, whether they are held or pass."""
    reused: list[Any] = []

    def one_object(value: Any) -> Any:
        reused[:] = [value[0], [value[1]]]
        return reused

    def build(stream: DataStream) -> DataStream:
        stream._env.set_runtime_mode(_BATCH)
        return stream.map(one_object).key_by(lambda v: v[0]).reduce(Joined())

    rng = random.Random(5)
    records = [(rng.randrange(3), number) for number in range(40)]
    found = run(build, True, records, mode="batch")
    expected = [[key, [n for k, n in records if k == key]] for key in range(3)]
    assert sorted(found) == expected


def test_an_error_names_the_operator() -> None:
    def fails(first: Any, second: Any) -> Any:
        raise ValueError("not these")

    def build(stream: DataStream) -> DataStream:
        stream._env.set_runtime_mode(_BATCH)
        return stream.key_by(lambda v: v[0]).reduce(associative(fails))

    with pytest.raises(ValueError, match="not these") as caught:
        run(build, True, mode="batch")
    assert "Combine for Reduce" in "".join(caught.value.__notes__)


def test_functions_that_keep_state_are_not_combined() -> None:
    class Counting(Joined):
        def open(self, runtime_context: Any) -> None:
            pass

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(_BATCH)
    stream = env.from_collection(RECORDS).key_by(lambda v: v[0])
    assert "Combine" not in stream.reduce(Counting()).explain()
    assert "Combine" not in stream.reduce(lambda a, b: a).explain()
    assert "Combine" in stream.reduce(Joined()).explain()
    with pytest.raises(PlanError):
        stream.reduce(3)  # type: ignore[arg-type]
