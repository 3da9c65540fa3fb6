"""Calls into the state store over a socket, whose other end is a dictionary."""

from __future__ import annotations

import pickle
import socket
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pyspark.sql.streaming.proto.StateMessage_pb2 as messages
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkRuntimeError

from headrace.runners.spark.query.state_calls import (
    MAX_IN_FLIGHT,
    PipelinedCalls,
    SingleCalls,
    state_calls,
)


class Store:
    """The JVM's end: answers requests one by one. ``fails``: the name whose change is refused."""

    def __init__(self, end: socket.socket) -> None:
        self.records: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.fails: str | None = None
        self._file = end.makefile("rwb")
        self._end = end
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while self._file.read(4) == b"\0\0\0\0":
            request = messages.StateRequest()
            request.ParseFromString(self._file.read(int.from_bytes(self._file.read(4), "big")))
            call = request.stateVariableRequest.mapStateCall
            assert call.stateName == "pages"
            answer = self._answer(call).SerializeToString()
            self._file.write(len(answer).to_bytes(4, "big") + answer)
            self._file.flush()

    def _answer(self, call: Any) -> Any:
        kind = call.WhichOneof("method")
        (name,) = pickle.loads(getattr(call, kind).userKey)
        self.requests.append((kind, name))
        if name == self.fails:
            return messages.StateResponse(statusCode=1, errorMessage="refused")
        if kind == "getValue":
            if name not in self.records:
                return messages.StateResponse(statusCode=2)
            return messages.StateResponse(value=pickle.dumps((self.records[name],), 5))
        if kind == "updateValue":
            (self.records[name],) = pickle.loads(call.updateValue.value)
        else:
            assert kind == "removeKey"
            self.records.pop(name, None)
        return messages.StateResponse()

    def close(self) -> None:
        self._end.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._file.close()
        self._end.close()


@pytest.fixture
def connected() -> Iterator[tuple[Store, PipelinedCalls]]:
    yield from _connected()


def _connected() -> Iterator[tuple[Store, PipelinedCalls]]:
    ours, theirs = socket.socketpair()
    store = Store(theirs)
    file = ours.makefile("rwb")
    yield store, PipelinedCalls(file, "pages")
    file.close()
    ours.close()
    store.close()


def test_nothing_is_sent_before_the_flush(connected: tuple[Store, PipelinedCalls]) -> None:
    store, calls = connected
    calls.put("a", b"1")
    calls.put("a", b"2")
    calls.remove("b")
    assert calls.get("a") == b"2" and calls.get("b") is None and store.requests == []
    calls.flush()
    assert store.records == {"a": b"2"}
    assert store.requests == [("updateValue", "a"), ("removeKey", "b")]
    calls.flush()
    assert len(store.requests) == 2


def test_what_was_prefetched_is_not_asked_for(connected: tuple[Store, PipelinedCalls]) -> None:
    store, calls = connected
    names = [f"p{number}" for number in range(3 * MAX_IN_FLIGHT)]
    store.records = {name: name.encode() for name in names[::2]}
    calls.prefetch(names)
    asked = len(store.requests)
    assert [calls.get(name) for name in names] == [store.records.get(name) for name in names]
    assert asked == len(names) == len(store.requests)
    assert calls.get("p0") == b"p0", "it is asked for again: its page may be read twice"


def test_a_change_outdates_what_was_prefetched(connected: tuple[Store, PipelinedCalls]) -> None:
    store, calls = connected
    store.records = {"a": b"old", "b": b"old"}
    calls.prefetch(["a", "b"])
    calls.put("a", b"new")
    calls.remove("b")
    assert calls.get("a") == b"new" and calls.get("b") is None
    calls.prefetch(["a"])
    assert calls.get("a") == b"new"


def test_large_changes_do_not_wait_for_the_end(connected: tuple[Store, PipelinedCalls]) -> None:
    store, calls = connected
    for number in range(6):
        calls.put(f"p{number}", bytes(1 << 20))
    assert len(store.records) == 5
    calls.flush()
    assert len(store.records) == 6


def test_large_pages_in_both_directions(connected: tuple[Store, PipelinedCalls]) -> None:
    store, calls = connected
    names = [f"p{number}" for number in range(2 * MAX_IN_FLIGHT)]
    store.records = {name: name.encode() * 20_000 for name in names}
    calls.prefetch(names)
    for name in names:
        data = calls.get(name)
        assert data == store.records[name]
        calls.put(name, data[::-1])
    calls.flush()
    assert store.records["p7"] == (b"p7" * 20_000)[::-1]


def test_an_error_leaves_no_answer_behind(connected: tuple[Store, PipelinedCalls]) -> None:
    store, calls = connected
    store.fails = "p1"
    for name in ("p0", "p1", "p2"):
        calls.put(name, b"1")
    with pytest.raises(PySparkRuntimeError, match="Error updating map state value: refused"):
        calls.flush()
    with pytest.raises(PySparkRuntimeError, match="Error getting value: refused"):
        calls.get("p1")
    assert calls.get("p2") == b"1", "its own answer, not that of the call before"


def test_a_connection_that_ends_is_an_error() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    calls = PipelinedCalls(ours.makefile("rwb"), "pages")
    with pytest.raises((EOFError, ConnectionError)):
        calls.get("a")
    ours.close()


NAMES = st.sampled_from([f"p{number}" for number in range(8)])
STEPS = st.one_of(
    st.tuples(st.just("get"), NAMES),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("put"), NAMES, st.binary(max_size=4)),
    st.tuples(st.just("prefetch"), st.lists(NAMES)),
    st.tuples(st.just("flush")),
)


@given(st.lists(STEPS, max_size=40))
def test_it_is_a_dictionary(steps: list[tuple[Any, ...]]) -> None:
    ends = _connected()
    store, calls = next(ends)
    expected: dict[str, bytes] = {}
    try:
        for name, *arguments in steps:
            found = getattr(calls, name)(*arguments)
            if name == "get":
                assert found == expected.get(arguments[0])
            elif name == "put":
                expected[arguments[0]] = arguments[1]
            elif name == "remove":
                expected.pop(arguments[0], None)
            elif name == "flush":
                assert store.records == expected
        calls.flush()
        assert store.records == expected
    finally:
        next(ends, None)


def test_another_client_of_pyspark_is_called_one_by_one() -> None:
    asked: list[Any] = []
    pages = SimpleNamespace(
        getValue=lambda key: asked.append(key) or (bytearray(b"1"),),
        updateValue=lambda key, value: asked.append((key, value)),
        removeKey=asked.append,
    )
    calls = state_calls(pages)
    assert isinstance(calls, SingleCalls)
    calls.prefetch(["a"])
    assert calls.get("a") == b"1"
    calls.put("b", b"2")
    calls.remove("c")
    calls.flush()
    assert asked == [("a",), (("b",), (b"2",)), ("c",)]


def test_the_client_of_this_pyspark_is_known() -> None:
    from pyspark.sql.streaming.map_state_client import MapStateClient
    from pyspark.sql.streaming.stateful_processor import MapState

    processor: Any = SimpleNamespace(sockfile="file", _parse_string_schema=lambda text: text)
    client = MapStateClient(processor, "name string", "data binary")
    assert isinstance(state_calls(MapState(client, "pages")), PipelinedCalls)
