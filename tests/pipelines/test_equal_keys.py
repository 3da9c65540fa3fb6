"""Keys that Python holds for equal are one key, whatever was seen before and wherever it is cut."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from headrace.common.time import Duration
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import (
    CoProcessFunction,
    DataStream,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows, WindowStagger
from headrace.testing import run_pipeline

ANY = Types.PICKLED_BYTE_ARRAY()


class AsText:
    """Equal to its text, and found in a dictionary by it; how it compares cannot be known."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return self.text == (other.text if isinstance(other, AsText) else other)

    def __hash__(self) -> int:
        return hash(self.text)


class Lowered(NamedTuple):
    """A tuple that compares in a way of its own, and that nobody can change."""

    text: str
    number: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and self[1] == other[1] and self[0].lower() == other[0]

    def __hash__(self) -> int:
        return hash((self.text.lower(), self.number))


@dataclass(frozen=True)
class Place:
    number: Any


class Point(NamedTuple):
    number: Any


class Counted(KeyedProcessFunction):
    """How many records its key has had."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", ANY))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield count


class Met(KeyedCoProcessFunction):
    """How many records its key has had in both inputs."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", ANY))

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield count

    process_element2 = process_element1


ONE_KEY: list[Sequence[Any]] = [
    (1, np.int64(1), True, np.bool_(True), 1.0, np.float32(1), Decimal(1), Fraction(1)),
    (np.uint8(1), 1, np.int64(1)),
    (0.0, -0.0, np.float16(-0.0), False),
    ((1, "a"), (np.int64(1), np.str_("a")), (True, "a")),
    ((1,), Point(np.int64(1)), Point(True)),
    (Place(1), Place(np.int64(1)), Place(1.0)),
    (frozenset({1}), frozenset({np.int64(1)})),
    (math.nan, -math.nan, np.float32("nan"), np.float64("nan"), Decimal("nan"), Decimal("sNaN")),
    ((math.nan, 1), (-math.nan, 1), (np.float64("nan"), 1)),
    (np.datetime64("2024-01-02"), np.datetime64("2024-01-02T00:00", "m")),
]
TWO_KEYS: list[tuple[Any, Any]] = [
    ("a", AsText("a")),
    (("a", 1), (AsText("a"), 1)),
    (("a", 1), Lowered("A", 1)),
    (Place("a"), Place(AsText("a"))),
    (frozenset({"a"}), frozenset({AsText("a")})),
]
"""A key, and one that goes by its form, though Python holds it for equal."""


def name(value: Any) -> str | None:
    """The name of a test's parameter, the same in each process."""
    if isinstance(value, tuple):
        return "-".join(type(key).__name__ + str(getattr(key, "dtype", "")) for key in value)
    return ",".join(map(str, value)) or "plain" if isinstance(value, dict) else None


WHOLE: dict[str, Any] = {"key_groups": 7}
RESTARTED: dict[str, Any] = {
    "cuts": [1] * 20,
    "backends": "paged",
    "key_groups": 7,
    "restarts": True,
}
MOVED: dict[str, Any] = {
    "cuts": [3] * 7,
    "restarts": "savepoint",
    "key_groups": 7,
    "regroup": [(5, 2)],
}
BATCH: dict[str, Any] = {"mode": "batch", "key_groups": 7}


def keyed(keys: Sequence[Any], env: StreamExecutionEnvironment | None = None) -> Any:
    env = env or StreamExecutionEnvironment()
    stream = env.from_collection([(number, key) for number, key in enumerate(keys)])
    return stream.key_by(lambda value: value[1])


@pytest.mark.parametrize("how", [WHOLE, RESTARTED, BATCH], ids=name)
@pytest.mark.parametrize("keys", ONE_KEY, ids=name)
def test_equal_keys_are_one(keys: Sequence[Any], how: dict[str, Any]) -> None:
    for order in (keys, keys[::-1]):
        counts = run_pipeline(keyed([*order, *order]).process(Counted()), **how).only
        assert sorted(counts) == [*range(1, 2 * len(keys) + 1)]


@pytest.mark.parametrize("how", [WHOLE, MOVED], ids=name)
@pytest.mark.parametrize("keys", ONE_KEY, ids=name)
def test_equal_keys_of_two_inputs_meet(keys: Sequence[Any], how: dict[str, Any]) -> None:
    env = StreamExecutionEnvironment()
    met = keyed(keys[:1], env).connect(keyed(keys[1:], env)).process(Met())
    assert sorted(run_pipeline(met, **how).only) == [*range(1, len(keys) + 1)]


@pytest.mark.parametrize("how", [WHOLE, RESTARTED, BATCH], ids=name)
@pytest.mark.parametrize("pair", TWO_KEYS, ids=name)
def test_a_key_that_goes_by_its_form_does_so_always(
    pair: tuple[Any, Any], how: dict[str, Any]
) -> None:
    for order in (pair, pair[::-1]):
        counts = run_pipeline(keyed([*order, *order]).process(Counted()), **how).only
        assert sorted(counts) == [1, 1, 2, 2]


