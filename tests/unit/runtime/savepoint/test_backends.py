"""State through the savepoint: into other backends, with other key groups."""

from __future__ import annotations

import pickletools
import random
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from headrace.common import Row, Time
from headrace.common.typeinfo import Types
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.errors import CheckpointError
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.savepoint.arrow import from_batches, schema_of, to_batches
from headrace.runtime.savepoint.read import assign_key_groups, import_backend
from headrace.runtime.savepoint.records import StateRecord, TimerRecord, decode
from headrace.runtime.savepoint.write import export_backend, export_states, export_timers
from headrace.runtime.state.backend import StateBackend, Timer
from headrace.runtime.state.handles import KeyContext, StateStore
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.kinds import StateKind
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages

KEYS: list[Any] = [*range(150), "ä", ("a", 1), Row(1, "x"), None, b"k", 2.5]
BIG = {0, 7}


@dataclass
class Cart:
    """A value of the user's."""

    items: list[str]


def new(kind: str, key_groups: int) -> StateBackend:
    return HeapBackend() if kind == "heap" else PagedBackend(MemoryPages(), key_groups, 700)


class Program:
    """An operator with every kind of state, some in namespaces."""

    def __init__(self) -> None:
        self.task = KeyContext()
        self.states = StateStore(self.task, "sums")
        self.count = self.states.get_state(ValueStateDescriptor("count", Types.INT()))
        self.cart = self.states.get_state(ValueStateDescriptor("cart"))
        self.seen = self.states.get_list_state(ListStateDescriptor("seen", Types.INT()))
        self.by_day = self.states.get_map_state(MapStateDescriptor("by day"))
        self.total = self.states.get_reducing_state(
            ReducingStateDescriptor("total", lambda first, second: first + second, Types.INT())
        )
        expiring = MapStateDescriptor("expiring")
        expiring.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self.expiring = self.states.get_map_state(expiring)
        self.windows = self.states.in_namespaces()
        self.sum = self.windows.get_state(ValueStateDescriptor("sum", Types.INT()))
        self.members = self.windows.get_list_state(ListStateDescriptor("members"))

    def attach(self, backend: StateBackend) -> None:
        self.states.attach(backend)

    def fill(self, key: Any, number: int) -> None:
        self.task.enter(key)
        self.task.now_ms = 1_000 + number
        self.count.update(number)
        self.cart.update(Cart([str(number)]))
        self.seen.add_all(range(1_500 if number in BIG else number % 5))
        for day in range(1_500 if number in BIG else number % 4):
            self.by_day.put(("day", day), [day])
        self.total.add(number)
        self.expiring.put("now", number)
        for end in range(number % 3):
            self.windows.enter((end, end + 10))
            self.sum.update(end * number)
            self.members.add_all([number] * (1 + end))
        events, clock = self.task.backend.event_timers, self.task.backend.processing_timers
        events.register(Timer(number % 10, key))
        events.register(Timer(5, key, (0, 10)))
        clock.register(Timer(number % 3, key))

    def content(self) -> dict[Any, Any]:
        """Everything under every key of the backend at hand."""
        found: dict[Any, Any] = {}
        backend = self.task.backend
        for key in [*backend.keys()]:
            self.task.enter(key)
            found[key] = (
                self.count.value(),
                self.cart.value(),
                self.seen.get(),
                dict(self.by_day.items()),
                self.total.get(),
                dict(self.task.entry["expiring"].items()),
            )
        for key, namespace in [*backend.in_namespaces.keys()]:
            self.task.enter(key)
            self.windows.enter(namespace)
            found[key, namespace, ...] = (self.sum.value(), self.members.get())
        return found


def filled(kind: str, key_groups: int) -> tuple[Program, dict[int, StateBackend]]:
    program = Program()
    backends: dict[int, StateBackend] = {}
    for number, key in enumerate(KEYS):
        group = key_group_of(key, key_groups)
        backend = backends.get(group)
        if backend is None:
            backend = backends[group] = new(kind, key_groups)
        program.attach(backend)
        program.fill(key, number)
        backend.flush()
    return program, backends


