"""A state is read as what it was stored as, or refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from headrace.errors import CheckpointError
from headrace.runtime.state.evolution import change_of
from headrace.runtime.state.handles import KeyContext, StateStore
from headrace.runtime.state.kinds import StateKind
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages

INT, LONG, STRING, ANY = Types.INT(), Types.LONG(), Types.STRING(), Types.PICKLED_BYTE_ARRAY()


class Money(TypeInformation):
    """A type that a program has written."""

    def __init__(self, currency: str) -> None:
        self.currency = currency

    def _arguments(self) -> tuple[Any, ...]:
        return (self.currency,)

    def __str__(self) -> str:
        return f"Money {self.currency}"

    def coercer(self) -> Any:
        return None


ASK: dict[str, Callable[[StateStore], Any]] = {
    "list of LIST<INT>": lambda states: states.get_list_state(
        ListStateDescriptor("seen", Types.INT())
    ),
    "list of LIST<STRING>": lambda states: states.get_list_state(
        ListStateDescriptor("seen", Types.STRING())
    ),
    "map of MAP<INT, INT>": lambda states: states.get_map_state(
        MapStateDescriptor("seen", Types.INT(), Types.INT())
    ),
    "value of INT": lambda states: states.get_state(ValueStateDescriptor("seen", Types.INT())),
    "reducing of INT": lambda states: states.get_reducing_state(
        ReducingStateDescriptor("seen", lambda first, second: first + second, Types.INT())
    ),
}


@pytest.mark.parametrize("before", ["list of LIST<INT>", "value of INT"])
@pytest.mark.parametrize("now", ASK)
@pytest.mark.parametrize("late", [False, True], ids=["asked for in open", "asked for late"])
def test_a_state_that_changed_is_refused(before: str, now: str, late: bool) -> None:
    store = MemoryPages()
    states = StateStore(KeyContext(), "clicks")
    seen = ASK[before](states)
    states.attach(PagedBackend(store, 4))
    states._context.enter("ann")
    seen.add(1) if hasattr(seen, "add") else seen.update(1)
    states._context.backend.flush()

    def another_program() -> None:
        states = StateStore(KeyContext(), "clicks")
        backend = PagedBackend(store, 4)
        assert backend.header == {}  # a task reads it before the states are declared
        if late:
            states.attach(backend)
        ASK[now](states)
        states.attach(backend)

    if now == before:
        another_program()
        return
    with pytest.raises(CheckpointError) as refused:
        another_program()
    message = str(refused.value)
    assert f"'seen' of operator 'clicks' was stored as {before} " in message
    assert f"is {now} " in message


def test_state_of_another_format_is_refused() -> None:
    store = MemoryPages()
    backend = PagedBackend(store, 4)
    backend.declare("s", StateKind("list"))
    backend.enter("a")["s"] = [1]
    backend.changed("a")
    backend.flush()
    _, *rest = pickle.loads(store.records["h"])
    store.records["h"] = pickle.dumps((7, *rest))
    backend = PagedBackend(store, 4)
    backend.declare("s", StateKind("list"))
    with pytest.raises(CheckpointError, match="has format 7, this version reads 8"):
        backend.enter("a")


@pytest.mark.parametrize(
    ("before", "now", "compatible"),
    [
        (None, INT, True),
        (ANY, Types.ROW_NAMED(["a"], [INT]), True),
        (Types.MAP(STRING, ANY), Types.MAP(STRING, LONG), True),
        (Types.MAP(ANY, LONG), Types.MAP(STRING, LONG), True),
        (Types.MAP(ANY, LONG), Types.MAP(STRING, ANY), True),
        (Types.MAP(ANY, INT), Types.MAP(STRING, STRING), False),
        (INT, INT, True),
        (INT, STRING, False),
        (Types.ROW([INT]), Types.ROW_NAMED(["f0"], [INT]), True),
        (Types.ROW([INT]), Types.ROW_NAMED(["a"], [INT]), False),
        (Types.ROW([INT]), Types.TUPLE([INT]), False),
        (Types.TUPLE([]), Types.TUPLE([INT]), False),
        (Types.LIST(Money("EUR")), Types.LIST(Money("EUR")), True),
        (Types.LIST(Money("EUR")), Types.LIST(Money("USD")), False),
        (Types.LIST(Money("EUR")), Types.LIST(ANY), True),
    ],
    ids=str,
)
def test_types_are_compared_as_far_as_they_are_known(
    before: TypeInformation | None, now: TypeInformation, compatible: bool
) -> None:
    stored = StateKind("value", None if before is None else before.to_data())
    asked = StateKind("value", now.to_data())
    for before_, now_ in ((stored, asked), (asked, stored)):
        if compatible:
            assert change_of("s", before_, now_, {}) is None
        else:
            with pytest.raises(CheckpointError):
                change_of("s", before_, now_, {})


def test_a_type_of_the_program_is_read_without_its_class() -> None:
    store = MemoryPages()
    backend = PagedBackend(store, 4)
    backend.declare("s", StateKind("value", Types.LIST(Money("EUR")).to_data()))
    backend.enter("a")["s"] = [1]
    backend.changed("a")
    backend.flush()
    (kind,) = PagedBackend(store, 4).kinds().values()
    assert kind.type == {
        "type": "LIST",
        "of": [{"type": "CLASS", "module": __name__, "qualname": "Money", "text": "Money EUR"}],
    }
    assert str(kind) == "value of LIST<Money EUR> without a time-to-live"


def test_a_change_is_named_with_its_operator() -> None:
    before, now = StateKind("value", INT.to_data()), StateKind("value", STRING.to_data())
    assert change_of("total", before, before, {}, operator="sums") is None
    with pytest.raises(CheckpointError) as refused:
        change_of("total", before, now, {}, operator="sums")
    message = str(refused.value)
    assert "state 'total' of operator 'sums' was stored as value of INT" in message
    assert "is value of STRING" in message
    assert "differences: was INT, is STRING now" in message
