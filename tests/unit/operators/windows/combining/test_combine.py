"""Windows in two phases come to what they come to in one: results, and how many were late."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from headrace.common import Configuration, Row, Types, WatermarkStrategy
from headrace.common._watermark_generators import BoundedOutOfOrderness
from headrace.common.time import Duration, Time
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.functions import KeySelector
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.operators import combine, combine_policy
from headrace.operators.windows.aligned.grid import Grid
from headrace.operators.windows.combining import combine as windows_combine
from headrace.operators.windows.combining import sessions as combine_sessions
from headrace.operators.windows.combining.combine import CombineWindowsSpec
from headrace.operators.windows.contents import Reduced
from headrace.operators.windows.partial_aggregates import PartialAggregates
from headrace.runtime.user_function import UserFunction
from headrace.testing import run_pipeline
from tests.unit.operators.windowing import Total
from tests.unit.operators.windows.aligned.test_operator import APPLIED, LATE, Lists
from tests.unit.runtime.programs import Spy, chain_of, node, running, to_node

ms = Time.milliseconds
ASSIGNERS: dict[str, Any] = {
    "tumbling": TumblingEventTimeWindows.of(ms(10), ms(3)),
    "sliding": SlidingEventTimeWindows.of(ms(12), ms(4)),
    "with gaps": SlidingEventTimeWindows.of(ms(4), ms(10)),
    "sessions": EventTimeSessionWindows.with_gap(ms(2)),
    "long sessions": EventTimeSessionWindows.with_gap(ms(5)),
}
IN_ORDER = ["sum", "reduce, associative"]
"""They merge what was held of successive records, so only windows one after the other combine."""
MERGED = [*IN_ORDER, "aggregate", "aggregate, lists"]


class EachRecord(BoundedOutOfOrderness):
    """Emits after every record."""

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        super().on_event(event, event_timestamp, output)
        self.on_periodic_emit(output)


class Key(KeySelector):
    """Is opened."""

    def open(self, runtime_context: Any) -> None:
        self.place = 0

    def get_key(self, value: Any) -> Any:
        return value[self.place]


def records(seed: int) -> list[tuple[Any, int, int]]:
    rng = random.Random(seed)
    return [
        (rng.choice("abcde"), number, number // 3 + rng.choice([-20, -8, -3, -1, 0, 0, 1]))
        for number in range(60)
    ]


def stream(
    env: StreamExecutionEnvironment, found: list[Any], each_record: bool, splits: int
) -> DataStream:
    strategy: Any = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(3))
    if each_record:
        strategy = WatermarkStrategy.for_generator(lambda: EachRecord(3))
    strategy = strategy.with_timestamp_assigner(lambda record: record[2])
    parts = [
        env.from_collection(found[part::splits]).assign_timestamps_and_watermarks(strategy)
        for part in range(splits)
    ]
    return parts[0].union(*parts[1:]) if splits > 1 else parts[0]


def run(
    combining: bool,
    seed: int,
    assigner: str,
    apply: str,
    each_record: bool,
    splits: int,
    **how: Any,
) -> Any:
    configuration = Configuration.from_dict({"headrace.combining.enabled": str(combining).lower()})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    keyed = stream(env, records(seed), each_record, splits).key_by(Key())
    result = APPLIED[apply](keyed.window(ASSIGNERS[assigner]))
    combined = combining and (assigner == "tumbling" or apply not in IN_ORDER)
    if not how:  # the plan is that of the graph, however it is run
        assert ("Combine for" in result.explain()) is combined
    found = run_pipeline(result, **how)
    late = {k: v for k, v in found.counters.items() if "Late" in str(k)}
    return sorted(map(repr, found.only)), late


@pytest.mark.parametrize("most", [4, 100_000])
@pytest.mark.parametrize("apply", MERGED)
@pytest.mark.parametrize("assigner", ASSIGNERS)
def test_as_in_one_phase(
    assigner: str, apply: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one channel, where what is late is certain, however the input is cut."""
    monkeypatch.setattr(windows_combine, "MAX_KEYS", most)
    monkeypatch.setattr(combine_sessions, "MAX_KEYS", most)
    monkeypatch.setattr(combine_policy, "SAMPLE_RECORDS", 40)
    seed = len(apply) * most
    each_record = most == 4
    given = (seed, assigner, apply, each_record, 1)
    for how in ({}, {"cuts": [7, 30, 1, 60], "key_groups": 4, "parallelism": 2}):
        one, late = run(False, *given, **how)
        assert run(True, *given, **how) == (one, late), (seed, how)
        assert not each_record or late
    again = {"cuts": [20] * 9, "backends": "paged", "restarts": True}
    assert run(True, *given, **again)[0] == run(False, *given, **again)[0]


