"""Values that cannot be stored are refused with operator, state and key, in pages and locally."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from headrace.errors import StateTooLargeError, StorageError, UnpicklableStateError
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.kinds import StateKind
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.runtime.state.refusals import check_size


class Bounded(MemoryPages):
    """A store that takes records of 1 MiB."""

    def put(self, name: str, data: bytes) -> None:
        check_size(data, 1 << 20)
        super().put(name, data)


def opened(kind: str) -> StateBackend:
    backend: StateBackend = (
        HeapBackend(for_pages=True) if kind == "heap" else PagedBackend(Bounded(), 4)
    )
    backend.owner = "visits (uid=v)"
    backend.declare("seen", StateKind("value"))
    backend.declare("client", StateKind("value"))
    return backend


@pytest.mark.parametrize("kind", ["heap", "pages"])
def test_what_cannot_be_pickled_is_named(kind: str) -> None:
    backend = opened(kind)
    backend.enter("ann").update(seen=1, client=threading.Lock())
    backend.changed("ann")
    with pytest.raises(UnpicklableStateError, match=r"cannot pickle '_thread\.lock'") as raised:
        backend.flush()
    where = raised.value.where
    assert where["operator"] == "visits (uid=v)"
    assert (where["state"], where["key"]) == ("client", "'ann'")
    assert where["value"].startswith("lock <unlocked _thread.lock")
    assert "open()" in (raised.value.hint or "")


@pytest.mark.parametrize("kind", ["heap", "pages"])
def test_so_is_what_lies_in_a_namespace(kind: str) -> None:
    backend = opened(kind)
    space = backend.in_namespaces
    space.declare("client", StateKind("value"))
    space.enter(("ann", "window"))["client"] = threading.Lock()
    space.changed(("ann", "window"))
    with pytest.raises(UnpicklableStateError) as raised:
        backend.flush()
    assert raised.value.where["key"] == "('ann', 'window')"


@pytest.mark.parametrize("kind", ["heap", "pages"])
def test_no_code_of_a_function_is_in_the_state(kind: str) -> None:
    """It would be in the form of one minor version of Python."""
    backend = opened(kind)
    backend.enter("ann")["how"] = lambda value: value
    backend.changed("ann")
    with pytest.raises(UnpicklableStateError, match="lambda") as raised:
        backend.flush()
    assert raised.value.where["state"] == "how"


def test_a_heap_that_stands_for_no_pages_takes_anything() -> None:
    backend = HeapBackend()
    backend.enter("ann")["client"] = threading.Lock()
    backend.flush()
    assert [key for key, _ in backend.scan()] == ["ann"]


@pytest.mark.parametrize("value", ["x" * (2 << 20), bytearray(2 << 20), ["x" * (2 << 20)]])
def test_a_value_that_is_too_large_is_named_with_its_size(value: Any) -> None:
    backend = opened("pages")
    backend.enter("ann").update(seen=1, client=value)
    backend.changed("ann")
    with pytest.raises(StateTooLargeError, match=r"2\.0 MiB .* 1\.0 MiB are allowed") as raised:
        backend.flush()
    assert raised.value.where == {
        "operator": "visits (uid=v)",
        "state": "client",
        "key": "'ann'",
    }
    assert "headrace.state.max-value-bytes" in (raised.value.hint or "")


@pytest.mark.parametrize("kind", ["list", "map"])
def test_parts_of_a_list_or_a_map_may_be_large_together(kind: str) -> None:
    backend = opened("pages")
    backend.declare("parts", StateKind(kind))
    parts = [f"{number}" * (1 << 17) for number in range(9)]
    backend.enter("ann")["parts"] = parts if kind == "list" else dict(enumerate(parts))
    backend.changed("ann")
    backend.flush()
    assert len(backend.enter("ann")["parts"]) == 9


def test_an_error_of_the_store_stays_what_it_is() -> None:
    class Failing(MemoryPages):
        def put(self, name: str, data: bytes) -> None:
            raise OSError("no answer")

    backend = PagedBackend(Failing(), 4)
    backend.declare("seen", StateKind("value"))
    backend.enter("ann")["seen"] = bytearray(1 << 20)
    backend.changed("ann")
    with pytest.raises(OSError, match="no answer"):
        backend.flush()


@pytest.mark.parametrize("error", [OSError("no answer"), StorageError("no answer")])
def test_a_list_of_the_store_is_not_read_when_the_store_fails(error: Exception) -> None:
    store = MemoryPages()
    backend = PagedBackend(store, 4, 100)
    backend.declare("seen", StateKind("list"))
    for change in range(2):
        backend.enter("ann").setdefault("seen", []).extend([f"{part:090}" for part in range(99)])
        backend.changed("ann")
        if change:

            def fails(name: str, data: bytes) -> None:
                raise error

            store.put = store.get = fails  # type: ignore[method-assign, assignment]
            with pytest.raises(type(error), match="no answer"):
                backend.flush()
        else:
            backend.flush()


@pytest.mark.parametrize("kind", ["list", "map"])
@pytest.mark.parametrize("value", [threading.Lock(), "x" * (2 << 20)], ids=["lock", "large"])
def test_a_part_of_what_lies_in_the_store_names_its_state(kind: str, value: Any) -> None:
    store = Bounded()
    for change in range(2):
        backend = PagedBackend(store, 4, 100)
        backend.declare("a", StateKind("value"))
        backend.declare("seen", StateKind(kind))
        entry = backend.enter("ann")
        if change:
            entry["seen"].append(value) if kind == "list" else entry["seen"].update({9: value})
            backend.changed("ann")
            with pytest.raises((UnpicklableStateError, StateTooLargeError)) as raised:
                backend.flush()
            assert raised.value.where == {"state": "seen", "key": "'ann'"}
        else:
            parts = [f"{part:090}" for part in range(99)]
            entry.update(a=1, seen=parts if kind == "list" else dict(enumerate(parts)))
            backend.changed("ann")
            backend.flush()


def test_an_error_names_the_large_value_and_not_a_list_beside_it() -> None:
    backend = PagedBackend(Bounded(), 4, 100)
    backend.declare("blob", StateKind("value"))
    backend.declare("seen", StateKind("list"))
    backend.enter("ann")["seen"] = [f"{part:090}" for part in range(99)]
    backend.changed("ann")
    backend.flush()
    backend.enter("ann")["blob"] = bytearray(2 << 20)
    backend.changed("ann")
    with pytest.raises(StateTooLargeError) as raised:
        backend.flush()
    assert raised.value.where == {"state": "blob", "key": "'ann'"}


class Keeps(KeyedProcessFunction):
    def __init__(self, descriptor: Any) -> None:
        self.descriptor = descriptor

    def open(self, runtime_context: RuntimeContext) -> None:
        self.context = runtime_context

    def process_element(self, value: Any, ctx: Any) -> None:
        kept = (number for number in [value])
        if isinstance(self.descriptor, ListStateDescriptor):
            self.context.get_list_state(self.descriptor).add(kept)
        elif isinstance(self.descriptor, MapStateDescriptor):
            self.context.get_map_state(self.descriptor).put(1, kept)
        else:
            self.context.get_state(self.descriptor).update(kept)


@pytest.mark.parametrize(
    "descriptor",
    [ValueStateDescriptor("kept"), ListStateDescriptor("kept"), MapStateDescriptor("kept")],
    ids=["value", "list", "map"],
)
def test_the_local_runner_refuses_what_spark_would(descriptor: StateDescriptor) -> None:
    settings = {"execution.target": "local"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    stream = env.from_collection([1]).key_by(lambda value: value)
    stream.process(Keeps(descriptor)).name("keeps").print()
    with pytest.raises(UnpicklableStateError, match="generator") as raised:
        env.execute("keeps")
    assert raised.value.where["operator"].startswith("keeps")
    assert (raised.value.where["state"], raised.value.where["key"]) == ("kept", "1")
