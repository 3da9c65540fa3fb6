"""What every state backend must do; a backend's tests inherit ``StateBackendContract``."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import CheckpointError
from headrace.runtime.state.backend import MISSING, StateBackend, Timer
from headrace.runtime.state.handles import KeyContext, StateStore
from headrace.runtime.state.kinds import StateKind
from tests.effort import examples

from .state_walk import KEYS, LIST, MAP, SLOTS, STEPS, VALUE, Cart, Span, Walk, drain, plain

LIST_KIND, MAP_KIND = "list", "map"
KINDS = [
    StateKind("value"),
    StateKind("reducing"),
    StateKind("aggregating"),
    StateKind(LIST_KIND),
    StateKind(MAP_KIND),
    StateKind("value", expires=True),
    StateKind("value", {"type": "INT"}),
    StateKind("value", {"type": "STRING"}),
]


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
        backend.declare(LIST, StateKind("list"))
        backend.declare(MAP, StateKind("map"))
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
        items: dict[Any, Any] = {**dict(enumerate(expected)), "new": {"x"}}
        assert dict(entry[MAP].items()) == items
        assert entry[VALUE] == Cart([*map(str, range(size)), "new"])

    @pytest.mark.parametrize("size", [1, 3000])
    def test_cleared_entry_is_gone(self, size: int) -> None:
        backend = self.make()
        backend.declare(LIST, StateKind("list"))
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
        backend.declare(LIST, StateKind("list"))
        for slot in slots:
            backend.enter("a")[slot] = {} if slot == MAP else [*range(3000)]
        backend.changed("a")
        backend = self.next_call(backend)
        assert list(backend.enter("a")) == slots

    def test_a_value_moves_to_another_namespace(self) -> None:
        backend = self.make()
        backend.declare(LIST, StateKind("list"))
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
        backend.declare(LIST, StateKind("list"))
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
        max_examples=examples(20),
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

    def test_timers_are_scanned_in_the_order_of_firing(self) -> None:
        backend = self.make()
        for key in range(3000):
            backend.event_timers.register(Timer(key % 7, key))
        backend.event_timers.register(Timer(9, "namespaced", Span(0, 4)))
        backend = self.next_call(backend)
        timers = backend.event_timers
        for key in range(0, 3000, 3):
            timers.delete(Timer(key % 7, key))
            timers.register(Timer(3, f"late {key}"))
        found = [*timers.scan()]
        assert found == [*timers.scan()]
        assert [timer for _, timer in found] == drain(backend, 1 << 60)
        by_moment = sorted((timer.time_ms, order) for order, timer in found)
        assert by_moment == [(timer.time_ms, order) for order, timer in found]

    @pytest.mark.parametrize("before", KINDS, ids=str)
    @pytest.mark.parametrize("now", KINDS, ids=str)
    def test_a_state_keeps_its_kind(self, before: StateKind, now: StateKind) -> None:
        backend = self.make()
        backend.declare("s", before)
        backend.enter("a")["s"] = {LIST_KIND: [1], MAP_KIND: {1: 2}}.get(before.kind, 1)
        backend.changed("a")
        backend.flush()
        backend = self.reopen(backend)

        def use() -> None:
            backend.declare("s", now)
            backend.enter("a")

        untyped = before.type is None or now.type is None
        if before == now or (untyped and before[::2] == now[::2]):
            use()
        else:
            with pytest.raises(CheckpointError, match=f"{before}, and is {now} now"):
                use()

    def test_an_operators_own_states(self) -> None:
        """A list grows and a map changes in place; neither needs a handle."""
        task = KeyContext()
        states = StateStore(task, "own")
        states.declare("headrace.count")
        states.declare("headrace.seen", LIST_KIND, {"type": "STRING"})
        states.declare("headrace.last", MAP_KIND)
        backend = self.make()
        for turn in range(4):
            states.attach(backend)
            entry = backend.enter("a")
            entry["headrace.count"] = turn
            entry.setdefault("headrace.seen", []).extend(f"{turn}.{n}" for n in range(300))
            entry.setdefault("headrace.last", {}).update({n: turn for n in range(turn, 300)})
            backend.changed("a")
            backend.flush()
            backend = self.reopen(backend)
        states.attach(backend)
        assert backend.kinds() == {
            "headrace.count": StateKind("value"),
            "headrace.seen": StateKind(LIST_KIND, {"type": "STRING"}),
            "headrace.last": StateKind(MAP_KIND),
        }
        entry = backend.enter("a")
        assert entry["headrace.count"] == 3
        assert list(entry["headrace.seen"]) == [f"{t}.{n}" for t in range(4) for n in range(300)]
        assert dict(entry["headrace.last"].items()) == {n: min(n, 3) for n in range(300)}
        other = StateStore(KeyContext(), "own")
        other.declare("headrace.seen", LIST_KIND, {"type": "INT"})
        backend.flush()
        with pytest.raises(CheckpointError, match="stored as list of STRING"):
            other.attach(self.reopen(backend))
            other._context.entries.enter("a")

    def test_entries_of_namespaces_are_apart(self) -> None:
        backend = self.make()
        space = backend.in_namespaces
        space.declare(VALUE, SLOTS[VALUE])
        space.declare(LIST, SLOTS[LIST])
        pairs = [(key, end) for key in KEYS for end in (None, 10, Span(0, 10))]
        held = dict(zip(pairs, range(len(pairs)), strict=True))
        for pair, number in held.items():
            entry = space.enter(pair)
            entry[VALUE], entry[LIST] = number, [*range(number * 50)]
            space.changed(pair)
        backend.enter(("a", 10))[VALUE] = "of the key"
        backend.changed(("a", 10))
        backend = self.next_call(backend)
        assert [*backend.keys()] == [("a", 10)]
        assert backend.enter("a") == {}
        space = backend.in_namespaces
        found = [*space.keys()]
        assert len(found) == len(held)
        assert set(found) == held.keys()
        for pair, entry in space.scan():
            assert entry[VALUE] == held[pair]
            assert list(entry[LIST]) == [*range(held[pair] * 50)]
        for pair in held:
            space.enter(pair).clear()
            space.changed(pair)
        backend = self.next_call(backend)
        assert [*backend.in_namespaces.keys()] == []
        assert backend.enter(("a", 10)) == {VALUE: "of the key"}
        backend.enter(("a", 10)).clear()
        backend.changed(("a", 10))
        backend = self.next_call(backend)
        self.check_empty(backend)

    def test_its_size_is_the_number_of_all_entries_that_hold_something(self) -> None:
        backend = self.make()
        spaces = {
            "plain": backend,
            "namespaced": backend.in_namespaces,
            "table": backend.tables.table(Span(0, 10)),
        }
        backend.tables.declare(VALUE, SLOTS[VALUE])
        backend.in_namespaces.declare(VALUE, SLOTS[VALUE])
        for number, (name, space) in enumerate(spaces.items(), 1):
            for key in range(number + 1):
                pair = (key, 10) if name == "namespaced" else key
                space.enter(pair)[VALUE] = key
                if not key:
                    space.enter(pair).clear()
                space.changed(pair)
        assert self.next_call(backend).size().entries == 1 + 2 + 3

    @pytest.mark.parametrize("keys", [1, 700])
    def test_sums_per_key_and_window(self, keys: int) -> None:
        task = KeyContext()
        states = StateStore(task, "sums")
        windows = states.in_namespaces()
        total = windows.get_state(ValueStateDescriptor("total", Types.INT()))
        ends = range(10_000)
        backend = self.make()
        for _ in range(2):
            states.attach(backend)
            for end in ends:
                task.key = end % keys
                windows.enter(end)
                total.update((total.value() or 0) + end)
            backend.flush()
            backend = self.reopen(backend)
        states.attach(backend)
        assert len([*backend.in_namespaces.keys()]) == 10_000
        for end in ends:
            task.key = end % keys
            windows.enter(end)
            assert total.value() == end * 2
            assert windows.namespace == end
            windows.clear()
            assert total.value() is None
        backend.flush()
        backend = self.reopen(backend)
        assert [*backend.in_namespaces.keys()] == []
        self.check_empty(backend)

    @pytest.mark.parametrize("kind", [StateKind("value"), StateKind("list")], ids=str)
    @pytest.mark.parametrize("seed", range(4))
    def test_tables_of_namespaces(self, kind: StateKind, seed: int) -> None:
        rng = random.Random(seed)
        backend, held = self.make(), dict[Any, dict[Any, Any]]()
        spans = [Span(start, start + 10) for start in range(0, 50, 10)]
        many = 500 if seed == 3 else 20
        for _ in range(8):
            tables = backend.tables
            tables.declare("w", kind)
            assert set(tables.namespaces()) == held.keys() == {*filter(tables.has, spans)}
            for span in rng.sample(spans, 2):
                table = tables.table(span)
                for _ in range(rng.randrange(1, many)):
                    key = rng.choice([rng.choice(KEYS), f"key-{rng.randrange(many)}"])
                    mine = held.setdefault(span, {})
                    if kind.kind == LIST_KIND:
                        items = [rng.random() for _ in range(rng.choice([1] * 30 + [300]))]
                        mine.setdefault(key, []).extend(items)
                        table.enter(key).setdefault("w", []).extend(items)
                    else:
                        view = table.single_slot_view("w")
                        assert view is not None
                        assert (view[key] is MISSING) == (key not in mine)
                        mine[key] = rng.choice([rng.random(), None, ["a", "list"], "x" * 30_000])
                        view[key] = mine[key]
                    table.changed(key)
            for span in [*held]:
                if rng.random() < 0.5:
                    found = {k: v for k, v in tables.table(span).single_slot_items("w")}
                    assert {k: plain(v) for k, v in found.items()} == held[span]
                if rng.random() < 0.3:
                    tables.drop(span)
                    assert not tables.has(span)
                    del held[span]
            assert [*backend.keys()] == [] == [*backend.in_namespaces.keys()]
            backend.flush()
            backend = self.reopen(backend)
            found = {pair: plain(entry["w"]) for pair, entry in backend.tables.scan()}
            want = {(k, span): v for span, mine in held.items() for k, v in mine.items()}
            assert found == want
        for span in held:
            backend.tables.drop(span)
        backend.flush()
        backend = self.reopen(backend)
        assert backend.tables.namespaces() == []
        self.check_empty(backend)

    def test_tables_of_another_kind_are_refused(self) -> None:
        backend = self.make()
        backend.tables.declare("w", StateKind("value", {"type": "INT"}))
        view = backend.tables.table(1).single_slot_view("w")
        assert view is not None
        view["a"] = 1
        backend.tables.table(1).changed("a")
        backend.flush()
        backend = self.reopen(backend)
        assert backend.tables.kinds() == {"w": StateKind("value", {"type": "INT"})}
        with pytest.raises(CheckpointError, match="stored as value of INT"):
            backend.tables.declare("w", StateKind("list", {"type": "INT"}))

    def check_empty(self, backend: StateBackend) -> None:
        """Check a backend whose entries and timers were all removed and flushed."""
        assert list(backend.keys()) == []
        assert backend.event_timers.earliest_ms() is None
