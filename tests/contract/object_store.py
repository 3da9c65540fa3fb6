"""What every store of objects keeps to; each implementation inherits the suite."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.common._storage.object_store import ObjectStore, numbered_name, stored_numbers
from headrace.errors import CheckpointError
from tests.effort import examples

NAMES = st.lists(st.text("ab-0", min_size=1, max_size=3), min_size=1, max_size=3).map("/".join)


class ObjectStoreContract(ABC):
    """``store`` is a new, empty one; ``again`` is another owner's, of the same objects."""

    turns = 20
    """How often several compete; stores behind a network do less of it."""

    @pytest.fixture
    @abstractmethod
    def store(self) -> ObjectStore: ...

    @abstractmethod
    def again(self, store: ObjectStore) -> ObjectStore: ...

    def test_an_object_is_replaced_whole(self, store: ObjectStore) -> None:
        assert store.get("log/a") is None
        store.put("log/a", b"long content")
        store.put("log/a", b"short")
        assert self.again(store).get("log/a") == b"short"

    def test_an_absent_object_is_stored_once(self, store: ObjectStore) -> None:
        data = b"the same object"
        assert store.put_if_absent("n", data)
        assert not self.again(store).put_if_absent("n", b"other")
        assert not store.put_if_absent("n", data)
        assert store.get("n") == data
        store.delete("n")
        assert self.again(store).put_if_absent("n", b"after")
        assert store.get("n") == b"after"

    def test_what_is_not_there_can_be_deleted(self, store: ObjectStore) -> None:
        store.delete("never/was")
        store.put("n", b"")
        store.delete("n")
        store.delete("n")
        assert store.get("n") is None and store.list() == []

    def test_an_empty_object_is_an_object(self, store: ObjectStore) -> None:
        store.put("n", b"")
        assert store.get("n") == b"" and not store.put_if_absent("n", b"x")

    # The suite is inherited, so one test has several classes.
    @settings(max_examples=examples(10), suppress_health_check=[HealthCheck.differing_executors])
    @given(st.data())
    def test_lists_by_prefix_in_the_order_of_texts(self, data: st.DataObject) -> None:
        store = self.new()
        held = _without_folders(data.draw(st.sets(NAMES, max_size=12)))
        for name in held:
            store.put(name, name.encode())
        assert store.list() == sorted(held)
        wanted = data.draw(st.sampled_from(["a", "b", "a/", "ab/", "a/b", "-", "0/0"]))
        assert self.again(store).list(wanted) == sorted(
            name for name in held if name.startswith(wanted)
        )

    @abstractmethod
    def new(self) -> ObjectStore: ...

    def test_one_of_many_wins(self, store: ObjectStore) -> None:
        won: dict[int, list[int]] = {}
        together = threading.Barrier(8)

        def take(number: int) -> None:
            own = self.again(store)
            for turn in range(self.turns):
                together.wait()
                if own.put_if_absent(f"owners/{turn}", b"%d" % number):
                    won.setdefault(turn, []).append(number)

        threads = [threading.Thread(target=take, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [won[turn] for turn in range(self.turns)] == [
            [int(store.get(f"owners/{turn}") or b"-1")] for turn in range(self.turns)
        ]

    def test_a_reader_never_sees_a_part(self, store: ObjectStore) -> None:
        whole = [bytes([n]) * (50_000 + n) for n in range(4)]
        store.put("n", whole[0])
        seen: set[bytes | None] = set()
        done = threading.Event()

        def read() -> None:
            own = self.again(store)
            while not done.is_set():
                seen.add(own.get("n"))

        reader = threading.Thread(target=read)
        reader.start()
        for turn in range(3 * self.turns):
            store.put("n", whole[turn % 4])
        done.set()
        reader.join()
        assert seen and seen <= set(whole)

    @pytest.mark.parametrize(
        "name", ["", "/", "a/", "/a", "a//b", ".", "..", "../a", "a/../b", ".hidden", "a\\b", "a\0"]
    )
    def test_no_name_leads_outside(self, name: str, store: ObjectStore) -> None:
        for call in (store.get, store.delete, lambda n: store.put(n, b"")):
            with pytest.raises(CheckpointError, match="cannot be the name of a stored object"):
                call(name)
        with pytest.raises(CheckpointError):
            store.put_if_absent(name, b"")

    @pytest.mark.parametrize("prefix", ["../", "a/../", "/", ".", "a/.b"])
    def test_no_prefix_leads_outside(self, prefix: str, store: ObjectStore) -> None:
        with pytest.raises(CheckpointError):
            store.list(prefix)

    def test_a_log_is_numbered_objects(self, store: ObjectStore) -> None:
        for number in (10, 9, 123):
            store.put(numbered_name("splits", number), b"")
        store.put("splits/notes", b"")
        store.put("splitsies/000000000001", b"")
        assert stored_numbers(store, "splits") == [9, 10, 123]
        assert stored_numbers(store, "none") == []

    def test_an_object_can_be_found_by_a_person(self, store: ObjectStore) -> None:
        assert store.location("owners/7").endswith("owners/7")

    def test_nothing_is_lost_by_tidying(self, store: ObjectStore) -> None:
        store.tidy()
        store.put("a/b", b"x")
        store.tidy()
        assert store.list() == ["a/b"]


def _without_folders(names: set[str]) -> set[str]:
    """Without those that a file system could not hold beside the others, as they are folders."""
    return {name for name in names if not any(other.startswith(f"{name}/") for other in names)}
