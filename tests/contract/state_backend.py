"""What every state backend must do; a backend's tests inherit ``StateBackendContract``."""

from __future__ import annotations

import copy
import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.runtime.state.backend import StateBackend, Timer


class Span(NamedTuple):
    """A namespace, as windows are."""

    start_ms: int
    end_ms: int


@dataclass
class Cart:
    """A value of the user's that is changed in place."""

    items: list[str] = field(default_factory=list)


KEYS: list[Any] = ["a", "b", "ä", 1, 2, -7, 2.5, None, b"x", ("a", 1), (), Span(0, 10), True]
LIST, MAP, VALUE = "elements", "items", "value"
SLOTS = {LIST: "list", MAP: "map", VALUE: "value"}


def plain(value: Any) -> Any:
    """A value with big lists and maps turned into ordinary ones, and copied."""
    if isinstance(value, dict) or hasattr(value, "keys"):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, str | bytes | tuple | Cart) or not hasattr(value, "__iter__"):
        return copy.deepcopy(value)
    return [plain(item) for item in value]


class StateBackendContract(ABC):
    """Inherit, and say how a backend is made and how the next call sees what it wrote."""

    @abstractmethod
    def make(self) -> StateBackend:
        """A new, empty backend."""

    @abstractmethod
    def reopen(self, backend: StateBackend) -> StateBackend:
        """The backend of the next call, over the state of a flushed one."""

    def next_call(self, backend: StateBackend) -> StateBackend:
        """Flush and reopen, with the slots declared."""
        backend.flush()
        backend = self.reopen(backend)
        for slot, kind in SLOTS.items():
            backend.declare(slot, kind)
        return backend

    def test_entry_is_empty_at_first(self) -> None:
        backend = self.make()
        assert backend.enter("a") == {}
        assert list(backend.keys()) == []
        backend.flush()

    def test_entry_is_the_same_object_within_a_call(self) -> None:
        backend = self.make()
        entry = backend.enter("a")
        entry[VALUE] = 1
        backend.changed("a")
        assert backend.enter("a") is entry
        backend = self.next_call(backend)
        assert backend.enter("a") is backend.enter("a")

    @pytest.mark.parametrize("key", KEYS, ids=repr)
    def test_value_survives(self, key: Any) -> None:
        backend = self.make()
        backend.enter(key)[VALUE] = (1, "x")
        backend.changed(key)
        backend = self.next_call(backend)
        assert backend.enter(key) == {VALUE: (1, "x")}
        assert list(backend.keys()) == [key]

    def test_equal_keys_share_an_entry(self) -> None:
        backend = self.make()
        backend.enter(1)[VALUE] = "one"
        backend.changed(1)
        backend = self.next_call(backend)
        assert backend.enter(1.0) == {VALUE: "one"}
        assert backend.enter(True) is backend.enter(1)

    @pytest.mark.parametrize("size", [0, 1, 5, 3000])
    def test_change_in_place_is_kept_without_report(self, size: int) -> None:
        backend = self.make()
        backend.declare(LIST, "list")
        backend.declare(MAP, "map")
        entry = backend.enter("a")
        entry[LIST] = [[number] for number in range(size)]
        entry[MAP] = {number: [number] for number in range(size)}
        entry[VALUE] = Cart([str(number) for number in range(size)])
        backend.changed("a")
        backend = self.next_call(backend)
        entry = backend.enter("a")
        entry[LIST].append("new")
        entry[MAP]["new"] = {"x"}
        entry[VALUE].items.append("new")
        if size:
            next(iter(entry[LIST])).append("inside")
            entry[MAP][0].append("inside")
        backend = self.next_call(backend)
        entry = backend.enter("a")
        inside = ["inside"] if size else []
        expected: list[Any] = [[number] for number in range(size)]
        if size:
            expected[0] = [0, *inside]
        assert list(entry[LIST]) == [*expected, "new"]
        assert dict(entry[MAP].items()) == {**dict(enumerate(expected)), "new": {"x"}}
        assert entry[VALUE] == Cart([*map(str, range(size)), "new"])

    @pytest.mark.parametrize("size", [1, 3000])
    def test_cleared_entry_is_gone(self, size: int) -> None:
        backend = self.make()
        backend.declare(LIST, "list")
        backend.enter("a")[LIST] = [*range(size)]
        backend.changed("a")
        backend = self.next_call(backend)
        backend.enter("a").clear()
        backend.changed("a")
        assert list(backend.keys()) == []
        backend = self.next_call(backend)
        assert list(backend.keys()) == []
        assert backend.enter("a") == {}

    def test_slots_keep_their_order(self) -> None:
        backend = self.make()
        slots: list[Any] = [(LIST, Span(9, 10)), MAP, (LIST, Span(1, 2)), VALUE]
        backend.declare(LIST, "list")
        for slot in slots:
            backend.enter("a")[slot] = {} if slot == MAP else [*range(3000)]
        backend.changed("a")
        backend = self.next_call(backend)
        assert list(backend.enter("a")) == slots

    def test_a_value_moves_to_another_namespace(self) -> None:
        backend = self.make()
        backend.declare(LIST, "list")
        first, second = (LIST, Span(0, 1)), (LIST, Span(0, 2))
        backend.enter("a")[first] = [*range(3000)]
        backend.changed("a")
        backend = self.next_call(backend)
        entry = backend.enter("a")
        entry[second] = entry.pop(first)
        entry[second].append("more")
        backend.changed("a")
        backend = self.next_call(backend)
        assert list(backend.enter("a")) == [second]
        assert list(backend.enter("a")[second]) == [*range(3000), "more"]

    def test_a_big_list_given_to_another_key_is_independent(self) -> None:
        backend = self.make()
        backend.declare(LIST, "list")
        backend.enter("a")[LIST] = [*range(3000)]
        backend.changed("a")
        backend = self.next_call(backend)
        backend.enter("b")[LIST] = backend.enter("a")[LIST]
        backend.changed("b")
        backend = self.next_call(backend)
        assert list(backend.enter("b")[LIST]) == [*range(3000)]
        backend.enter("a").clear()
        backend.changed("a")
        backend = self.next_call(backend)
        assert list(backend.enter("b")[LIST]) == [*range(3000)]

    def test_header_survives(self) -> None:
        backend = self.make()
        assert backend.header == {}
        backend.header["watermark"] = 17
        backend = self.next_call(backend)
        assert backend.header == {"watermark": 17}
        backend.header["channels"] = {"a": 1}
        backend = self.next_call(backend)
        backend.header["channels"]["a"] = 2
        backend = self.next_call(backend)
        assert backend.header == {"watermark": 17, "channels": {"a": 2}}

    def test_timers_of_one_moment_come_in_order_of_registration(self) -> None:
        backend = self.make()
        for key in "cab":
            backend.event_timers.register(Timer(5, key))
        backend = self.next_call(backend)
        for key in "dae":  # "a" is there already
            backend.event_timers.register(Timer(5, key))
        backend.event_timers.register(Timer(4, "z", Span(0, 4)))
        backend = self.next_call(backend)
        due = drain(backend, 5)
        assert due == [Timer(4, "z", Span(0, 4)), *(Timer(5, key) for key in "cabde")]
        assert self.next_call(backend).event_timers.earliest_ms() is None

    def test_timers_of_both_kinds_are_apart(self) -> None:
        backend = self.make()
        backend.event_timers.register(Timer(1, "event"))
        backend.processing_timers.register(Timer(2, "processing"))
        backend = self.next_call(backend)
        assert backend.event_timers.earliest_ms() == 1
        assert backend.processing_timers.earliest_ms() == 2
        assert backend.processing_timers.pop_due(1) is None
        assert backend.processing_timers.pop_due(2) == Timer(2, "processing")
        assert drain(backend, 9) == [Timer(1, "event")]

    def test_deleted_timer_does_not_come(self) -> None:
        backend = self.make()
        backend.event_timers.register(Timer(1, "a"))
        backend.event_timers.register(Timer(2, "b"))
        backend = self.next_call(backend)
        backend.event_timers.delete(Timer(1, "a"))
        backend.event_timers.delete(Timer(1, "nobody"))
        assert backend.event_timers.earliest_ms() == 2
        backend = self.next_call(backend)
        assert drain(backend, 9) == [Timer(2, "b")]

    @pytest.mark.parametrize("seed", range(4))
    def test_many_timers_come_in_order(self, seed: int) -> None:
        rng = random.Random(seed)
        spread = [3, 200, 100_000, 1][seed]
        backend = self.make()
        expected: dict[Timer, int] = {}
        order = 0
        now_ms = -1
        for _ in range(12):
            for _ in range(rng.randrange(1500)):
                timer = Timer(now_ms + 1 + rng.randrange(spread), rng.randrange(3000))
                backend.event_timers.register(timer)
                expected.setdefault(timer, order)
                order += 1
            for timer in rng.sample([*expected], min(len(expected), rng.randrange(300))):
                backend.event_timers.delete(timer)
                del expected[timer]
            if rng.random() < 0.5:
                now_ms += 1 + rng.randrange(spread)
                due = sorted(
                    (timer for timer in expected if timer.time_ms <= now_ms),
                    key=lambda timer: (timer.time_ms, expected[timer]),
                )
                assert drain(backend, now_ms) == due
                for timer in due:
                    del expected[timer]
            earliest = min((timer.time_ms for timer in expected), default=None)
            assert backend.event_timers.earliest_ms() == earliest
            backend = self.next_call(backend)
            assert backend.event_timers.earliest_ms() == earliest
        assert len(drain(backend, 1 << 60)) == len(expected)

    @settings(
        max_examples=60,
        deadline=None,
        suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
    )
    @given(data=st.data())
    def test_behaves_as_dictionaries_do(self, data: st.DataObject) -> None:
        seed = data.draw(st.integers(0, 1 << 32), label="seed")
        keys = data.draw(st.sampled_from([1, 5, 60, 400]), label="keys")
        bulk = data.draw(st.sampled_from([1, 20, 300]), label="bulk")
        steps = data.draw(st.lists(st.sampled_from(STEPS), min_size=5, max_size=60), label="steps")
        walk = Walk(self.make(), self.next_call, random.Random(seed), keys, bulk)
        for step in steps:
            step(walk)
        walk.reopen()
        walk.check()
        walk.remove_everything()
        walk.reopen()
        walk.check()
        self.check_empty(walk.backend)

    def check_empty(self, backend: StateBackend) -> None:
        """Called with a backend whose entries and timers were all removed and flushed."""