def windowed(keys: Sequence[Any]) -> DataStream:
    stamped = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(0)
    ).with_timestamp_assigner(lambda value: 5)
    env = StreamExecutionEnvironment()
    stream = env.from_collection([(key, 1) for key in keys]).assign_timestamps_and_watermarks(
        stamped
    )
    windows = stream.key_by(lambda value: value[0]).window(TumblingEventTimeWindows.of(10))
    return windows.sum(1).map(lambda value: value[1])


COMBINED: list[tuple[Sequence[Any], list[int]]] = [
    *((keys, [2 * len(keys)]) for keys in ONE_KEY),
    *((pair, [2, 2]) for pair in TWO_KEYS),
    (((math.nan, 1), (math.nan, True)), [2, 2]),
]


@pytest.mark.parametrize("mode", ["streaming", "batch"])
@pytest.mark.parametrize(("keys", "sums"), COMBINED, ids=name)
def test_records_are_combined_by_the_keys_that_they_are_sent_by(
    keys: Sequence[Any], sums: list[int], mode: Any
) -> None:
    for order in (keys, keys[::-1]):
        assert run_pipeline(windowed([*order, *order]), mode, key_groups=7).only == sums


@pytest.mark.parametrize(("keys", "sums"), COMBINED, ids=name)
def test_a_batch_reduces_by_the_keys_that_they_are_sent_by(
    keys: Sequence[Any], sums: list[int]
) -> None:
    env = StreamExecutionEnvironment()
    stream = env.from_collection([(key, 1) for key in [*keys, *keys]])
    reduced = stream.key_by(lambda value: value[0]).sum(1)
    found = run_pipeline(reduced.map(lambda value: value[1]), "batch", key_groups=7).only
    assert found == sums


@pytest.mark.parametrize(
    ("how", "filled"), [(WHOLE, 0), (RESTARTED, 0), (RESTARTED, 100), (MOVED, 0)], ids=name
)
@pytest.mark.parametrize(
    ("keys", "one"),
    [*((keys, True) for keys in ONE_KEY), *((pair, False) for pair in TWO_KEYS)],
    ids=name,
)
def test_map_keys_are_equal_as_keys_are(
    keys: Sequence[Any], one: bool, how: dict[str, Any], filled: int
) -> None:
    class Filled(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.map = runtime_context.get_map_state(MapStateDescriptor("map", ANY, ANY))

        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            if filled and self.map.is_empty():
                self.map.put_all((f"key {number}", "x" * 1000) for number in range(filled))
            found = value in self.map
            self.map[value] = count = (self.map[value] or 0) + 1
            assert self.map.get(value) == count
            yield count, sum(1 for _ in self.map) - filled, found

    env = StreamExecutionEnvironment()
    stream = env.from_collection([*keys, *keys]).key_by(lambda value: 0)
    found = run_pipeline(stream.process(Filled()), **how).only
    if one:
        assert found == [(number, 1, number > 1) for number in range(1, 2 * len(keys) + 1)]
    else:
        assert found == [(1, 1, False), (1, 2, False), (2, 2, True), (2, 2, True)]


class Plain:
    def __init__(self, name: str) -> None:
        self.name = name


@pytest.mark.parametrize("how", [WHOLE, RESTARTED, MOVED], ids=name)
def test_map_keys_by_their_form_come_back_as_they_were(how: dict[str, Any]) -> None:
    class Kept(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.map = runtime_context.get_map_state(MapStateDescriptor("map", ANY, ANY))

        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            key = Plain(value)
            yield self.map.contains(key)
            self.map.put(key, value)
            assert [each.name for each in self.map] == [*self.map.values()]
            if value == "b":
                self.map.remove(key)
                yield self.map.contains(key), [each.name for each, _ in self.map.items()]

    env = StreamExecutionEnvironment()
    stream = env.from_collection(["a", "a", "b"]).key_by(lambda value: 0)
    found = run_pipeline(stream.process(Kept()), **how).only
    assert found == [False, True, False, (False, ["a"])]


class Subtask(CoProcessFunction):
    """The subtask that has a record of the first input."""

    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value[0], self.subtask

    def process_element2(self, value: Any, ctx: Any) -> None:
        """Nothing comes of it."""


def test_keys_by_their_form_go_to_one_subtask_of_an_operator_without_keys() -> None:
    env = StreamExecutionEnvironment()
    other = env.from_collection([(0, 0)])
    subtasks = keyed([[number % 3] for number in range(9)], env).connect(other).process(Subtask())
    found = run_pipeline(subtasks, parallelism=3).only
    assert len(found) == 9
    assert all(
        len({subtask for number, subtask in found if number % 3 == r}) == 1 for r in range(3)
    )


def test_windows_are_staggered_by_a_key_that_goes_by_its_form() -> None:
    env = StreamExecutionEnvironment()
    stream = env.from_collection([([1], 1), ([1], 2), ([2], 4)]).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value: 5)
    )
    assigner = TumblingEventTimeWindows.of(10, 0, WindowStagger.RANDOM)
    windows = stream.key_by(lambda value: value[0]).window(assigner)
    found = run_pipeline(windows.sum(1).map(lambda value: value[1])).only
    assert sorted(found) == [3, 4]