def test_several_channels() -> None:
    """Nothing is late here, so the order in which channels are read makes no difference."""
    for seed in range(3):
        found = [
            run(combining, seed, "sliding", "aggregate, lists", False, 3, key_groups=3)
            for combining in (True, False)
        ]
        assert found[0] == found[1]


@pytest.mark.parametrize("assigner", ASSIGNERS)
def test_in_a_batch(assigner: str) -> None:
    """Nothing is late there, so lateness does not stand in the way; an order of records does."""
    found = {}
    for apply in ("aggregate", "aggregate, lists", "sum"):
        for combining in (True, False):
            given = {
                "headrace.combining.enabled": str(combining).lower(),
                "execution.runtime-mode": "BATCH",
            }
            env = StreamExecutionEnvironment.get_execution_environment(
                Configuration.from_dict(given)
            )
            windows = stream(env, records(5), False, 2).key_by(Key()).window(ASSIGNERS[assigner])
            result = APPLIED[apply](windows.allowed_lateness(5))
            two_phases = combining and apply != "sum" and "sessions" not in assigner
            assert ("Combine for" in result.explain()) is two_phases
            results = run_pipeline(result, mode="batch", key_groups=3, parallelism=2)
            found[combining] = sorted(map(repr, results.only))
        assert found[True] == found[False]
        assert found[True]


