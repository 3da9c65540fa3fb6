"""What the paged backend asks of its store: few calls, and only for what is touched."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterable
from typing import Any, ClassVar

import pytest

from headrace.errors import CheckpointError
from headrace.runtime.keys.serialized_key import to_internal_key, user_key
from headrace.runtime.state.kinds import StateKind
from headrace.runtime.state.pages.backend import PagedBackend, only_pages
from headrace.runtime.state.pages.bucketed_map import BucketedMap
from headrace.runtime.state.pages.chunked_list import ChunkedList
from tests.contract.stores import CountingStore

MANY = 1_000_000


class Tripwire:
    """A value that counts how often one is decoded."""

    decoded: ClassVar[int] = 0

    def __setstate__(self, state: dict[str, Any]) -> None:
        Tripwire.decoded += 1

    def __getstate__(self) -> dict[str, Any]:
        return {"some": "state"}


def call(store: CountingStore, page_bytes: int = 16384) -> PagedBackend:
    """The backend of a new call, with a list, a map and a value slot; counts from zero."""
    store.reset()
    backend = PagedBackend(store, 8, page_bytes)
    backend.declare("list", StateKind("list"))
    backend.declare("map", StateKind("map"))
    return backend


def set_slot(backend: PagedBackend, key: Any, slot: Any, value: Any) -> None:
    """Set one slot and report it."""
    backend.enter(key)[slot] = value
    backend.changed(key)


def page_sizes(store: CountingStore) -> list[int]:
    """The bytes of each page of entries."""
    return [len(data) for name, data in store.records.items() if name[0] == "p"]


def touch_one_by_one(store: CountingStore, keys: Iterable[Any]) -> None:
    """Change each key's entry in a call of its own, as a trickle does."""
    for key in keys:
        backend = call(store)
        set_slot(backend, key, "touched", backend.enter(key).get("touched", 0) + 1)
        backend.flush()


@pytest.fixture
def store() -> CountingStore:
    """An empty store."""
    return CountingStore()


def test_unused_backend_asks_nothing(store: CountingStore) -> None:
    call(store).flush()
    assert store.read == store.written == []


def test_call_that_touches_nothing_reads_the_header_only(store: CountingStore) -> None:
    backend = call(store)
    backend.header["watermark"] = 5
    for key in range(1000):
        set_slot(backend, key, "v", key)
    backend.flush()
    backend = call(store)
    assert backend.header["watermark"] == 5
    assert backend.event_timers.pop_due(1 << 60) is None
    assert backend.processing_timers.earliest_ms() is None
    backend.flush()
    assert store.read == ["h"]
    assert store.written == []


def test_call_that_only_looks_writes_nothing(store: CountingStore) -> None:
    backend = call(store)
    for key in range(1000):
        set_slot(backend, key, "v", (key, [key]))
    backend.flush()
    backend = call(store)
    assert [backend.enter(key)["v"] for key in range(1000)] == [(n, [n]) for n in range(1000)]
    assert backend.enter("nobody") == {}
    backend.flush()
    assert store.written == store.removed == []


def test_growing_from_nothing_reads_no_page_and_writes_each_once(store: CountingStore) -> None:
    backend = call(store)
    for key in range(100_000):
        set_slot(backend, key, "sum", (key, key * 0.5))
    backend.flush()
    assert store.read == ["h"]
    assert len(store.written) == len(set(store.written))
    pages = page_sizes(store)
    assert len(pages) > 20
    assert max(pages) < 4 * 16 * 16384


