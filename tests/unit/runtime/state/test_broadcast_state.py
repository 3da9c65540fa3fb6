"""State that a task shares: changed, taken back, made again, and kept in pages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import PlanError
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.broadcast_state import BroadcastStateStore, write_changes
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend
from tests.contract.stores import CountingStore

NAMES = ("rules", "limits")
steps = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(0, 6), st.none() | st.integers()), max_size=30
)


def contents(states: BroadcastStateStore) -> dict[str, list[Any]]:
    return {name: list(states.map(name).items()) for name in NAMES}


def write(states: BroadcastStateStore, steps: Any) -> Any:
    states.writable = True
    for name, key, value in steps:
        if value is None:
            states.map(name).remove(key)
        else:
            states.map(name).put(key, value)
    states.writable = False
    return states.take_changes()


def loaded(backend: StateBackend) -> BroadcastStateStore:
    states = BroadcastStateStore()
    states.load(backend)
    return states


@given(steps, steps, st.booleans())
def test_changes_are_taken_back_and_made_again(before: Any, steps: Any, paged: bool) -> None:
    pages = CountingStore()
    backend: StateBackend = PagedBackend(pages, 1, 200) if paged else HeapBackend()
    states = loaded(backend)
    write_changes(write(states, before), backend)
    start = contents(states)

    changes = write(states, steps)
    end = contents(states)
    model = {name: dict(items) for name, items in start.items()}
    for name, key, value in steps:
        if value is None:
            model[name].pop(key, None)
        else:
            model[name][key] = value
    assert end == {name: list(items.items()) for name, items in model.items()}
    states.revert_changes(changes)
    assert contents(states) == start
    states.apply_changes(changes)
    assert contents(states) == end
    again = PagedBackend(pages, 1, 200) if paged else backend
    assert contents(loaded(again)) == start
    write_changes(changes, again)
    assert contents(loaded(PagedBackend(pages, 1, 200) if paged else backend)) == end


def test_a_small_change_writes_a_page() -> None:
    pages = CountingStore()
    backend = PagedBackend(pages, 1, 500)
    states = loaded(backend)
    write_changes(write(states, [("rules", n, n * 1_000_003) for n in range(3_000)]), backend)
    states = loaded(PagedBackend(pages, 1, 500))
    pages.reset()
    write_changes(write(states, [("rules", 7, 0)]), PagedBackend(pages, 1, 500))
    written = sum(len(pages.records[name]) for name in pages.written)
    assert len(pages.written) <= 2
    assert written < sum(map(len, pages.records.values())) / 3


def test_what_is_put_is_kept_as_it_was_and_what_is_read_to_be_changed_is_a_copy() -> None:
    states = BroadcastStateStore()
    rules = states.map("rules")
    states.writable = True
    mine = [1]
    rules.put("a", mine)
    mine.append(2)
    rules.get("a").append(3)
    next(rules.items())[1].append(4)
    states.writable = False
    assert rules.get("a") == [1]
    assert rules.get("a") is rules.get("a")
    assert rules.get("b", "none") == "none"
    assert ("a" in rules, "b" in rules, len(rules)) == (True, False, 1)


def test_only_one_side_may_write() -> None:
    rules = BroadcastStateStore().map("rules")
    for write in (lambda: rules.put("a", 1), lambda: rules.remove("a")):
        with pytest.raises(PlanError, match="broadcast state 'rules'"):
            write()


def test_each_change_of_a_map_gives_it_another_revision() -> None:
    backend = HeapBackend()
    states = loaded(backend)
    rules = states.map("rules")
    seen = [rules.revision]

    def noted() -> None:
        seen.append(rules.revision)

    changes = write(states, [("rules", 1, 5)])
    noted()
    states.revert_changes(changes)
    noted()
    states.apply_changes(changes)
    noted()
    states.load(backend)
    noted()
    assert len({*seen}) == len(seen)
    write(states, [("limits", 1, 5)])
    assert rules.revision == seen[-1]
