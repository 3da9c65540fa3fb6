"""Programs with other states go on from each other's pages: all equal plain dictionaries.

States are declared at once or late, and come and go. Pages of several schemas lie side by side, and
entries outgrow them and shrink again. Between two calls all may go through a savepoint, into pages
of another size.
"""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from headrace.common.typeinfo import Types
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from headrace.runtime.state.handles import KeyContext, StateStore
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.testing._snapshot import copy_state

from .state_walk import Cart, plain
from .stores import CountingStore

ANY = Types.PICKLED_BYTE_ARRAY()
NAMES = ("value one", "value two", "list one", "list two", "map one", "map two")
SAME_HASH = (1 << 61) - 1
"""Integers that differ by it have one hash."""


class Programs:
    """What is stored for keys, and for pairs of key and namespace, beside what should be."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.model: dict[Any, dict[str, Any]] = {}
        self.names = self.rng.sample(NAMES, self.rng.choice([1, 2, len(NAMES)]))
        count = self.rng.choice([1, 4, 60])
        alike = [number * SAME_HASH for number in range(count)]
        self.keys: list[Any] = self.rng.choice([alike, [f"key {n}" for n in range(count)]])
        self.store = CountingStore()
        self.page_bytes = self.rng.choice([100, 300, 700, 16384])
        self.next_program()

    def next_program(self) -> None:
        """Some of the states, of which some are asked for late."""
        self.key_context = KeyContext()
        self.states = StateStore(self.key_context)
        self.spaces = {False: self.states, True: self.states.in_namespaces()}
        self.handles: dict[tuple[bool, str], Any] = {}
        program = self.rng.sample(self.names, self.rng.randint(1, len(self.names)))
        self.late = [name for name in program if self.rng.random() < 0.2]
        for name in program:
            if name not in self.late:
                self.declare(name)
        self.open()

    def declare(self, name: str) -> None:
        for namespaced, states in self.spaces.items():
            if name.startswith("value"):
                handle: Any = states.get_state(ValueStateDescriptor(name, ANY))
            elif name.startswith("list"):
                handle = states.get_list_state(ListStateDescriptor(name, ANY))
            else:
                handle = states.get_map_state(MapStateDescriptor(name, ANY, ANY))
            self.handles[namespaced, name] = handle

    def open(self) -> None:
        self.backend = PagedBackend(self.store, 4, self.page_bytes)
        self.states.attach(self.backend)

    def item(self) -> Any:
        number = self.rng.randrange(1000)
        return self.rng.choice(
            [number, str(number), (number, None), [number], Cart([str(number)]), "x" * number]
        )

    def change(self) -> None:
        """Read a state of a key, and change it: by its handle, or in place."""
        rng, model = self.rng, self.model
        if not self.handles:
            return
        namespaced, name = rng.choice([*self.handles])
        handle, key = self.handles[namespaced, name], rng.choice(self.keys)
        self.key_context.enter(key)
        if namespaced:
            namespace = rng.randrange(2)
            self.spaces[True].enter(namespace)  # type: ignore[attr-defined]
            key = (key, namespace)
        entry = model.setdefault((namespaced, key), {})
        kind, held = name.partition(" ")[0], entry.get(name)
        found = {"value": "value", "list": "get", "map": "items"}[kind]
        live = getattr(handle, found)()
        live = dict(live) if kind == "map" else live
        assert live == ({"list": [], "map": {}}.get(kind) if held is None else held)
        step, many = rng.random(), rng.choice([1, 1, 50])
        if step < 0.5:
            items = [self.item() for _ in range(many)]
            sent = copy.deepcopy(items)
            if kind == "value":
                handle.update(sent[0])
                entry[name] = items[0]
            elif kind == "list":
                handle.add_all(sent)
                entry[name] = [*(held or []), *items]
            else:
                pairs = [rng.randrange(100) for _ in items]
                handle.put_all(zip(pairs, sent, strict=True))
                entry[name] = {**(held or {}), **dict(zip(pairs, items, strict=True))}
        elif step < 0.6:
            handle.clear()
            entry.pop(name, None)
        elif step < 0.7 and kind == "map" and held:
            for item in rng.sample([*held], rng.randint(1, len(held))):
                handle.remove(item)
                del held[item]
            if not held:
                del entry[name]
        elif step < 0.9:
            for each in (live, held):
                for value in each.values() if kind == "map" and each else [each]:
                    for inner in value if kind == "list" and value else [value]:
                        if isinstance(inner, Cart):
                            inner.items.append("in place")

    def end_call(self) -> None:
        self.backend.flush()
        if self.rng.random() < 0.2:
            here = PagedBackend(self.store, 4, self.page_bytes)
            self.store, self.page_bytes = CountingStore(), self.rng.choice([100, 700, 16384])
            heap = HeapBackend()
            copy_state(here, heap)
            copy_state(heap, PagedBackend(self.store, 4, self.page_bytes))
        if self.rng.random() < 0.4:
            self.next_program()
        else:
            self.open()

    def check(self) -> None:
        """All is there, also what no state of the last program shows."""
        backend = PagedBackend(self.store, 4, self.page_bytes)
        found = {
            (namespaced, key): {name: plain(value) for name, value in entry.items()}
            for namespaced, space in ((False, backend), (True, backend.in_namespaces))
            for key, entry in space.scan()
        }
        assert found == {place: entry for place, entry in self.model.items() if entry}

    def remove_all(self) -> None:
        backend = PagedBackend(self.store, 4, self.page_bytes)
        for space in (backend, backend.in_namespaces):
            for key in [*space.keys()]:
                space.enter(key).clear()
                space.changed(key)
        backend.flush()
        assert self.store.records == {}


def run(seed: int, steps: int) -> None:
    print(f"seed {seed}")  # shown when the test fails
    programs = Programs(seed)
    often = programs.rng.choice([0.05, 0.3, 1])
    for _ in range(steps):
        programs.change()
        if programs.late and programs.rng.random() < 0.05:
            programs.declare(programs.late.pop())
        if programs.rng.random() < often:
            programs.end_call()
    programs.backend.flush()
    programs.check()
    programs.remove_all()


@pytest.mark.parametrize("seed", range(12))
def test_states_come_and_go(seed: int) -> None:
    run(seed, 60)


@pytest.mark.proof
def test_states_come_and_go_for_long() -> None:
    first = random.SystemRandom().randrange(1 << 30)
    for seed in range(first, first + 1000):
        run(seed, 200)