@pytest.mark.parametrize("value_bytes", [10, 200, 3000])
def test_pages_stay_near_their_size_while_a_group_grows(
    store: CountingStore, value_bytes: int
) -> None:
    for start in range(0, 4000, 400):
        backend = call(store)
        for key in range(start, start + 400):
            set_slot(backend, f"key-{key}", "v", f"{key}" * (value_bytes // 4))
        backend.flush()
    touch_one_by_one(store, [f"key-{key}" for key in range(100)])
    pages = page_sizes(store)
    assert sum(pages) / len(pages) < 1.5 * 16384
    if value_bytes > 100:
        assert sum(pages) / len(pages) > 16384 / 3
    assert len(pages) >= 4000 // 400


def test_growing_a_little_touches_a_few_pages(store: CountingStore) -> None:
    backend = call(store)
    for key in range(25_000):
        set_slot(backend, key, "v", key)
    backend.flush()
    touch_one_by_one(store, range(100))
    backend = call(store)
    for key in range(25_000, 25_020):
        set_slot(backend, key, "v", key)
    backend.flush()
    assert len(store.read) <= 1 + 20 + 3
    assert len(store.written) <= 1 + 20 + 6


def test_pages_grow_where_all_are_touched_and_shrink_where_few_are(store: CountingStore) -> None:
    backend = call(store)
    for key in range(25_000):
        set_slot(backend, key, "v", key)
    backend.flush()
    for _ in range(3):
        backend = call(store)
        for key in range(0, 25_000, 4):
            set_slot(backend, key, "v", -key)
        backend.flush()
        assert len(store.read) + len(store.written) < 40
    touch_one_by_one(store, range(100))
    assert max(page_sizes(store)) < 16384
    touch_one_by_one(store, [7])
    assert store.read == ["h", *store.written]
    assert len(store.written) == 1


def test_one_small_call_among_large_ones_leaves_the_pages_large(store: CountingStore) -> None:
    for _ in range(4):
        backend = call(store)
        for key in range(25_000):
            set_slot(backend, key, "v", backend.enter(key).get("v", 0) + 1)
        backend.flush()
        large = page_sizes(store)
        touch_one_by_one(store, [1])
        assert len(page_sizes(store)) == len(large)


def test_the_rest_of_a_spilled_entry_outgrows_its_page(store: CountingStore) -> None:
    backend = call(store, 100)
    backend.enter("a").update({"big": "x" * 500, "small": 1})
    backend.changed("a")
    backend.flush()
    for slots in (10, 100, 3):  # inline, in a record of its own, inline again
        backend = call(store, 100)
        entry = backend.enter("a")
        for name in [name for name in entry if name != "big"]:
            del entry[name]
        entry.update({f"slot {number}": slots for number in range(slots)})
        backend.changed("a")
        backend.flush()
        entry = call(store, 100).enter("a")
        assert entry.pop("big") == "x" * 500
        assert entry == {f"slot {number}": slots for number in range(slots)}


def test_the_size_of_pages_outlives_their_call(store: CountingStore) -> None:
    backend = call(store)
    for key in range(50_000):
        set_slot(backend, key, "v", key)
    backend.flush()
    *_, scale, excess_cost = pickle.loads(store.records["h"])[3]
    assert (scale, excess_cost) == (16, 0)
    assert call(store).enter(49_999) == {"v": 49_999}


def test_pages_merge_when_a_group_shrinks(store: CountingStore) -> None:
    backend = call(store)
    for key in range(20_000):
        set_slot(backend, key, "v", key)
    backend.flush()
    touch_one_by_one(store, range(100))
    before = len(store.records)
    backend = call(store)
    for key in range(19_900):
        backend.enter(key).clear()
        backend.changed(key)
    backend.flush()
    assert len(store.records) < before // 10
    backend = call(store)
    assert sorted(backend.keys()) == [*range(19_900, 20_000)]
    assert backend.enter(19_950) == {"v": 19_950}


def test_untouched_entries_are_not_decoded(store: CountingStore) -> None:
    backend = call(store)
    for key in range(50):
        set_slot(backend, key, "v", Tripwire())
    backend.flush()
    Tripwire.decoded = 0
    backend = call(store)
    backend.enter(7)
    set_slot(backend, 8, "v", 1)
    backend.flush()
    assert Tripwire.decoded == 2


def test_appending_to_a_long_list_touches_its_end(store: CountingStore) -> None:
    backend = call(store)
    set_slot(backend, "a", "list", [*range(MANY)])
    backend.flush()
    assert len(store.written) == len(set(store.written))
    backend = call(store)
    entry = backend.enter("a")
    assert isinstance(entry["list"], ChunkedList)
    assert entry["list"]
    entry["list"].append("last")
    backend.changed("a")
    backend.flush()
    assert len(store.read) <= 3
    assert len(store.written) <= 3
    assert store.moved_bytes < 8 * 16384
    found = call(store).enter("a")["list"]
    assert len(found) == MANY + 1
    assert found == [*range(MANY), "last"]


def test_appending_often_keeps_chunks_near_the_page_size(store: CountingStore) -> None:
    backend = call(store, 1000)
    set_slot(backend, "a", "list", [*range(5000)])
    backend.flush()
    for number in range(300):
        backend = call(store, 1000)
        backend.enter("a")["list"].extend(range(number))
        backend.flush()
        assert store.moved_bytes < 10_000
    chunks = [len(data) for name, data in store.records.items() if name[0] == "l"]
    assert max(chunks) <= 2000
    assert sum(chunks) / len(chunks) > 500


def test_one_key_of_a_large_map_touches_one_bucket(store: CountingStore) -> None:
    count = 100_000
    backend = call(store)
    set_slot(backend, "a", "map", {number: str(number) for number in range(count)})
    backend.flush()
    backend = call(store)
    held = backend.enter("a")["map"]
    assert isinstance(held, BucketedMap)
    held["new"] = 1
    del held[17]
    assert held[count - 1] == str(count - 1)
    assert 17 not in held
    assert len(held) == count
    backend.changed("a")
    backend.flush()
    assert len(store.read) <= 5
    assert len(store.written) <= 5
    assert store.moved_bytes < 10 * 16384


def test_map_keys_by_their_form(store: CountingStore) -> None:
    backend = call(store, 100)
    set_slot(backend, "a", "map", {to_internal_key([n]): n for n in range(300)} | {1: "one"})
    backend.flush()
    backend = call(store, 100)
    held = backend.enter("a")["map"]
    assert isinstance(held, BucketedMap)
    assert held[to_internal_key([299])] == 299
    assert held[1] == "one"
    assert to_internal_key([300]) not in held
    assert {*map(repr, map(user_key, held))} == {"1", *(f"[{n}]" for n in range(300))}
    assert sum(value for value in held.values() if value != "one") == sum(range(300))
    held.clear()
    assert not held
    assert list(held.items()) == []
    held["again"] = [1]
    backend.changed("a")
    backend.flush()
    assert call(store, 100).enter("a") == {"map": {"again": [1]}}
    assert not [name for name in store.records if name[0] == "m"]


def test_a_map_that_shrank_lies_in_its_page_again(store: CountingStore) -> None:
    backend = call(store, 1000)
    set_slot(backend, "a", "map", {number: number for number in range(5000)})
    backend.flush()
    backend = call(store, 1000)
    held = backend.enter("a")["map"]
    for number in [*held]:
        if number > 3:
            del held[number]
    backend.flush()
    assert sorted(store.records) == ["h", "p0"]
    assert call(store, 1000).enter("a") == {"map": {0: 0, 1: 1, 2: 2, 3: 3}}


@pytest.mark.parametrize("value", ["x" * 100_000, ["x" * 100_000], tuple(range(25_000))])
def test_a_big_value_has_a_record_of_its_own(store: CountingStore, value: Any) -> None:
    backend = call(store)
    set_slot(backend, "big", "v", value)
    set_slot(backend, "big", "small", 1)
    set_slot(backend, "other", "v", 1)
    backend.flush()
    (record,) = (name for name in store.records if name[0] == "v")
    backend = call(store)
    backend.enter("big")["small"] = 2
    backend.changed("big")
    backend.flush()
    assert record not in store.written
    backend = call(store)
    assert backend.enter("big") == {"v": value, "small": 2}
    set_slot(backend, "big", "v", 3)
    backend.flush()
    assert sorted(store.records) == ["h", "p0"]
    assert call(store).enter("big") == {"v": 3, "small": 2}


def test_an_entry_of_many_small_slots_has_a_record_of_its_own(store: CountingStore) -> None:
    backend = call(store, 1000)
    slots = {("v", number): [number] for number in range(2000)}
    backend.enter("a").update(slots)
    backend.changed("a")
    set_slot(backend, "b", "v", 1)
    backend.flush()
    backend = call(store, 1000)
    assert backend.enter("b") == {"v": 1}
    assert not [name for name in store.read if name[0] == "e"]
    entry = backend.enter("a")
    assert entry == slots
    entry["v", 5].append("more")
    backend.flush()
    backend = call(store, 1000)
    assert backend.enter("a")["v", 5] == [5, "more"]
    backend.enter("a").clear()
    backend.changed("a")
    backend.flush()
    assert sorted(store.records) == ["h", "p0"]


def test_iterating_over_a_list_of_plain_values_keeps_no_chunk(store: CountingStore) -> None:
    backend = call(store, 1000)
    set_slot(backend, "a", "list", [*range(10_000)])
    backend.flush()
    backend = call(store, 1000)
    held = backend.enter("a")["list"]
    seen = []
    for item in held:
        seen.append(item)
        if item == 9_999:
            held.append("while iterating")
    assert seen == [*range(10_000), "while iterating"]
    assert not held._loaded


def test_copies_of_big_lists_and_maps_are_plain(store: CountingStore) -> None:
    backend = call(store, 100)
    set_slot(backend, "a", "list", [*range(1000)])
    set_slot(backend, "a", "map", {number: 0 for number in range(1000)})
    backend.flush()
    entry = call(store, 100).enter("a")
    for copied in (copy.deepcopy(entry), pickle.loads(pickle.dumps(entry))):
        assert type(copied["list"]) is list
        assert copied["list"] == [*range(1000)]
        assert type(copied["map"]) is dict
        assert copied["map"] == {number: 0 for number in range(1000)}


def test_a_big_list_moved_into_a_value_slot_becomes_a_list(store: CountingStore) -> None:
    backend = call(store, 100)
    backend.declare("v", StateKind("value"))
    set_slot(backend, "a", "list", [*range(1000)])
    backend.flush()
    backend = call(store, 100)
    backend.declare("v", StateKind("value"))
    set_slot(backend, "a", "v", backend.enter("a").pop("list"))
    backend.flush()
    assert call(store, 100).enter("a")["v"] == [*range(1000)]
    assert not [name for name in store.records if name[0] == "l"]


def test_keys_do_not_keep_pages(store: CountingStore) -> None:
    backend = call(store)
    for key in range(20_000):
        set_slot(backend, key, "v", key)
    backend.flush()
    backend = call(store)
    assert len([*backend.keys()]) == 20_000
    assert not backend._plain.pages()._pages


def test_a_backend_can_be_used_after_flush(store: CountingStore) -> None:
    backend = call(store, 100)
    for key in range(100):
        set_slot(backend, key, "list", [key] * key)
    backend.flush()
    for key in range(100):
        assert list(backend.enter(key)["list"]) == [key] * key
    set_slot(backend, 5, "list", ["new"])
    backend.flush()
    assert call(store, 100).enter(5) == {"list": ["new"]}


def test_a_missing_record_is_reported(store: CountingStore) -> None:
    backend = call(store, 100)
    set_slot(backend, "a", "list", [*range(1000)])
    backend.flush()
    store.remove(next(name for name in store.records if name[0] == "l"))
    with pytest.raises(CheckpointError, match="missing"):
        list(call(store, 100).enter("a")["list"])


def test_another_format_is_refused(store: CountingStore) -> None:
    store.put("h", pickle.dumps((99,)))
    with pytest.raises(CheckpointError, match="format 99"):
        call(store).enter("a")


def test_what_is_settled_twice_in_a_call_leaves_no_record(store: CountingStore) -> None:
    """As where a window fires, and takes more records in the same micro-batch."""
    backend = call(store, page_bytes=700)
    backend.tables.declare("value", StateKind("value"))
    table = backend.tables.table("window")
    for turn in range(3):
        values = table.single_slot_view("value")
        assert values is not None
        values["key"] = ["x" * 9000, turn]
        table.changed("key")
        assert [*table.single_slot_items("value")] == [("key", values["key"])]
    backend.flush()
    assert len([name for name in store.records if name[0] == "v"]) == 1
    backend = call(store, page_bytes=700)
    backend.tables.declare("value", StateKind("value"))
    assert [*backend.tables.table("window").single_slot_items("value")] == [
        ("key", ["x" * 9000, 2])
    ]
    backend.tables.drop("window")
    backend.flush()
    assert store.records == {}


def test_the_header_tells_which_pages_any_call_needs(store: CountingStore) -> None:
    backend = call(store)
    backend.tables.declare("sum", StateKind("value"))
    set_slot(backend, "ann", "touched", 1)
    space = backend.in_namespaces
    space.enter(("ann", 7))["touched"] = 1
    space.changed(("ann", 7))
    table = backend.tables.table(60_000)
    table.enter("ann")["sum"] = 5
    table.changed("ann")
    backend.flush()
    names = [*only_pages(store.records["h"])]
    assert names[:2] == ["p0", "n0"] and len(names) == 3 and names[2].startswith("w")
    assert {*names} <= {*store.records}


def test_one_of_many_pages_is_not_needed_by_any_call(store: CountingStore) -> None:
    backend = call(store)
    for key in range(5_000):
        set_slot(backend, key, "touched", key)
    backend.flush()
    assert [*only_pages(store.records["h"])] == []


def test_a_header_of_another_format_names_no_pages() -> None:
    assert [*only_pages(pickle.dumps((7, "whatever"), 5))] == []