class Failing(Total):
    """Raises where configured; ``merge`` cannot be seen to raise."""

    def __init__(self, where: str) -> None:
        self.where = where

    def add(self, value: Any, accumulator: Any) -> Any:
        self._fail("add")
        return (lambda: 1) if self.where == "pickle" else super().add(value, accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        self._fail("merge")
        return super().merge(acc_a, acc_b)

    def get_result(self, accumulator: Any) -> Any:
        self._fail("get_result")
        return super().get_result(accumulator)

    def _fail(self, where: str) -> None:
        if where == self.where:
            raise ValueError(f"{where} failed")


@pytest.mark.parametrize("assigner", ["tumbling", "sessions"])
@pytest.mark.parametrize(
    ("where", "noted"),
    [
        ("add", "record:   ('a', 0, 5)"),
        ("merge", "key:      'a'"),
        ("get_result", "key:      'a'"),
        ("pickle", "key:      'a'"),
    ],
)
def test_errors_name_what_the_user_knows(assigner: str, where: str, noted: str) -> None:
    """The record or the key, and nothing of how records are sent."""
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = stream(env, [("a", 0, 5)] * 4, False, 2).key_by(Key())
    result = keyed.window(ASSIGNERS[assigner]).aggregate(Failing(where))
    with pytest.raises((ValueError, AttributeError)) as raised:
        run_pipeline(result)
    (add_sample,) = (
        add_sample for add_sample in raised.value.__notes__ if "operator:" in add_sample
    )
    assert noted in add_sample
    assert "PartialAggregates(" not in add_sample


def test_a_combined_record_says_what_it_is() -> None:
    shown = repr(PartialAggregates(0, 7, b"..."))
    assert shown == "7 combined records of keys of one key group"


FROZEN = dataclasses.make_dataclass("FROZEN", ["one"], frozen=True, eq=False)
FROZEN.__module__ = __name__


@pytest.mark.parametrize(
    "key",
    [
        lambda number: number % 3,
        lambda number: float("nan"),
        lambda number: (number % 2, "a"),
        lambda number: FROZEN(number % 2),
        lambda number: [number % 2],
        lambda number: Row(number % 2, "a"),
    ],
    ids=["int", "nan", "tuple", "no stable hash", "list", "row"],
)
@pytest.mark.parametrize("declared", [False, True])
def test_any_key(key: Any, declared: bool) -> None:
    """A key leads to the same state, in whatever form records of it are sent."""
    found = []
    for combining in (True, False):
        given = {"headrace.combining.enabled": str(combining).lower()}
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(given))
        source = [(number, 1, number // 4) for number in range(40)]
        type_info = Types.PICKLED_BYTE_ARRAY() if declared else None
        keyed = stream(env, source, False, 1).key_by(lambda value: key(value[0]), type_info)
        result = keyed.window(ASSIGNERS["tumbling"]).aggregate(Total())
        found.append(sorted(run_pipeline(result, key_groups=4, cuts=[9, 9, 9]).only))
    assert found[0] == found[1]


def test_keys_of_a_declared_type() -> None:
    """Keys that become equal in their type are one."""
    env = StreamExecutionEnvironment.get_execution_environment()
    source = [(0.1 + number % 2 * 1e-10, 1, 3) for number in range(8)]
    keyed = stream(env, source, False, 1).key_by(lambda value: value[0], Types.FLOAT())
    result = keyed.window(ASSIGNERS["tumbling"]).aggregate(Total())
    assert "Combine for" in result.explain()
    assert run_pipeline(result, key_groups=4).only == [8]


@pytest.mark.parametrize(
    "build",
    [
        lambda windows: windows.allowed_lateness(5).aggregate(Total()),
        lambda windows: windows.side_output_late_data(LATE).aggregate(Total()),
        lambda windows: windows.trigger(ContinuousEventTimeTrigger.of(ms(2))).aggregate(Total()),
        lambda windows: windows.reduce(lambda one, other: one),
        lambda windows: APPLIED["process"](windows),
        lambda windows: APPLIED["aggregate, never merged"](windows),
    ],
    ids=["lateness", "late side output", "trigger", "not declared", "process", "no merge"],
)
def test_windows_of_one_phase(build: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = stream(env, records(1), False, 1).key_by(Key())
    assert "Combine for" not in build(keyed.window(ASSIGNERS["tumbling"])).explain()


def test_the_default_trigger_may_be_named() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    windows = stream(env, records(1), False, 1).key_by(Key()).window(ASSIGNERS["tumbling"])
    result = windows.trigger(EventTimeTrigger.create()).aggregate(Lists())
    assert "Combine for" in result.explain()


def test_a_watermark_that_waits_for_records_does_not_come_as_idleness() -> None:
    contents = Reduced(None, UserFunction(lambda one, other: one))
    spec = CombineWindowsSpec(UserFunction(lambda value: value), contents, grid=Grid(10, 10, 0))
    after = Spy("after")
    task = running(chain_of(node(1, spec, to_node(2)), node(2, after)))
    task.push("a", 3)
    task.push_watermark(5)
    assert after.watermarks() == []
    task.complete()
    assert len(after.records()) == 1
    assert after.watermarks() == [(5, False)]


def test_keys_that_do_not_repeat_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combine_policy, "SAMPLE_RECORDS", 10)
    found = [(number, 1, number // 9) for number in range(200)]
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = stream(env, found, False, 1).key_by(Key())
    result = run_pipeline(keyed.window(ASSIGNERS["tumbling"]).aggregate(Total()), cuts=[20] * 9)
    assert result.only == [1] * 200
    tried = combine_policy.CombinePolicy()
    rests = combine_policy.SKIPPED_SAMPLES
    for _ in range(2):
        assert tried.should_combine(1)
        tried.add_sample(10, 9)
        chunks = [tried.should_combine(5) for _ in range(2 * rests + 1)]
        assert chunks == [False] * (2 * rests) + [True]
        rests *= 2
    tried.add_sample(10, 1)
    tried.add_sample(10, 9)
    assert [tried.should_combine(10) for _ in range(combine_policy.SKIPPED_SAMPLES + 1)] == [
        False
    ] * combine_policy.SKIPPED_SAMPLES + [True]
    assert combine.MAX_KEYS == windows_combine.MAX_KEYS
