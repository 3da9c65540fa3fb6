"""A lone value state, which backends keep without entries, reads and writes as any other does."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from headrace.common import Time
from headrace.common.typeinfo import Types
from headrace.datastream.functions import AggregateFunction
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.errors import CheckpointError, NotKeyedError
from headrace.runtime.state.backend import MISSING, StateBackend
from headrace.runtime.state.handles import KeyContext, StateStore, ValueHandle
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend

from .stores import CountingStore

SLOT = "total"
Reopen = Callable[[], StateBackend]


def heap() -> Reopen:
    """One backend for all calls."""
    backend = HeapBackend()
    return lambda: backend


def paged(page_bytes: int) -> Callable[[], Reopen]:
    """A backend per call, over the same pages."""

    def opening() -> Reopen:
        store = CountingStore()
        return lambda: PagedBackend(store, 4, page_bytes)

    return opening


BACKENDS = {"heap": heap, "pages": paged(16384), "small": paged(700), "tiny": paged(100)}


@pytest.fixture(params=BACKENDS.values(), ids=BACKENDS)
def reopen(request: pytest.FixtureRequest) -> Reopen:
    """Gives the backend of the next call."""
    made: Reopen = request.param()
    return made


class Task:
    """A user function's part: one value state, and the key at hand."""

    def __init__(self, reopen: Reopen) -> None:
        self.key_context = KeyContext()
        self.store = StateStore(self.key_context)
        self.state: ValueHandle = self.store.get_state(ValueStateDescriptor(SLOT))
        self._reopen = reopen
        self.store.attach(reopen())

    def enter(self, key: Any) -> ValueHandle:
        self.key_context.key, self.key_context.entry = key, self.key_context.look_up(key)
        return self.state

    def next_call(self) -> None:
        self.key_context.backend.flush()
        self.store.attach(self._reopen())


def a_value(rng: random.Random) -> Any:
    """Plain ones, changeable ones, and some too big for a page."""
    return rng.choice(
        [
            rng.randrange(1000),
            (rng.randrange(9), "x" * rng.randrange(40)),
            [rng.randrange(9)],
            "y" * 3000,
            ("z" * 5000, 1),
        ]
    )


@pytest.mark.parametrize("expires", [True, False])
def test_a_time_to_live_neither_comes_nor_goes(expires: bool) -> None:
    def value(expires: bool, name: str = SLOT) -> ValueStateDescriptor:
        descriptor = ValueStateDescriptor(name)
        if expires:
            descriptor.enable_time_to_live(
                StateTtlConfig.new_builder(Time.milliseconds(5)).use_event_time().build()
            )
        return descriptor

    def call(*descriptors: ValueStateDescriptor) -> Any:
        key_context = KeyContext()
        states = StateStore(key_context)
        handles = [states.get_state(descriptor) for descriptor in descriptors]
        states.attach(PagedBackend(store, 4))
        key_context.key, key_context.event_ms, key_context.entry = (
            "key",
            7,
            key_context.look_up("key"),
        )
        found = [handle.value() for handle in handles]
        for handle in handles:
            handle.update((1, 2))
        key_context.backend.flush()
        return found

    store = CountingStore()
    assert call(value(expires)) == [None]
    assert call(value(expires), value(not expires, "another")) == [(1, 2), None]
    with pytest.raises(CheckpointError, match="'total' was stored as value with"):
        call(value(not expires))


def an_immutable_value(rng: random.Random) -> Any:
    """Values that a page holds as they are."""
    return rng.choice([rng.randrange(1000), (rng.randrange(9), "x" * rng.randrange(40)), None])


@pytest.mark.parametrize("a_value", [a_value, an_immutable_value])
@pytest.mark.parametrize("seed", range(12))
def test_walks_as_a_dictionary_does(
    reopen: Reopen, seed: int, a_value: Callable[[random.Random], Any]
) -> None:
    rng = random.Random(seed)
    task, model = Task(reopen), dict[Any, Any]()
    calmness = rng.choice([1, 1, 30])  # many values, most of them changed, and nothing else
    for _ in range(rng.choice([30, 1500])):
        key = rng.choice([rng.randrange(rng.choice([3, 500])), "a", 2.5, None])
        handle = task.enter(key)
        assert handle.value() == model.get(key)
        step = rng.random()
        if 0.6 <= step < 0.75 and rng.random() * calmness >= 1:
            step = 0.0
        if step < 0.6:
            value = a_value(rng)
            handle.update(value)
            model[key] = list(value) if isinstance(value, list) else value
            if value is None:  # as PyFlink does
                del model[key]
        elif step < 0.75:
            handle.clear()
            model.pop(key, None)
        elif step < 0.85 and isinstance(model.get(key), list):
            handle.value().append(7)  # without a word
            model[key] = [*model[key], 7]
        elif step > 0.97:
            task.next_call()
        elif step > 0.96:
            assert sorted(task.key_context.backend.keys(), key=repr) == sorted(model, key=repr)
    task.next_call()
    assert {key: task.enter(key).value() for key in model} == model
    assert sorted(task.key_context.backend.keys(), key=repr) == sorted(model, key=repr)
    task.next_call()
    for key in model:
        task.enter(key).clear()
    task.next_call()
    assert list(task.key_context.backend.keys()) == []