def drain(backend: StateBackend, time_ms: int) -> list[Timer]:
    """Every event timer that is due."""
    due = []
    while (timer := backend.event_timers.pop_due(time_ms)) is not None:
        due.append(timer)
    return due


class Walk:
    """A backend and the dictionaries that it should equal, changed alike step by step."""

    def __init__(
        self,
        backend: StateBackend,
        next_call: Callable[[StateBackend], StateBackend],
        rng: random.Random,
        keys: int,
        bulk: int,
    ) -> None:
        self.backend = next_call(backend)
        self.next_call = next_call
        self.rng = rng
        self.bulk = bulk
        self.keys: list[Any] = [*KEYS[: keys // 2], *(f"key-{number}" for number in range(keys))]
        self.model: dict[Any, dict[Any, Any]] = {}
        self.timers: dict[Timer, int] = {}
        self.order = 0
        self.now_ms = 0

    def key(self) -> Any:
        return self.rng.choice(self.keys)

    def slot(self, name: str) -> Any:
        return self.rng.choice([name, (name, None), (name, Span(0, self.rng.randrange(2)))])

    def item(self) -> Any:
        rng = self.rng
        number = rng.randrange(1000)
        return rng.choice([number, str(number), (number, None), [number], {"n": number}, "x" * 60])

    def amount(self) -> int:
        return self.rng.randrange(self.bulk + 1) if self.rng.random() < 0.3 else 1

    def entries(self, key: Any) -> tuple[dict[Any, Any], dict[Any, Any]]:
        return self.backend.enter(key), self.model.setdefault(key, {})

    def update_value(self) -> None:
        for _ in range(self.amount()):
            key, slot = self.key(), self.slot(VALUE)
            value = self.item() if self.rng.random() < 0.8 else [self.item()] * self.amount()
            for entry in self.entries(key):
                entry[slot] = copy.deepcopy(value)
            self.backend.changed(key)

    def change_value_in_place(self) -> None:
        for entry in self.entries(key := self.key()):
            for slot, value in entry.items():
                if VALUE in (slot, slot[0]) and isinstance(value, list):
                    value.append("in place")

    def append(self) -> None:
        for _ in range(self.amount()):
            key, slot = self.key(), self.slot(LIST)
            items = [self.item() for _ in range(self.amount())]
            for entry in self.entries(key):
                entry.setdefault(slot, []).extend(copy.deepcopy(items))
                entry[slot].append("last")
            if self.rng.random() < 0.5:
                self.backend.changed(key)
            elif len(self.model[key][slot]) == len(items) + 1:
                self.backend.changed(key)  # the slot may be new

    def change_elements(self) -> None:
        for entry in self.entries(self.key()):
            for slot, value in entry.items():
                if isinstance(slot, tuple) and slot[0] == LIST:
                    for item in value:
                        if isinstance(item, list):
                            item.append("inside")

    def put(self) -> None:
        for _ in range(self.amount()):
            key, slot = self.key(), self.slot(MAP)
            rng = self.rng
            items = {
                rng.choice([number, str(number), (number, "k")]): self.item()
                for number in (rng.randrange(200) for _ in range(self.amount()))
            }
            for entry in self.entries(key):
                held = entry.setdefault(slot, {})
                for name, value in items.items():
                    held[name] = copy.deepcopy(value)
            self.backend.changed(key)

    def take(self) -> None:
        key = self.key()
        live, model = self.entries(key)
        for slot in model:
            if isinstance(slot, tuple) and slot[0] == MAP:
                names = [*model[slot]]
                for name in self.rng.sample(names, self.rng.randrange(len(names) + 1)):
                    assert plain(live[slot].pop(name)) == model[slot].pop(name)
                assert len(live[slot]) == len(model[slot])
        if live:
            self.backend.changed(key)

    def remove_slot(self) -> None:
        key, name = self.key(), self.rng.choice([LIST, MAP, VALUE])
        slot = self.slot(name)
        for entry in self.entries(key):
            entry.pop(slot, None)
        self.backend.changed(key)

    def clear(self) -> None:
        for _ in range(self.amount()):
            for entry in self.entries(key := self.key()):
                entry.clear()
            self.backend.changed(key)

    def register(self) -> None:
        for _ in range(self.amount() * 3):
            timer = Timer(self.now_ms + self.rng.randrange(20), self.key(), self.slot(VALUE))
            self.backend.event_timers.register(timer)
            self.timers.setdefault(timer, self.order)
            self.order += 1

    def delete(self) -> None:
        timer = self.rng.choice([*self.timers, Timer(3, self.key())])
        self.backend.event_timers.delete(timer)
        self.timers.pop(timer, None)

    def fire(self) -> None:
        self.now_ms += self.rng.randrange(6)
        due = [timer for timer in self.timers if timer.time_ms <= self.now_ms]
        due.sort(key=lambda timer: (timer.time_ms, self.timers[timer]))
        assert drain(self.backend, self.now_ms) == due
        for timer in due:
            del self.timers[timer]
        left = min((timer.time_ms for timer in self.timers), default=None)
        assert self.backend.event_timers.earliest_ms() == left

    def look(self) -> None:
        live, model = self.entries(self.key())
        assert plain(live) == model
        assert list(live) == list(model)

    def check(self) -> None:
        held = {key: entry for key, entry in self.model.items() if entry}
        found = list(self.backend.keys())
        assert len(found) == len(held)
        assert set(found) == held.keys()
        for key, entry in held.items():
            assert plain(self.backend.enter(key)) == entry

    def reopen(self) -> None:
        self.backend = self.next_call(self.backend)

    def remove_everything(self) -> None:
        for key in self.model:
            self.backend.enter(key).clear()
            self.backend.changed(key)
        assert list(self.backend.keys()) == []
        self.model.clear()
        for timer in self.timers:
            self.backend.event_timers.delete(timer)
        self.timers.clear()


STEPS: list[Callable[[Walk], None]] = [
    Walk.update_value,
    Walk.change_value_in_place,
    Walk.append,
    Walk.append,
    Walk.change_elements,
    Walk.put,
    Walk.put,
    Walk.take,
    Walk.remove_slot,
    Walk.clear,
    Walk.register,
    Walk.delete,
    Walk.fire,
    Walk.look,
    Walk.check,
    Walk.reopen,
    Walk.reopen,
]
