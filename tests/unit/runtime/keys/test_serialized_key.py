"""Keys that have no stable hash go by their serialized form."""

from __future__ import annotations

import io
import math
import pickle
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from headrace.common import Row, Types, WatermarkStrategy
from headrace.common.typeinfo import TypeInformation
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import UnstableKeyError
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.keys.serialized_key import (
    SerializedKey,
    contains_maps,
    serialize_key,
    sort_map_entries,
    to_internal_key,
    user_key,
)
from headrace.testing import KeyedHarness, run_pipeline


class Plain:
    def __init__(self, name: str) -> None:
        self.name = name


@dataclass
class Unfrozen:
    name: str


class ByName:
    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByName) and self.name.lower() == other.name.lower()

    def __hash__(self) -> int:
        return hash(self.name.lower())


def fresh(text: str) -> str:
    """An equal string that is another object."""
    return "".join([*text])


@pytest.mark.parametrize(
    "key", ["a", 1, 1.5, None, (1, ("a", b"b")), Row(1, "a"), frozenset({"a"})], ids=repr
)
def test_a_key_with_a_stable_hash_stays_as_it_is(key: Any) -> None:
    assert to_internal_key(key) is key
    assert user_key(key) is key


@pytest.mark.parametrize(
    "make",
    [
        lambda text: [fresh(text), fresh(text)],
        lambda text: {fresh(text): [1, fresh(text)]},
        lambda text: (1, [fresh(text)]),
        lambda text: Row(fresh(text), [1]),
        lambda text: {fresh(text), "other", "third"},
        lambda text: [frozenset({"other", "third", fresh(text)})],
        lambda text: bytearray(text.encode()),
        lambda text: Plain(fresh(text)),
        lambda text: Unfrozen(fresh(text)),
        lambda text: ByName(fresh(text)),
        lambda text: (float("nan"), fresh(text)),
    ],
)
def test_equal_forms_are_one_key(make: Any) -> None:
    one, same, other = (
        to_internal_key(make("some")),
        to_internal_key(make("some")),
        to_internal_key(make("thing")),
    )
    assert type(one) is SerializedKey
    assert one == same and hash(one) == hash(same) and one != other
    assert {one: 1}[pickle.loads(pickle.dumps(same))] == 1
    assert key_group_of(one, 128) == key_group_of(same, 128)


def test_one_object_twice_is_as_good_as_two_equal_ones() -> None:
    part = [1, "a"]
    assert serialize_key([part, part]) == serialize_key([[1, "a"], [1, "a"]])


@pytest.mark.parametrize("make", [lambda nan: nan, lambda nan: (1, nan), lambda nan: [nan]])
def test_every_nan_is_one_key(make: Any) -> None:
    """As Flink's Float and Double have it, whatever the sign and the type."""
    (negative,) = struct.unpack(">d", b"\xff\xf8\0\0\0\0\0\1")
    every = [math.nan, -math.nan, negative, np.float64("nan"), np.float32("nan"), Decimal("-sNaN")]
    assert len({to_internal_key(make(nan)) for nan in every}) == 1
    assert to_internal_key(make(math.nan)) != to_internal_key(make(math.inf))


@pytest.mark.parametrize(
    "key", [[math.inf], [Decimal(5)], [np.int64(4)], {"a": np.arange(3)}, [math.nan]], ids=repr
)
def test_the_form_is_a_pickle_without_references(key: Any) -> None:
    out = io.BytesIO()
    pickler = pickle.Pickler(out, protocol=5)
    pickler.fast = True
    pickler.dump(key)
    assert serialize_key(key) == out.getvalue()


def test_what_is_equal_in_python_may_differ_in_form() -> None:
    assert to_internal_key([1]) != to_internal_key([True])
    assert to_internal_key({"a": 1, "b": 2}) != to_internal_key({"b": 2, "a": 1})
    assert to_internal_key(ByName("a")) != to_internal_key(ByName("A"))