def test_others_see_entries(reopen: Reopen) -> None:
    task = Task(reopen)
    task.enter("a").update(1)
    task.enter("b").update([2])
    task.next_call()
    task.key_context.backend.flush()
    backend = reopen()
    assert {key: dict(backend.enter(key)) for key in [*backend.keys()]} == {
        "a": {SLOT: 1},
        "b": {SLOT: [2]},
    }


def test_a_second_state_asked_for_in_the_midst_of_a_call(reopen: Reopen) -> None:
    task = Task(reopen)
    for key in range(300):
        task.enter(key).update(key)
    task.next_call()
    look_up = task.key_context.look_up  # as the loop of an operator holds it
    task.enter(5).update(-5)
    task.enter(6)
    more = task.store.get_list_state(ListStateDescriptor("seen", Types.INT()))
    assert task.state.value() == 6
    more.add(66)
    for key in (5, 7, 1000):
        task.key_context.key, task.key_context.entry = key, look_up(key)
        assert task.state.value() == {5: -5, 7: 7, 1000: None}[key]
        more.add(key)
        task.state.update(key * 2)
    task.next_call()
    assert task.key_context.values is None
    for key, total, seen in ((5, 10, [5]), (6, 6, [66]), (7, 14, [7]), (8, 8, [])):
        assert task.enter(key).value() == total
        assert more.get() == seen


def test_a_slot_that_is_not_declared_any_more_is_kept(reopen: Reopen) -> None:
    backend = reopen()
    for key in range(20):
        backend.enter(key).update({SLOT: key, "old": [key]})
        backend.changed(key)
    backend.flush()
    task = Task(reopen)
    task.enter(3).update(-3)
    task.enter(4).clear()
    assert task.enter(5).value() == 5
    task.next_call()
    task.key_context.backend.flush()
    backend = reopen()
    assert dict(backend.enter(3)) == {SLOT: -3, "old": [3]}
    assert dict(backend.enter(4)) == {"old": [4]}
    assert dict(backend.enter(5)) == {SLOT: 5, "old": [5]}


def test_outside_of_any_key_state_has_no_value(reopen: Reopen) -> None:
    task = Task(reopen)
    task.enter("a").update(1)
    task.next_call()
    for use in (task.state.value, task.state.clear, lambda: task.state.update(2)):
        with pytest.raises(NotKeyedError, match="total"):
            use()
    assert task.enter("a").value() == 1


def test_only_a_value_state_alone_is_bare(reopen: Reopen) -> None:
    task = Task(reopen)
    assert task.key_context.values is not None
    assert task.key_context.look_up("nobody") is MISSING
    key_context = KeyContext()
    store = StateStore(key_context)
    store.get_list_state(ListStateDescriptor("seen", Types.INT()))
    store.attach(HeapBackend())
    assert key_context.values is None


class Latest(AggregateFunction):
    """Keeps the last value, be it None."""

    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return value

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, first: Any, second: Any) -> Any:
        return second


@pytest.mark.parametrize("states", [1, 2])
def test_an_accumulator_of_none_is_none(reopen: Reopen, states: int) -> None:
    key_context = KeyContext()
    store = StateStore(key_context)
    if states == 2:
        store.get_state(ValueStateDescriptor("other"))
    state = store.get_aggregating_state(
        AggregatingStateDescriptor("latest", Latest(), Types.PICKLED_BYTE_ARRAY())
    )
    reduced = []
    for value in (None, 5, None, None, 6):
        store.attach(reopen())
        key_context.enter("k")
        before = state.get()
        state.add(value)
        reduced.append((before, state.get()))
        key_context.backend.flush()
    assert reduced == [(None, None), (None, 5), (5, None), (None, None), (None, 6)]
