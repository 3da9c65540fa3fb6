"""Values that an earlier program stored are converted to what the program declares now."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.common.typeinfo import TypeInformation, Types
from headrace.common.types import Row
from headrace.datastream.formats.avro import AvroSchema, GenericRecordAvroTypeInfo
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from headrace.errors import CheckpointError, PlanError, TypeMismatchError
from headrace.operators.checkpointed import OperatorStateContext, _read_lists
from headrace.runtime.savepoint.read import StoredStates, import_backend
from headrace.runtime.savepoint.records import StateRecord
from headrace.runtime.savepoint.write import export_states
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.handles import KeyContext, StateStore
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.kinds import LIST, TIMES, VALUE, StateKind
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.runtime.state.time_buffer import TimeBuffer

MODULE = sys.modules[__name__]
KEYS = 40

Descriptor = ValueStateDescriptor | ListStateDescriptor | MapStateDescriptor


@dataclass
class Leg:
    price: int


@dataclass
class Order:
    """The class as it was when its objects were stored."""

    id: int
    quantity: int
    legs: list[Leg] = field(default_factory=list)


@dataclass
class MovedOn:
    """``quantity`` has the name that ``id`` had, which has another one."""

    number: int = field(metadata={"renamed_from": "id"})
    id: int = field(metadata={"renamed_from": "quantity"})


@dataclass
class RenamedOrder:
    id: int
    qty: int = field(metadata={"renamed_from": "quantity"})
    venue: str = "XOFF"
    tags: list[str] = field(default_factory=list)


@dataclass
class NamedByTheState:
    id: int
    qty: int


@dataclass(slots=True)
class Slots:
    id: int
    quantity: int


@dataclass(slots=True)
class OtherSlots:
    venue: str = "XOFF"
    id: int = 0


@dataclass(frozen=True, slots=True)
class Frozen:
    id: int
    quantity: int


@dataclass(frozen=True, slots=True)
class OtherFrozen:
    venue: str = field(default="XOFF", kw_only=True)
    qty: int = field(metadata={"renamed_from": "quantity"})
    id: int


@dataclass
class Plain:
    id: int
    quantity: int


@dataclass(frozen=True)
class FrozenPlain:
    id: int
    quantity: int


@dataclass
class NeedsVenue:
    id: int
    venue: str


class Sized(TypeInformation):
    """A type that a program has made itself."""

    def __init__(self, size: int) -> None:
        self._size = size

    def _arguments(self) -> tuple[Any, ...]:
        return (self._size,)

    def __str__(self) -> str:
        return f"Sized of {self._size}"

    def coercer(self) -> None:
        return None


class Pages:
    """State as one program after another sees it: in small pages, or on the heap by savepoints."""

    def __init__(self, paged: bool) -> None:
        self.store = MemoryPages() if paged else None
        self.records: list[StateRecord] = []
        self.states = StoredStates()

    def backend(self) -> StateBackend:
        if self.store is not None:
            return PagedBackend(self.store, 4, 200)
        backend = HeapBackend()
        import_backend(self.records, backend, self.states)
        return backend

    def save(self, backend: StateBackend) -> None:
        backend.flush()
        if self.store is None:
            self.records = [*export_states("o", backend, 0)]
            self.states = StoredStates.of(backend)

    def open(self, descriptor: StateDescriptor) -> tuple[StateBackend, KeyContext, Any]:
        context = KeyContext()
        states = StateStore(context, "book (uid=b)")
        handle = states.of(descriptor)
        backend = self.backend()
        states.attach(backend)
        backend.evolve()
        return backend, context, handle


ReplaceClass = Callable[[str, type], None]


@pytest.fixture
def replace_class() -> Iterator[ReplaceClass]:
    """Puts another version of a class in the place of a class of this module."""
    before: list[tuple[str, type, type, str]] = []

    def replace(name: str, now: type) -> None:
        before.append((name, getattr(MODULE, name), now, now.__qualname__))
        setattr(MODULE, name, now)
        now.__qualname__ = name

    yield replace
    for name, cls, now, qualname in reversed(before):
        now.__qualname__ = qualname
        setattr(MODULE, name, cls)


@pytest.fixture(params=[True, False], ids=["pages", "heap"])
def pages(request: pytest.FixtureRequest) -> Pages:
    return Pages(request.param)


def put(pages: Pages, descriptor: Descriptor, value_of: Callable[[int], Any]) -> None:
    backend, context, handle = pages.open(descriptor)
    for key in range(KEYS):
        context.enter(key)
        value = value_of(key)
        if isinstance(descriptor, MapStateDescriptor):
            handle.put_all(value)
        else:
            handle.update(value)
    pages.save(backend)


def get(pages: Pages, descriptor: Descriptor) -> dict[int, Any]:
    backend, context, handle = pages.open(descriptor)
    found = {}
    for key in range(KEYS):
        context.enter(key)
        if isinstance(descriptor, ValueStateDescriptor):
            found[key] = handle.value()
        elif isinstance(descriptor, ListStateDescriptor):
            found[key] = [*handle.get()]
        else:
            found[key] = dict(handle.items())
    pages.save(backend)
    return found


def value(declared: TypeInformation | None = None) -> ValueStateDescriptor:
    return ValueStateDescriptor("s", declared)


def test_fields_of_a_dataclass_come_go_and_are_renamed(
    pages: Pages, replace_class: ReplaceClass
) -> None:
    put(pages, value(), lambda key: Order(key, 10 * key, [Leg(key)]))
    replace_class("Order", RenamedOrder)
    for _ in range(2):  # the second time everything is converted already
        found = get(pages, value())
        assert found == {key: RenamedOrder(key, 10 * key) for key in range(KEYS)}
        assert vars(found[3]) == {"id": 3, "qty": 30, "venue": "XOFF", "tags": []}
    assert found[3].tags is not found[4].tags


def test_a_field_takes_the_name_of_another_one(pages: Pages, replace_class: ReplaceClass) -> None:
    put(pages, value(), lambda key: Order(key, 10 * key))
    replace_class("Order", MovedOn)
    for _ in range(2):
        assert get(pages, value()) == {key: MovedOn(key, 10 * key) for key in range(KEYS)}


def test_a_field_of_a_row_takes_the_name_of_another_one(pages: Pages) -> None:
    two, three = [Types.LONG()] * 2, [Types.LONG()] * 3
    put(pages, value(Types.ROW_NAMED(["a", "b"], two)), lambda key: Row(a=key, b=10 * key))
    now = value(Types.ROW_NAMED(["b", "c"], two))
    now.evolve(renamed={"a": "b", "b": "c"})
    for _ in range(2):
        assert get(pages, now) == {key: Row(b=key, c=10 * key) for key in range(KEYS)}
    later = value(Types.ROW_NAMED(["b", "c", "d"], three))
    later.evolve(renamed={"a": "b", "b": "c", "c": "d"}, defaults={"b": -1})
    expected = {key: Row(b=-1, c=key, d=10 * key) for key in range(KEYS)}
    assert get(pages, later) == expected


@pytest.mark.parametrize(
    ("kind", "default", "expected"),
    [
        (Types.BYTE(), 300, None),
        (Types.INT(), "x", None),
        (Types.STRING(), 1, None),
        (Types.DOUBLE(), 1, 1.0),
        (Types.INT(), None, None),
        (Types.PICKLED_BYTE_ARRAY(), {1}, {1}),
    ],
)
def test_a_default_has_the_declared_type(
    pages: Pages, kind: TypeInformation, default: Any, expected: Any
) -> None:
    put(pages, value(Types.ROW_NAMED(["a"], [Types.LONG()])), lambda key: Row(a=key))
    now = value(Types.ROW_NAMED(["a", "new"], [Types.LONG(), kind]))
    now.evolve(defaults={"new": default})
    if expected is None and default is not None:
        with pytest.raises(CheckpointError, match="new is new, and its default does not fit"):
            get(pages, now)
    else:
        found = get(pages, now)[3].new
        assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize("names", [["a", "b"], ["b", "a"]])
def test_a_name_that_is_there_is_not_taken(pages: Pages, names: list[str]) -> None:
    """Values of a program with the renaming, and a new field "a", would look the same."""
    stored = Types.ROW_NAMED(names, [Types.LONG()] * 2)
    put(pages, value(stored), lambda key: Row(**{name: key * (name == "b") for name in names}))
    now = value(Types.ROW_NAMED(["b"], [Types.LONG()]))
    now.evolve(renamed={"a": "b"})
    assert difference(pages, now) == "b was a earlier, and the stored values have both names"
    both = value(Types.ROW_NAMED([*reversed(names), "c"], [Types.LONG()] * 3))
    both.evolve(renamed={"a": "b"}, defaults={"c": 0})  # "a" came again, after the renaming
    assert get(pages, both)[3].as_dict() == {"a": 0, "b": 3, "c": 0}
    assert get(pages, value(now.type_info))[3] == Row(b=3)


def difference(pages: Pages, descriptor: Descriptor) -> str:
    """Read a state that is refused; return the difference that the error names."""
    with pytest.raises(CheckpointError) as refused:
        get(pages, descriptor)
    return str(refused.value.where["differences"])


@dataclass
class Swapped:
    id: int = field(metadata={"renamed_from": "quantity"})
    quantity: int = field(metadata={"renamed_from": "id"})


@dataclass(slots=True)
class SwappedSlots:
    quantity: int = field(metadata={"renamed_from": "id"})
    id: int = field(metadata={"renamed_from": "quantity"})


@dataclass(frozen=True, slots=True)
class SwappedFrozen:
    id: int = field(metadata={"renamed_from": "quantity"})
    quantity: int = field(metadata={"renamed_from": "id"})


@pytest.mark.parametrize(
    ("before", "now"), [(Order, Swapped), (Slots, SwappedSlots), (Frozen, SwappedFrozen)]
)
def test_fields_that_exchange_their_names_are_refused(
    pages: Pages, replace_class: ReplaceClass, before: type, now: type
) -> None:
    """The same fields are stored before and after the exchange; a migration is done once."""
    name = before.__name__
    put(pages, value(), lambda key: before(key, 10 * key))
    replace_class(name, now)
    found = difference(pages, value())
    assert f"{name}.id was quantity earlier, and the stored values have both names" in found
    assert f"{name}.quantity was id earlier" in found
    replace_class(name, before)
    exchanged = value()
    exchanged.migrate(lambda old: before(old.quantity, old.id))
    for _ in range(2):
        found = get(pages, exchanged)
        assert {key: (one.id, one.quantity) for key, one in found.items()} == {
            key: (10 * key, key) for key in range(KEYS)
        }


def test_fields_of_a_class_and_of_its_state_that_exchange_their_names_are_refused(
    pages: Pages, replace_class: ReplaceClass
) -> None:
    @dataclass
    class Half:
        id: int
        quantity: int = field(metadata={"renamed_from": "id"})

    put(pages, value(), lambda key: Order(key, 10 * key))
    replace_class("Order", Half)
    now = value()
    now.evolve(renamed={"quantity": "id"})
    assert "Order.id was quantity earlier" in difference(pages, now)


def test_three_fields_in_a_circle_are_refused(pages: Pages, replace_class: ReplaceClass) -> None:
    @dataclass
    class Circle:
        id: int = field(metadata={"renamed_from": "legs"})
        quantity: int = field(metadata={"renamed_from": "id"})
        legs: int = field(metadata={"renamed_from": "quantity"})

    put(pages, value(), lambda key: Order(key, 10 * key))
    replace_class("Order", Circle)
    assert difference(pages, value()).count("Order.") == 3


def test_a_name_of_a_field_that_is_gone_is_not_taken(
    pages: Pages, replace_class: ReplaceClass
) -> None:
    @dataclass
    class Reused:
        quantity: int = field(metadata={"renamed_from": "id"})

    put(pages, value(), lambda key: Order(key, 10 * key))
    replace_class("Order", Reused)
    found = difference(pages, value())
    assert found == "Order.quantity was id earlier, and the stored values have both names"


def test_objects_in_objects_that_exchange_their_names_are_refused(
    pages: Pages, replace_class: ReplaceClass
) -> None:
    put(pages, value(), lambda key: Order(key, 0, [Order(1, key)]))  # type: ignore[list-item]
    put(pages, ListStateDescriptor("l"), lambda key: [Box(Slots(key, 1))])
    replace_class("Slots", SwappedSlots)
    get(pages, value())  # it has no object of the class
    assert "Slots.quantity was id earlier" in difference(pages, ListStateDescriptor("l"))


@dataclass
class Box:
    content: Any


class Market:
    @dataclass
    class Quote:
        bid: int
        ask: int


def test_a_class_in_a_class_is_converted_or_refused(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass
    class Renamed:
        low: int = field(metadata={"renamed_from": "bid"})
        ask: int

    @dataclass
    class Exchanged:
        low: int = field(metadata={"renamed_from": "ask"})
        ask: int = field(metadata={"renamed_from": "low"})

    for now in (Renamed, Exchanged):
        now.__qualname__ = "Market.Quote"
    put(pages, value(), lambda key: Box(Market.Quote(key, 10 * key)))
    monkeypatch.setattr(Market, "Quote", Renamed)
    for _ in range(2):
        found = get(pages, value())
        assert found == {key: Box(Renamed(key, 10 * key)) for key in range(KEYS)}
    monkeypatch.setattr(Market, "Quote", Exchanged)
    assert "Market.Quote.low was ask earlier" in difference(pages, value())


def test_a_field_that_was_renamed_twice_is_found(pages: Pages, replace_class: ReplaceClass) -> None:
    """The program between the two was never run on this state."""

    @dataclass
    class Twice:
        id: int
        amount: int = field(metadata={"renamed_from": "qty"})

    put(pages, value(), lambda key: Order(key, 10 * key))
    replace_class("Order", Twice)
    now = value()
    now.evolve(renamed={"quantity": "qty"})
    for _ in range(2):
        assert get(pages, now) == {key: Twice(key, 10 * key) for key in range(KEYS)}


def test_a_field_of_a_row_that_was_renamed_twice_is_found(pages: Pages) -> None:
    put(pages, value(Types.ROW_NAMED(["a"], [Types.LONG()])), lambda key: Row(a=key))
    now = value(Types.ROW_NAMED(["c"], [Types.LONG()]))
    now.evolve(renamed={"a": "b", "b": "c"})
    for _ in range(2):
        assert get(pages, now) == {key: Row(c=key) for key in range(KEYS)}
    both = value(Types.ROW_NAMED(["b", "c"], [Types.LONG()] * 2))
    both.evolve(renamed={"a": "b", "b": "c"}, defaults={"b": 0})
    assert get(pages, both)[4] == Row(b=0, c=4)


def test_the_state_may_name_the_fields(pages: Pages, replace_class: ReplaceClass) -> None:
    put(pages, value(), lambda key: Order(key, 10 * key))
    replace_class("Order", NamedByTheState)
    with pytest.raises(CheckpointError, match=r"Order\.qty is new, and has no default"):
        get(pages, value())
    evolved = value()
    evolved.evolve(renamed={"quantity": "qty"})
    assert get(pages, evolved) == {key: NamedByTheState(key, 10 * key) for key in range(KEYS)}


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (Slots, OtherSlots, lambda key: OtherSlots("XOFF", key)),
        (Frozen, OtherFrozen, lambda key: OtherFrozen(10 * key, key)),
    ],
)
def test_classes_with_slots(
    pages: Pages,
    replace_class: ReplaceClass,
    before: type,
    now: type,
    expected: Callable[[int], Any],
) -> None:
    """Objects of a frozen one are pickled by position, so their fields are known from elsewhere."""
    put(pages, value(), lambda key: before(key, 10 * key))
    replace_class(before.__name__, now)
    assert get(pages, value()) == {key: expected(key) for key in range(KEYS)}
    assert get(pages, value()) == {key: expected(key) for key in range(KEYS)}


def test_a_frozen_class_is_converted(pages: Pages, replace_class: ReplaceClass) -> None:
    """Objects that nobody can change lie in their page as they are."""

    @dataclass(frozen=True)
    class Renamed:
        id: int
        qty: int = field(metadata={"renamed_from": "quantity"})
        tags: tuple[str, ...] = field(default_factory=tuple)

    first = FrozenPlain
    maps = MapStateDescriptor("m")
    put(pages, value(), lambda key: first(key, 10 * key))
    put(pages, maps, lambda key: {n: first(n, key) for n in range(3 if key else 400)})
    replace_class("FrozenPlain", Renamed)
    for _ in range(2):
        found = get(pages, value())
        assert {key: vars(one) for key, one in found.items()} == {
            key: {"id": key, "qty": 10 * key, "tags": ()} for key in range(KEYS)
        }
        in_maps = get(pages, maps)
        assert in_maps[3] == {n: Renamed(n, 3) for n in range(3)}
        assert vars(in_maps[0][399]) == {"id": 399, "qty": 0, "tags": ()}


@pytest.mark.parametrize("now", [Plain, Slots, FrozenPlain, Frozen])
@pytest.mark.parametrize("before", [Plain, Slots, FrozenPlain, Frozen])
def test_a_class_becomes_frozen_or_gets_slots(
    pages: Pages, replace_class: ReplaceClass, before: type, now: type
) -> None:
    """Each kind of class is pickled in another form, and frozen ones with slots take any."""
    put(pages, value(), lambda key: before(key, 10 * key))
    put(pages, ListStateDescriptor("l"), lambda key: [Box(before(n, key)) for n in range(3)])
    if before is not now:
        replace_class(before.__name__, now)
    for _ in range(2):
        assert get(pages, value()) == {key: now(key, 10 * key) for key in range(KEYS)}
    found = get(pages, ListStateDescriptor("l"))
    assert found == {key: [Box(now(n, key)) for n in range(3)] for key in range(KEYS)}


def test_objects_in_objects_are_converted(pages: Pages, replace_class: ReplaceClass) -> None:
    @dataclass
    class NewLeg:
        amount: int = field(metadata={"renamed_from": "price"})

    put(pages, value(), lambda key: Order(key, 0, [Leg(7), Leg(key)]))
    replace_class("Leg", NewLeg)
    found = get(pages, value())
    assert [leg.amount for leg in found[5].legs] == [7, 5]


@pytest.mark.parametrize("length", [3, 400], ids=["in its page", "in records of its own"])
def test_elements_and_values_of_maps(
    pages: Pages, replace_class: ReplaceClass, length: int
) -> None:
    lists, maps = ListStateDescriptor("s"), MapStateDescriptor("m")
    put(pages, lists, lambda key: [Order(key, n) for n in range(length)])
    put(pages, maps, lambda key: {n: Order(key, n) for n in range(length)})
    replace_class("Order", RenamedOrder)
    expected = {key: [RenamedOrder(key, n) for n in range(length)] for key in range(KEYS)}
    assert get(pages, lists) == expected
    assert get(pages, lists) == expected
    found = get(pages, maps)
    assert found == {key: dict(enumerate(orders)) for key, orders in expected.items()}


@pytest.mark.parametrize("length", [3, 400])
def test_records_by_time(replace_class: ReplaceClass, length: int) -> None:
    store = MemoryPages()
    for change in (True, False, False):
        backend = PagedBackend(store, 4, 200)
        backend.declare("left", StateKind(TIMES))
        if change:
            backend.enter("a")["left"] = TimeBuffer(
                [*range(length)], [Order(n, n) for n in range(length)]
            )
            backend.changed("a")
            backend.flush()
            replace_class("Order", RenamedOrder)
        else:
            found = [*backend.enter("a")["left"]]
            assert found == [(n, RenamedOrder(n, n)) for n in range(length)]
            backend.flush()


def test_lists_of_instances(replace_class: ReplaceClass) -> None:
    """They are read before the function asks for them, and stay as they were stored until then."""
    store = MemoryPages()
    backend = PagedBackend(store, 4, 200)
    backend.declare("held", StateKind(VALUE))
    for position in range(3):
        backend.enter(("held", 0, position, 1))["held"] = Frozen(position, 10 * position)
        backend.changed(("held", 0, position, 1))
    backend.flush()
    replace_class("Frozen", OtherFrozen)
    backend = PagedBackend(store, 4, 200)
    lists, _ = _read_lists(backend)
    states = OperatorStateContext(lists, True, None, {}, StoredStates.of(backend))  # type: ignore[arg-type]
    found = states.get_list_state(ListStateDescriptor("held"))
    assert [*found.get()] == [OtherFrozen(10 * n, n) for n in range(3)]


@pytest.mark.parametrize("space", ["namespaces", "tables"])
def test_state_of_namespaces(replace_class: ReplaceClass, space: str) -> None:
    """All tables share one list of what was stored, so they are converted together."""
    store = MemoryPages()

    def opened() -> tuple[PagedBackend, Callable[[str], Any]]:
        backend = PagedBackend(store, 4, 200)
        if space == "tables":
            backend.tables.declare("s", StateKind(LIST))
            return backend, lambda window: (backend.tables.table(window), "ann")
        backend.in_namespaces.declare("s", StateKind(LIST))
        return backend, lambda window: (backend.in_namespaces, ("ann", window))

    backend, place = opened()
    for window in ("w1", "w2"):
        table, key = place(window)
        table.enter(key)["s"] = [Order(1, 10)]
        table.changed(key)
    backend.flush()
    replace_class("Order", RenamedOrder)
    for windows in (("w1", "w3"), ("w1", "w2", "w3")):
        backend, place = opened()
        for window in windows:
            table, key = place(window)
            if window == "w3":
                table.enter(key)["s"] = [RenamedOrder(1, 10)]
                table.changed(key)
            else:
                assert table.enter(key)["s"] == [RenamedOrder(1, 10)]
        backend.flush()


ROW = Types.ROW_NAMED(["id", "quantity"], [Types.INT(), Types.INT()])
NEW_ROW = Types.ROW_NAMED(["venue", "qty", "id"], [Types.STRING(), Types.DOUBLE(), Types.LONG()])


def test_a_row_gets_loses_and_renames_fields_which_may_become_wider(pages: Pages) -> None:
    put(pages, value(ROW), lambda key: Row(id=key, quantity=10 * key))
    now = value(NEW_ROW)
    with pytest.raises(CheckpointError) as refused:
        get(pages, now)
    assert "differences: venue is new: no default; qty is new: no default" in str(refused.value)
    now.evolve(renamed={"quantity": "qty"}, defaults={"venue": "XOFF"})
    expected = {key: Row(venue="XOFF", qty=10.0 * key, id=key) for key in range(KEYS)}
    for _ in range(2):
        found = get(pages, now)
        assert found == expected and type(found[1].qty) is float
    assert get(pages, value(Types.ROW_NAMED(["id"], [Types.LONG()])))[7] == Row(id=7)


@pytest.mark.parametrize(
    ("before", "now", "stored", "expected"),
    [
        (Types.INT(), Types.DOUBLE(), 3, 3.0),
        (Types.INT(), Types.BIG_DEC(), 3, Decimal(3)),
        (Types.FLOAT(), Types.DOUBLE(), 0.5, 0.5),
        (Types.TUPLE([Types.INT(), ROW]), Types.TUPLE([Types.LONG(), ROW]), (1, Row(1, 2)), None),
        (Types.TUPLE([Types.INT()]), Types.TUPLE([Types.DOUBLE()]), (1,), (1.0,)),
        (
            Types.MAP(Types.STRING(), Types.LIST(Types.INT())),
            Types.MAP(Types.STRING(), Types.LIST(Types.DOUBLE())),
            {"a": [1, 2]},
            {"a": [1.0, 2.0]},
        ),
    ],
    ids=str,
)
def test_wider_types(
    pages: Pages, before: TypeInformation, now: TypeInformation, stored: Any, expected: Any
) -> None:
    put(pages, value(before), lambda _: stored)
    unchanged = get(pages, value(before))[0]
    found = get(pages, value(now))[0]
    assert repr(found) == repr(unchanged if expected is None else expected)


@pytest.mark.parametrize(
    ("before", "now", "difference"),
    [
        (Types.LONG(), Types.INT(), "was LONG, is INT now"),
        (Types.LONG(), Types.DOUBLE(), "was LONG, is DOUBLE now"),
        (
            Types.MAP(Types.INT(), Types.INT()),
            Types.MAP(Types.STRING(), Types.INT()),
            "key was INT, is STRING now",
        ),
        (
            Types.LIST(Types.ROW_NAMED(["a"], [Types.ROW_NAMED(["b"], [Types.LONG()])])),
            Types.LIST(Types.ROW_NAMED(["a"], [Types.ROW_NAMED(["b"], [Types.STRING()])])),
            "[].a.b was LONG, is STRING now",
        ),
    ],
    ids=str,
)
def test_others_are_refused_with_their_path(
    pages: Pages, before: TypeInformation, now: TypeInformation, difference: str
) -> None:
    backend, context, handle = pages.open(value(before))
    context.enter(0)
    handle.update({"MAP": {1: 1}, "LIST": [Row(a=Row(b=1))]}.get(before.to_data()["type"], 1))
    pages.save(backend)
    with pytest.raises(CheckpointError) as refused:
        pages.open(value(now))[1].enter(0)
    assert f"differences: {difference}\n" in str(refused.value)


def avro(*fields: tuple[str, Any, Any], name: str = "Order") -> GenericRecordAvroTypeInfo:
    """The type of records with fields: name, type, and default or alias."""
    described = [{"name": name, "type": kind, **more} for name, kind, more in fields]
    schema = {"type": "record", "name": name, "fields": described}
    return GenericRecordAvroTypeInfo(AvroSchema(json.dumps(schema)))


AVRO = avro(("id", "int", {}), ("quantity", "int", {}), ("note", "string", {}))


@pytest.mark.parametrize("inside", [lambda of: of, Types.LIST], ids=["record", "list"])
def test_avro_records_follow_their_schema(
    pages: Pages, inside: Callable[[TypeInformation], TypeInformation]
) -> None:
    """By Avro's own rules: fields come with defaults, go, get wider, and have aliases."""

    def form(record: dict[str, Any]) -> Any:
        return [record, record] if inside is Types.LIST else record

    put(
        pages,
        value(inside(AVRO)),
        lambda key: form({"id": key, "quantity": 10 * key, "note": "n"}),
    )
    wider = avro(
        ("venue", ["null", "string"], {"default": None}),
        ("id", "long", {}),
        ("qty", "double", {"aliases": ["quantity"]}),
        ("tags", {"type": "array", "items": "string"}, {"default": ["a"]}),
        name="RenamedOrder",
    )
    expected = {
        key: form({"venue": None, "id": key, "qty": 10.0 * key, "tags": ["a"]})
        for key in range(KEYS)
    }
    for _ in range(2):
        assert get(pages, value(inside(wider))) == expected
    narrower = avro(("id", "int", {}), ("venue", "string", {}))
    with pytest.raises(CheckpointError) as refused:
        get(pages, value(inside(narrower)))
    said = str(refused.value)
    assert "differences: " in said and "long" in said and "int" in said