def test_the_key_itself_comes_back_each_time_anew() -> None:
    held = to_internal_key([1, {2}])
    first = user_key(held)
    first.append(3)
    assert user_key(held) == [1, {2}]
    assert repr(held) == "[1, {2}]"


def test_sets_have_one_form_in_every_interpreter() -> None:
    program = (
        "import sys; from headrace.runtime.keys.serialized_key import serialize_key\n"
        "print(serialize_key([{'a', 'b', 'c', 'd'}, frozenset({'x', 'y'})]).hex())"
    )
    forms = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert forms == {serialize_key([{"a", "b", "c", "d"}, frozenset({"x", "y"})]).hex() + "\n"}


def test_what_cannot_be_serialized_is_refused() -> None:
    with pytest.raises(UnstableKeyError, match="cannot be serialized") as caught:
        to_internal_key([lambda: None])
    assert "lambda" in caught.value.where["key"] and "reason" in caught.value.where
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    with pytest.raises(UnstableKeyError):
        to_internal_key(cyclic)


def test_declared_maps_are_put_in_order() -> None:
    inner = Types.MAP(Types.STRING(), Types.INT())
    assert contains_maps(Types.ROW([Types.INT(), Types.LIST(inner)]))
    assert not contains_maps(Types.ROW([Types.INT(), Types.LIST(Types.INT())]))
    one, other = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    for make in (lambda v: v, lambda v: [v], lambda v: (1, v), lambda v: Row(x=v)):
        assert to_internal_key(sort_map_entries(make(one))) == to_internal_key(
            sort_map_entries(make(other))
        )


class Count(KeyedProcessFunction):
    """Yields the key and how many records and timers it had."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()
        ctx.timer_service().register_event_time_timer(100)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), -self.count.value()


SELECTORS: list[tuple[Any, TypeInformation | None]] = [
    (lambda v: [v[0], v[0]], None),
    (lambda v: {"key": v[0], "of": {v[0], "x"}}, None),
    (lambda v: Unfrozen(v[0]), None),
    (lambda v: (v[0], float("nan")), None),
    (lambda v: [v[0]], Types.LIST(Types.STRING())),
    (
        lambda v: {"a": v[0], "b": "b"} if v[1] % 2 else {"b": "b", "a": v[0]},
        Types.MAP(Types.STRING(), Types.STRING()),
    ),
    (lambda v: Row([v[0]], 1), Types.ROW([Types.LIST(Types.STRING()), Types.INT()])),
]


@pytest.mark.parametrize(("selector", "key_type"), SELECTORS)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"cuts": [1, 2] * 9, "backends": "paged", "restarts": True, "key_groups": 3},
        {"cuts": [3] * 9, "restarts": "savepoint", "key_groups": 1, "regroup": [(5, 2), (2, 1)]},
        {"mode": "batch"},
    ],
    ids=["whole", "restarted", "savepoint", "batch"],
)
def test_state_is_found_by_the_form(
    selector: Any, key_type: TypeInformation | None, how: dict[str, Any]
) -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        names = [(f"name-{n % 3}", n) for n in range(8)]
        times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda value: value[1]
        )
        timed = env.from_collection(names).assign_timestamps_and_watermarks(times)
        return timed.key_by(selector, key_type).process(Count())

    results = run_pipeline(build, **how).only
    assert sorted(count for _, count in results) == [-3, -3, -2, 1, 1, 1, 2, 2, 2, 3, 3]
    kinds = {type(key) for key, _ in results}
    assert len(kinds) == 1 and SerializedKey not in kinds


def test_the_harness_takes_and_shows_keys_themselves() -> None:
    with KeyedHarness(Count(), key_by=lambda value: [value]) as harness:
        harness.process("a", 1)
        assert harness.keys() == [["a"]]
        assert harness.state("count", ["a"]) == 1
        assert [timer.key for timer in harness.timers()] == [["a"]]
