"""Objects in state whose class has gained a field since they were stored."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from typing import Any

import pytest

from headrace.errors import CheckpointError
from headrace.runtime.failure import annotate
from headrace.runtime.state.fields import missing_fields
from headrace.runtime.state.kinds import StateKind
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages


@dataclass
class Order:
    """What it was when it was stored."""

    id: int


@dataclass
class WithFactory:
    id: int
    tags: list[str] = field(default_factory=list)


@dataclass
class Required:
    id: int
    venue: str


@dataclass(slots=True)
class WithSlots:
    id: int
    note: str = ""


@dataclass
class WithDefault:
    id: int
    note: str = ""


@dataclass
class Noted:
    id: int
    note: str = field(default_factory=str)


@dataclass
class SetsItself:
    id: int
    tags: list[str] = field(default_factory=list)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"tags": [], **state})


@dataclass
class FilledLater:
    id: int
    found: dict[str, int] = field(init=False)


def stored_as(kind: type, monkeypatch: pytest.MonkeyPatch, wrapped: Callable[[Any], Any]) -> Any:
    """What is read under another kind of class than it was stored with, from pages."""
    store = MemoryPages()
    for change in (True, False):
        backend = PagedBackend(store, 4)
        backend.owner = "book (uid=b)"
        backend.declare("orders", StateKind("value"))
        if change:
            backend.enter("ann")["orders"] = wrapped(Order(7))
            backend.changed("ann")
            backend.flush()
            monkeypatch.setattr(sys.modules[__name__], "Order", kind)
    return backend.enter("ann")["orders"]


def itself(value: Any) -> Any:
    return value


def written(part: Any, key_of: Any, *lists: list[Any]) -> MemoryPages:
    """Lists under keys of a part of a backend, each written by another call."""
    store = MemoryPages()
    for number, orders in enumerate(lists):
        backend = PagedBackend(store, 4)
        space = part(backend)
        space.declare("orders", StateKind("list"))
        entries = space.table("w") if space is backend.tables else space
        entries.enter(key_of(number))["orders"] = orders
        entries.changed(key_of(number))
        backend.flush()
    return store


def opened(store: MemoryPages) -> PagedBackend:
    """A backend whose header was read, as a task does before states are declared."""
    backend = PagedBackend(store, 4)
    backend.owner = "book (uid=b)"
    assert backend.header == {}
    return backend


@pytest.mark.parametrize(
    "wrapped",
    [itself, lambda v: [v], lambda v: (v, 5), lambda v: {"a": v}, lambda v: [(v, 5)]],
    ids=["value", "list", "with the time of its last use", "map", "list that expires"],
)
def test_a_field_with_a_factory_is_filled(
    monkeypatch: pytest.MonkeyPatch, wrapped: Callable[[Any], Any]
) -> None:
    found = stored_as(WithFactory, monkeypatch, wrapped)
    assert found == wrapped(WithFactory(7))


@pytest.mark.parametrize("wrapped", [itself, lambda v: [v], lambda v: {"a": v}])
def test_a_field_without_default_is_named(
    monkeypatch: pytest.MonkeyPatch, wrapped: Callable[[Any], Any]
) -> None:
    with pytest.raises(CheckpointError, match=r"Order\.venue is new, and has no default") as raised:
        stored_as(Required, monkeypatch, wrapped)
    assert "the state 'orders' of operator 'book (uid=b)'" in str(raised.value)
    assert "migrate()" in (raised.value.hint or "")


def test_it_is_refused_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    store = written(itself, itself, [Order(7)])
    monkeypatch.setattr(sys.modules[__name__], "Order", Required)
    backend = opened(store)
    with pytest.raises(CheckpointError) as raised:
        backend.declare("orders", StateKind("list"))
    assert str(raised.value).startswith(
        "the state 'orders' of operator 'book (uid=b)' has objects of an earlier version of their"
        " class\n  differences: Order.venue is new, and has no default"
    )
    # Nobody asks for the state: it is nobody's concern.
    opened(store).declare("other", StateKind("list"))


@pytest.mark.parametrize("space", ["keys", "namespaces", "tables"])
def test_so_is_state_of_namespaces(space: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def part(backend: PagedBackend) -> Any:
        namespaces = {"keys": backend, "namespaces": backend.in_namespaces}
        return namespaces.get(space, backend.tables)

    def key_of(key: Any) -> Any:
        return (key, "w") if space == "namespaces" else key

    store = written(part, key_of, [Order(7)])
    monkeypatch.setattr(sys.modules[__name__], "Order", Required)
    backend = opened(store)
    with pytest.raises(CheckpointError, match=r"Order\.venue is new, and has no default"):
        part(backend).declare("orders", StateKind("list"))


def test_what_is_not_the_newest_is_found_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    store = written(itself, itself, [Order(7), 5])
    monkeypatch.setattr(sys.modules[__name__], "Order", WithFactory)
    backend = PagedBackend(store, 4)
    backend.declare("orders", StateKind("list"))
    with pytest.raises(CheckpointError, match="before the class had the field 'tags'"):
        backend.enter(0)


def test_old_objects_are_converted_beside_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field came with a default, which became a factory: old objects still lack it."""
    module = sys.modules[__name__]
    store = written(itself, itself, [Order(7)])
    newer: Any = make_dataclass("Order", [("id", int), ("note", str, "")])
    newer.__module__ = __name__
    monkeypatch.setattr(module, "Order", newer)
    backend = PagedBackend(store, 4)
    backend.declare("orders", StateKind("list"))
    backend.enter(1)["orders"] = [newer(8)]
    backend.changed(1)
    backend.flush()
    monkeypatch.setattr(module, "Order", Noted)
    backend = opened(store)
    backend.declare("orders", StateKind("list"))
    assert [backend.enter(key)["orders"][0].note for key in (0, 1)] == ["", ""]
    assert vars(backend.enter(0)["orders"][0]) == {"id": 7, "note": ""}


def test_a_class_that_is_gone_is_no_concern_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    store = written(itself, itself, [Order(7)])
    monkeypatch.delattr(sys.modules[__name__], "Order")
    backend = opened(store)
    backend.declare("orders", StateKind("list"))
    assert backend.kinds() == {"orders": StateKind("list")}


@pytest.mark.parametrize("kind", [WithDefault, SetsItself, FilledLater])
def test_what_has_a_value_or_may_have_none_is_read(
    monkeypatch: pytest.MonkeyPatch, kind: type
) -> None:
    found: Any = stored_as(kind, monkeypatch, itself)
    assert type(found).__name__ == kind.__name__ and found.id == 7


def test_a_class_with_slots_lacks_its_new_field() -> None:
    made: Any = object.__new__(WithSlots)
    made.id = 7
    assert missing_fields(made) == ["note"]
    assert missing_fields(WithSlots(7)) == []
    assert missing_fields(pickle.loads(pickle.dumps(WithSlots(7)))) == []


def test_where_a_look_does_not_reach_the_error_has_a_hint() -> None:
    made: Any = object.__new__(WithFactory)
    made.id = 7
    with pytest.raises(AttributeError) as raised:
        made.tags.append("a")
    annotate(raised.value)
    assert raised.value.__notes__ == [
        "hint:     this WithFactory was stored before its class had the field 'tags': give it a"
        " plain default, or set it in __setstate__"
    ]


def test_another_attribute_error_has_none() -> None:
    with pytest.raises(AttributeError) as raised:
        WithFactory(7).nothing  # type: ignore[attr-defined]  # noqa: B018
    annotate(raised.value)
    assert not hasattr(raised.value, "__notes__")
