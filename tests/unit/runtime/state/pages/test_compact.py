"""Entries without the names of their states: the same entries when they come back."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import CheckpointError
from headrace.runtime.keys.key_groups import stable_hash
from headrace.runtime.state.backend import MISSING
from headrace.runtime.state.kinds import StateKind
from headrace.runtime.state.page import PageTable
from headrace.runtime.state.pages.compact import (
    compactor,
    expander,
    holds_containers,
    layout_of,
)
from headrace.runtime.state.pages.entries import PAGE_FORMAT, EntryPages
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.runtime.state.pages.schemas import Schemas, schema_of

VALUE, LIST = StateKind("value"), StateKind("list")
KINDS = {"total": VALUE, "seen": LIST, "by day": StateKind("map")}
atoms = st.none() | st.integers() | st.text(max_size=3)
entries = st.fixed_dictionaries(
    {},
    optional={
        "total": st.integers() | st.tuples(st.integers(), st.text(max_size=3)),
        "seen": st.lists(atoms, min_size=1, max_size=4),
        "by day": st.dictionaries(st.integers(), atoms, min_size=1, max_size=4),
    },
)


@given(entries, st.sets(st.sampled_from(sorted(KINDS)), min_size=1))
def test_what_is_compact_comes_back(entry: dict[str, Any], declared: set[str]) -> None:
    shape = layout_of(schema_of({slot: KINDS[slot] for slot in declared}))
    stored = compactor(shape)(entry)
    if set(entry) <= declared and (len(declared) > 1 or entry):
        assert stored is not MISSING
    if stored is not MISSING:
        back = expander(shape)(pickle.loads(pickle.dumps(stored)))
        assert back == entry
        assert {slot: type(value) for slot, value in back.items()} == {
            slot: type(value) for slot, value in entry.items()
        }


@pytest.mark.parametrize(
    ("kinds", "entry"),
    [
        ({}, {"total": 1}),
        ({"total": "value"}, {"total": 1, "other": 2}),
        ({"total": "value"}, {("total", "window"): 1}),
        ({"total": "value"}, {"total": [1]}),
        ({"seen": "list"}, {"seen": [[1]]}),
        ({"seen": "list"}, {"seen": [0] * 1000}),
        ({"by day": "map"}, {"by day": {1: [2]}}),
        ({"a": "value", "b": "value"}, {"a": None}),
        ({"a": "value", "b": "value"}, {"a": 1, "c": 1}),
    ],
)
def test_any_other_entry_is_pickled_alone(kinds: dict[str, str], entry: dict[Any, Any]) -> None:
    layout = layout_of(schema_of({name: StateKind(kind) for name, kind in kinds.items()}))
    assert compactor(layout)(entry) is MISSING


@pytest.mark.parametrize("kinds", [{"seen": LIST}, KINDS])
def test_an_entry_shares_nothing_that_can_be_changed_with_its_page(
    kinds: dict[str, StateKind],
) -> None:
    shape = layout_of(schema_of(kinds))
    stored = compactor(shape)({"seen": [1]})
    expander(shape)(stored)["seen"].append(2)
    assert expander(shape)(stored) == {"seen": [1]}
    assert holds_containers(shape)
    assert not holds_containers(layout_of(schema_of({"total": VALUE})))


class Group:
    """One key group's pages over a store that stays, as seen by one program after another."""

    def __init__(self) -> None:
        self.store = MemoryPages()
        self.table = PageTable()
        self.schemas = Schemas()

    def pages(self, **kinds: StateKind) -> EntryPages:
        return EntryPages(
            *(self.store, "p", self.table, 16_384, stable_hash),
            *(kinds, lambda: 1, set(), self.schemas),
            "sums (uid=none)",
        )


def test_a_program_with_another_state_reads_the_entries() -> None:
    group = Group()
    pages = group.pages(total=VALUE)
    for key in range(10):
        pages.put(key, {"total": key})
    pages.flush()
    pages = group.pages(total=VALUE, seen=LIST)
    assert pages.fetch(3) == {"total": 3}
    pages.put(3, {"total": 3, "seen": [1]})
    pages.flush()
    pages = group.pages(seen=LIST)
    assert dict(pages.items()) == {
        key: {"total": key} if key != 3 else {"total": 3, "seen": [1]} for key in range(10)
    }


@pytest.mark.parametrize("change", ["append", "clear"])
def test_an_unreported_change_is_written(change: str) -> None:
    group = Group()
    pages = group.pages(seen=LIST)
    pages.put("a", {"seen": [1]})
    pages.flush()
    pages = group.pages(seen=LIST)
    if change == "append":
        pages.fetch("a")["seen"].append(2)
    else:
        pages.fetch("a").clear()
    pages.flush()
    found = group.pages(seen=LIST).fetch("a", None)
    assert found == ({"seen": [1, 2]} if change == "append" else None)


def test_pages_of_two_schemas_lie_side_by_side() -> None:
    group = Group()
    group.table = PageTable(count=2)
    pages = group.pages(total=VALUE)
    for key in range(20):
        pages.put(key, {"total": key})
    pages.flush()
    assert len(group.store.records) > 1
    pages = group.pages(total=VALUE, seen=LIST)
    pages.put(3, {"total": 3, "seen": [1]})
    pages.flush()
    numbers = {pickle.loads(data)[:2] for data in group.store.records.values()}
    assert numbers == {(PAGE_FORMAT, 0), (PAGE_FORMAT, 1)}
    header = Schemas()
    header.set_stored(group.schemas.text)
    assert header.kinds() == {"total": VALUE, "seen": LIST}
    group.schemas = header
    pages = group.pages(total=VALUE, seen=LIST)
    assert pages.fetch(3) == {"total": 3, "seen": [1]}
    assert pages.fetch(4) == {"total": 4}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda page: (2, *page[1:]), "has the format '2', this version reads 1"),
        (lambda page: page[1:], "has the format '0', this version reads 1"),
        (lambda page: (page[0], 7, *page[2:]), "a schema that its header does not have"),
        (lambda page: (page[0], "x", *page[2:]), "a schema that its header does not have"),
    ],
)
def test_a_page_that_nobody_can_read_is_refused(change: Any, message: str) -> None:
    group = Group()
    pages = group.pages(total=VALUE)
    pages.put(1, {"total": 1})
    pages.flush()
    ((name, data),) = group.store.records.items()
    group.store.records[name] = pickle.dumps(change(pickle.loads(data)))
    with pytest.raises(CheckpointError, match=message) as refused:
        group.pages(total=VALUE).fetch(1)
    assert refused.value.where["operator"] == "sums (uid=none)"
