"""A state is read as what it was stored as, or refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from headrace.common.typeinfo import Types
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from headrace.errors import CheckpointError
from headrace.runtime.state.handles import KeyContext, StateStore
from headrace.runtime.state.kinds import (
    StateKind,
    check_states,
    is_compatible,
)
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.held import HeldPages

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
    store = HeldPages()
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
    store = HeldPages()
    backend = PagedBackend(store, 4)
    backend.declare("s", StateKind("list"))
    backend.enter("a")["s"] = [1]
    backend.changed("a")
    backend.flush()
    _, *rest = pickle.loads(store.records["h"])
    store.records["h"] = pickle.dumps((6, *rest))
    backend = PagedBackend(store, 4)
    backend.declare("s", StateKind("list"))
    with pytest.raises(CheckpointError, match="has format 6, this version reads 7"):
        backend.enter("a")


@pytest.mark.parametrize(
    ("before", "now", "compatible"),
    [
        (None, "INT", True),
        ("PICKLED_BYTE_ARRAY", "ROW<a: INT>", True),
        ("MAP<STRING, PICKLED_BYTE_ARRAY>", "MAP<STRING, LONG>", True),
        ("MAP<PICKLED_BYTE_ARRAY, LONG>", "MAP<STRING, LONG>", True),
        ("MAP<PICKLED_BYTE_ARRAY, INT>", "MAP<STRING, LONG>", False),
        ("INT", "INT", True),
        ("INT", "STRING", False),
        ("INT", "LONG", False),
    ],
)
def test_types_are_compared_as_far_as_they_are_known(
    before: str | None, now: str | None, compatible: bool
) -> None:
    assert is_compatible(StateKind("value", before), StateKind("value", now)) is compatible
    assert is_compatible(StateKind("value", now), StateKind("value", before)) is compatible


def test_every_change_is_named_with_its_operator() -> None:
    before = {
        "sums": {"total": StateKind("value", "INT"), "seen": StateKind("list")},
        "gone": {"total": StateKind("value")},
    }
    same = {"sums": {**before["sums"], "more": StateKind("map")}, "new": {"x": StateKind("value")}}
    check_states(before, same)
    now = {"sums": {"total": StateKind("value", "STRING"), "seen": StateKind("reducing")}}
    with pytest.raises(CheckpointError) as refused:
        check_states(before, now)
    message = str(refused.value)
    assert "state 'total' of operator 'sums' was stored as value of INT" in message
    assert "is value of STRING" in message
    assert "state 'seen' of operator 'sums' was stored as list" in message
