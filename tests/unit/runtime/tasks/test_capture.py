"""A failed call of a keyed task, taken down and made again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.datastream import KeyedProcessFunction
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from headrace.errors import JobError
from headrace.runtime.block import Block, Mark, encode
from headrace.runtime.tasks import capture
from headrace.runtime.tasks.capture import FailedCall, RecordingBackend, RecordingStore, Replay
from headrace.runtime.tasks.keyed_task import TaskInput
from tests.contract.stores import CountingStore
from tests.unit.runtime.keyed import Harness
from tests.unit.runtime.programs import channel

PAGE_BYTES = 200
KEYS = [f"key {number}" for number in range(120)]


class Ledger(KeyedProcessFunction):
    """Adds up what comes for a key; fails where a sum passes ``limit``, and at timers if set so.

    A negative amount sets a timer; "lock" puts what cannot be pickled into the state.
    """

    limit = 100
    fails_at_timers = False

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value == "lock":
            self.total.update(threading.Lock())
            return
        if value < 0:
            ctx.timer_service().register_event_time_timer(-value)
        self.total.update((self.total.value() or 0) + value)
        self.seen.add(value)
        if self.total.value() > self.limit:
            raise ValueError(f"{self.total.value()} is too much, after {[*self.seen.get()]}")
        yield self.total.value()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        if self.fails_at_timers:
            raise ValueError(f"at {timestamp} there is {self.total.value()}")
        yield timestamp, len([*self.seen.get()])


def block(*records: tuple[str, Any], until: int = 0) -> Block:
    """Records of keys, then a watermark if ``until`` is one."""
    keys, values = [key for key, _ in records], [value for _, value in records]
    marks = [Mark(len(values), channel("a"), until)] if until else []
    return Block(keys, values, None, False, marks, None, 0)


class RecordingHarness(Harness):
    """A keyed task over one store, each of whose failed calls is taken down."""

    def __init__(self, function: Any) -> None:
        super().__init__(function, "a", page_bytes=PAGE_BYTES)
        self.store = CountingStore()

    def call(self, *blocks: Block) -> list[Any]:
        """The records that came out of one micro-batch."""
        self.given = TaskInput(3, list(blocks), 0)
        self.sent = [*map(encode, blocks)]
        self.recorded = RecordingBackend(self.store, self.vertex.groups, PAGE_BYTES)
        self.task = self.new_task()
        return [*self.task.advance(self.given, self.recorded)]

    def failing(self, *blocks: Block) -> tuple[BaseException, FailedCall]:
        """What the call raised, and the call."""
        with pytest.raises(Exception) as raised:  # which one, the caller asks
            self.call(*blocks)
        error = raised.value
        arguments = self.task, self.given, self.sent, self.recorded, b"", error
        return error, capture.capture_failed_call(*arguments)


def again(harness: RecordingHarness, call: FailedCall) -> Replay:
    return Replay(call, harness.job)


def the_same(harness: RecordingHarness, call: FailedCall, error: BaseException) -> bool:
    with pytest.raises(type(error)) as raised:
        list(again(harness, call).run())
    found = raised.value
    return (str(found), found.__notes__) == (str(error), error.__notes__)


def filled() -> RecordingHarness:
    harness = RecordingHarness(Ledger())
    for key in KEYS:
        harness.call(block((key, 1), (key, 2)))
    return harness


def test_a_call_made_again_raises_the_same() -> None:
    harness = filled()
    error, call = harness.failing(block(("key 3", 90), ("key 7", 98), ("key 9", 1)))
    assert str(error) == "101 is too much, after [1, 2, 98]"
    assert "key:      'key 7'" in error.__notes__[0]
    assert "record:   98" in error.__notes__[0]
    assert the_same(harness, call, error)
    assert the_same(harness, call, error), "a call may be made again and again"
    assert again(harness, call).records == 3
    assert call.operator == "under test"
    assert call.failure == "ValueError: 101 is too much, after [1, 2, 98]"


def test_a_call_holds_the_state_that_it_touches_and_no_more() -> None:
    harness = filled()
    _, call = harness.failing(block(("key 3", 90), ("key 7", 98)))
    assert call.pages is not None
    stored = {name for name in harness.store.records if name.startswith("p")}
    held = {name for name in call.pages if name.startswith("p")}
    assert 0 < len(held) < len(stored) / 2
    assert all(harness.store.records[name] == call.pages[name] for name in held)


def test_a_mended_program_finds_the_state_that_the_call_had_not_come_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = filled()
    harness.call(block(("key 20", -50), ("key 21", -60), ("key 22", -70)))
    _, call = harness.failing(block(("key 7", 98), ("key 30", 1), until=60))
    monkeypatch.setattr(Ledger, "limit", 1000)
    replay = again(harness, call)
    out = [value for envelope in replay.run() for value in envelope.payload.values]
    assert out == [101, 4, (50, 3), (60, 3)]
    assert not replay.lacks_state


def test_missing_state_is_an_error_and_not_empty_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = filled()
    monkeypatch.setattr(capture, "READ_AHEAD_BYTES", 0)
    _, call = harness.failing(block(("key 7", 98), ("key 30", 1)))
    monkeypatch.setattr(Ledger, "limit", 1000)
    replay = again(harness, call)
    with pytest.raises(JobError, match="was not captured"):
        list(replay.run())
    assert replay.lacks_state


def test_a_timer_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = filled()
    harness.call(block(("key 20", -50)))
    monkeypatch.setattr(Ledger, "fails_at_timers", True)
    error, call = harness.failing(block(("key 1", 1), until=50))
    assert str(error) == "at 50 there is -47"
    assert the_same(harness, call, error)


def test_a_list_in_records_of_its_own() -> None:
    harness = RecordingHarness(Ledger())
    for _ in range(3):
        harness.call(block(*([("big", 0)] * 1000)))
    assert any(name.startswith("l") for name in harness.store.records)
    error, call = harness.failing(block(("big", 101)))
    assert the_same(harness, call, error)


def test_state_that_cannot_be_written_fails_again() -> None:
    """The flush fails in the middle, after other pages were written."""
    harness = filled()
    before = {**harness.store.records}
    error, call = harness.failing(block(*((key, 5) for key in KEYS), ("key 7", "lock")))
    assert "lock" in str(error)
    assert call.pages is not None
    assert all(data == before.get(name) for name, data in call.pages.items())
    with pytest.raises(type(error), match="lock"):
        list(again(harness, call).run())


def test_what_was_there_before_is_kept_whatever_the_call_does() -> None:
    store = CountingStore()
    store.records.update(read=b"1", put=b"2", removed=b"3", left=b"4")
    recording = RecordingStore(store)
    assert recording.get("read") == b"1"
    assert recording.get("none") is None
    recording.put("read", b"x")
    recording.put("put", b"x")
    recording.put("new", b"x")
    recording.remove("removed")
    assert [recording.get(name) for name in ("read", "put", "removed")] == [b"x", b"x", None]
    before = {"read": b"1", "put": b"2", "removed": b"3", "none": None, "new": None}
    assert recording.before == before
    assert store.records == {"read": b"x", "put": b"x", "new": b"x", "left": b"4"}