def everything(program: Program, backends: dict[int, StateBackend]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for backend in backends.values():
        program.attach(backend)
        found |= program.content()
    return found


def timers(backends: dict[int, StateBackend]) -> Counter[Timer]:
    return Counter(
        timer
        for backend in backends.values()
        for store in (backend.event_timers, backend.processing_timers)
        for _, timer in store.scan()
    )


Exported = list[tuple[list[Any], list[Any]]]


@cache
def of_128_groups(kind: str) -> tuple[Program, dict[Any, Any], Counter[Timer], Exported]:
    """A program, what 128 groups hold of it, their timers, and both as exported, by group."""
    program, backends = filled(kind, 128)
    exported = [
        (
            [*from_batches("states", to_batches("states", export_states("o", backend, group)))],
            [*from_batches("timers", to_batches("timers", export_timers("o", backend, group)))],
        )
        for group, backend in backends.items()
    ]
    return program, everything(program, backends), timers(backends), exported


@pytest.mark.parametrize(("before", "after"), [("heap", "paged"), ("paged", "heap")])
@pytest.mark.parametrize("key_groups", [1, 3, 64])
def test_128_groups_into_fewer(before: str, after: str, key_groups: int) -> None:
    program, expected, expected_timers, exported = of_128_groups(before)
    made = {group: new(after, key_groups) for group in range(key_groups)}
    parts: dict[int, list[StateRecord | TimerRecord]] = {}
    for states, set_ in exported:
        for record in (
            *assign_key_groups(states, key_groups),
            *assign_key_groups(set_, key_groups),
        ):
            parts.setdefault(record.key_group, []).append(record)
    for group, backend in made.items():
        program.attach(backend)
        import_backend(parts.get(group, ()), backend)
    found = everything(program, made)
    assert found == expected
    for key in found:
        if not (type(key) is tuple and key[-1] is ...):
            assert key_group_of(key, key_groups) in made
    assert timers(made) == expected_timers
    for group, backend in made.items():
        assert all(key_group_of(key, key_groups) == group for key in [*backend.keys()])


@pytest.mark.parametrize("kind", ["heap", "paged"])
def test_exporting_changes_nothing_and_can_be_repeated(kind: str) -> None:
    program, backends = filled(kind, 1)
    (backend,) = backends.values()
    first = [*export_backend("o", backend, 0)]
    assert [*export_backend("o", backend, 0)] == first
    stored = dict(backend._store.records) if isinstance(backend, PagedBackend) else {}
    backend.flush()
    if isinstance(backend, PagedBackend):
        assert backend._store.records == stored
    program.attach(backend)
    assert len(program.content()) > len(KEYS)


def test_what_is_exported_does_not_stay_in_memory() -> None:
    store = MemoryPages()
    program = Program()
    program.attach(PagedBackend(store, 1, 700))
    for number, key in enumerate(KEYS):
        program.fill(key, number)
    program.task.backend.flush()
    backend = PagedBackend(store, 1, 700)
    most = 0
    for _ in export_states("o", backend, 0):
        pages = backend._plain.pages()
        most = max(most, len(pages._pages) + len(pages._read))
        assert not backend._plain._live
    assert most <= 1
    assert len(store.records) > 100


@pytest.mark.parametrize("kind", ["heap", "paged"])
def test_timers_of_one_moment_keep_their_order(kind: str) -> None:
    rng = random.Random(5)
    backends = {group: new("paged", 4) for group in range(4)}
    order: list[Any] = rng.sample(range(1_000), 1_000)
    for key in order:
        backends[key_group_of(key, 4)].event_timers.register(Timer(7, key))
    made = new(kind, 1)
    for group, backend in backends.items():
        backend.flush()
        import_backend(export_timers("o", backend, group), made)
    fired = [timer.key for _, timer in made.event_timers.scan()]
    for group in range(4):
        mine = [key for key in order if key_group_of(key, 4) == group]
        assert [key for key in fired if key_group_of(key, 4) == group] == mine


def test_no_class_of_headrace_is_stored_by_its_module() -> None:
    _, backends = filled("paged", 2)
    modules = set()
    for group, backend in backends.items():
        for record in export_backend("o", backend, group):
            for data in record:
                if isinstance(data, bytes):
                    texts = [arg for _, arg, _ in pickletools.genops(data) if type(arg) is str]
                    modules |= {text for text in texts if text.startswith("headrace")}
    assert modules == {"headrace.common.types"}


def test_the_columns_are_those_of_the_records() -> None:
    assert schema_of("states").names == [*StateRecord._fields]
    assert schema_of("sinks").names == ["sink", "position", "held"]  # as older savepoints have it
    nullable = {field.name for field in schema_of("states") if field.nullable}
    assert nullable == {"namespace", "item", "stamp_ms"}
    record = StateRecord("o", "s", "list", "pickle", 3, b"k", None, 0, None, 17, b"x" * (9 << 20))
    batches = [*to_batches("states", [record] * 5)]
    assert len(batches) == 3
    assert [*from_batches("states", batches)] == [record] * 5


def test_a_record_that_is_missing_or_comes_twice_is_refused() -> None:
    backend = HeapBackend()
    backend.declare("seen", StateKind("list"))
    backend.declare("count", StateKind("value"))
    backend.enter("a").update(seen=[1, 2, 3], count=7)
    records = [*export_states("o", backend, 0)]
    assert [decode(record.value) for record in records] == [1, 2, 3, 7]
    for wrong, message in (
        ([records[0], records[2]], "position 2, not 1"),
        ([*records, records[3]], "occurs twice"),
        ([records[0]._replace(encoding="avro")], "encoding 'avro'"),
        ([records[0], records[1]._replace(kind="map")], "record of map state"),
    ):
        with pytest.raises(CheckpointError, match=message):
            import_backend(wrong, HeapBackend())


def test_a_big_list_is_imported_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.runtime.savepoint.read.FLUSH_BYTES", 1_000)
    program, backends = filled("paged", 1)
    expected = everything(program, backends)
    made = new("paged", 1)
    program.attach(made)
    import_backend(export_backend("o", backends[0], 0), made)
    assert everything(program, {0: made}) == expected