def test_a_type_of_the_programs_own_that_has_changed_is_refused(pages: Pages) -> None:
    put(pages, value(Sized(1)), lambda key: key)
    assert get(pages, value(Sized(1)))[3] == 3
    with pytest.raises(CheckpointError, match="was Sized of 1, is Sized of 2 now"):
        get(pages, value(Sized(2)))


def test_a_migration_takes_every_value_once(pages: Pages) -> None:
    calls: list[Any] = []

    def to_text(old: Any) -> Any:
        calls.append(old)
        return None if old == 5 else f"{old} EUR"

    put(pages, value(Types.INT()), lambda key: key)
    first = value(Types.STRING())
    first.migrate(to_text)
    for _ in range(2):
        found = get(pages, first)
        assert found == {key: None if key == 5 else f"{key} EUR" for key in range(KEYS)}
    assert sorted(calls) == [*range(KEYS)]
    second = value(Types.TUPLE([Types.STRING(), Types.INT()]))
    second.migrate(to_text)
    second.migrate(lambda text: (text, len(text)), version=2)
    assert get(pages, second)[7] == ("7 EUR", 5)
    assert len(calls) == KEYS
    with pytest.raises(
        CheckpointError, match="were migrated to version 2, and the program knows 1"
    ):
        get(pages, first)


