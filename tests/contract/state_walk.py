"""A random walk over a state backend, beside the dictionaries that it should equal."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headrace.runtime.state.backend import StateBackend, Timer
from headrace.runtime.state.kinds import StateKind


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
SLOTS = {LIST: StateKind("list"), MAP: StateKind("map"), VALUE: StateKind("value")}


def plain(value: Any) -> Any:
    """A value with big lists and maps turned into ordinary ones, and copied."""
    if isinstance(value, dict) or hasattr(value, "keys"):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, str | bytes | tuple | Cart) or not hasattr(value, "__iter__"):
        return copy.deepcopy(value)
    return [plain(item) for item in value]


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
        for entry in self.entries(self.key()):
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