def test_a_migration_runs_through_all_versions(pages: Pages) -> None:
    put(pages, value(), lambda key: key)
    now = value()
    now.migrate(lambda old: old + 1)
    now.migrate(lambda old: old * 10, version=3)
    assert get(pages, now)[4] == 50


def test_a_migration_gets_the_fields_of_a_class_that_has_changed(
    pages: Pages, replace_class: ReplaceClass
) -> None:
    put(pages, value(), lambda key: Order(key, 2, [Leg(key)]))
    replace_class("Order", NeedsVenue)
    old: list[Any] = []

    def migrate(stored: Any) -> NeedsVenue:
        old.append(stored)
        return NeedsVenue(stored.id, f"{stored.quantity}")

    now = value()
    now.migrate(migrate)
    assert get(pages, now)[3] == NeedsVenue(3, "2")
    assert {*map(type, old)} == {SimpleNamespace} and {type(each.legs[0]) for each in old} == {Leg}


def test_a_migration_of_another_type_is_an_error(pages: Pages) -> None:
    put(pages, value(Types.INT()), lambda key: key)
    now = value(Types.STRING())
    now.migrate(lambda old: old)
    with pytest.raises(TypeMismatchError) as raised:
        get(pages, now)
    assert raised.value.__notes__ == ["a value that migrate() returned, of state 's'"]
    now = value(Types.STRING())
    now.migrate(lambda old: str(1 // old))
    with pytest.raises(ZeroDivisionError) as failed:
        get(pages, now)
    assert failed.value.__notes__ == ["raised by the function of migrate(), of state 's'"]


def test_a_program_from_before_goes_on_with_what_it_knows(
    pages: Pages, replace_class: ReplaceClass
) -> None:
    """Back and forth: a field that is lost is lost, the others are kept."""
    before = Order
    put(pages, value(), lambda key: Order(key, 10 * key, [Leg(1)]))
    replace_class("Order", RenamedOrder)
    get(pages, value())

    @dataclass
    class Back:
        id: int
        quantity: int = field(metadata={"renamed_from": "qty"})
        legs: list[Leg] = field(default_factory=list)

    replace_class("Order", Back)
    assert vars(get(pages, value())[4]) == {"id": 4, "quantity": 40, "legs": []}
    replace_class("Order", before)
    assert get(pages, value())[4] == before(4, 40)


def test_random_rows_and_changes() -> None:
    """Against a model: fields by name; types become wider, fields come, go and are renamed."""
    seed = random.SystemRandom().randrange(1 << 32)
    draw = random.Random(seed)
    for _ in range(150):
        pages = Pages(draw.random() < 0.5)
        wider = {"INT": Types.LONG(), "LONG": Types.BIG_INT(), "BIG_INT": Types.BIG_DEC()}
        fields: dict[str, TypeInformation] = {
            f"f{n}": draw.choice([Types.INT(), Types.STRING()]) for n in range(draw.randint(1, 5))
        }
        model = {
            key: {n: key if str(t) == "INT" else f"{key}" for n, t in fields.items()}
            for key in range(KEYS)
        }
        row = Types.ROW_NAMED([*fields], [*fields.values()])
        put(pages, value(row), lambda key, model=model: Row(**model[key]))
        for step in range(draw.randint(1, 3)):
            renamed, defaults, changed = {}, {}, {}
            for name, kind in draw.sample([*fields.items()], len(fields)):
                if draw.random() < 0.2:
                    continue
                new = f"{name}x{step}" if draw.random() < 0.3 else name
                if new != name:
                    renamed[name] = new
                changed[new] = wider.get(str(kind), kind) if draw.random() < 0.5 else kind
            if not changed or draw.random() < 0.3:
                defaults[f"d{step}"] = draw.choice([None, "x"])
                changed[f"d{step}"] = Types.STRING()
            back = {new: old for old, new in renamed.items()}
            model = {
                key: {n: defaults[n] if n in defaults else old[back.get(n, n)] for n in changed}
                for key, old in model.items()
            }
            fields = changed
            now = value(Types.ROW_NAMED([*fields], [*fields.values()]))
            now.evolve(renamed, defaults)
            found = {key: row.as_dict() for key, row in get(pages, now).items()}
            assert found == model, f"seed {seed}"


def test_what_a_descriptor_is_told_is_checked() -> None:
    state = value()
    with pytest.raises(PlanError, match="two fields are renamed to the same name"):
        state.evolve(renamed={"a": "c", "b": "c"})
    with pytest.raises(PlanError, match="fields exchange their names"):
        state.evolve(renamed={"c": "d", "a": "b", "b": "a"})
    state.evolve(renamed={"a": "b", "b": "c"})
    with pytest.raises(PlanError, match="expected the name of a field, not 1"):
        state.evolve(defaults={1: 2})  # type: ignore[dict-item]
    with pytest.raises(PlanError, match="expected a function"):
        state.migrate("old")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="0 is not above version 0"):
        state.migrate(str, version=0)
    state.migrate(str)
    with pytest.raises(PlanError, match="1 is not above version 1"):
        state.migrate(str, version=1)
    assert value(Types.INT()).kind == VALUE


def test_a_class_that_is_gone_is_named(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    put(pages, value(), lambda key: Order(key, 10 * key))
    monkeypatch.delattr(MODULE, "Order")
    with pytest.raises(
        CheckpointError, match=r"objects that cannot be read: AttributeError: .*Order"
    ):
        get(pages, value())
