"""State that expires by event time, beside timers and late records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common import Time
from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.datastream import KeyedProcessFunction
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from tests.unit.runtime.keyed import Harness
from tests.unit.runtime.programs import Mark, block

TTL_MS = 100


def living(descriptor: Any, *, event_time: bool = True, on_read: bool = False) -> Any:
    """The descriptor, with a time-to-live of 100 ms."""
    builder = StateTtlConfig.new_builder(Time.milliseconds(TTL_MS))
    builder = builder.use_event_time() if event_time else builder.use_processing_time()
    builder = builder.update_ttl_on_read_and_write() if on_read else builder
    descriptor.enable_time_to_live(builder.build())
    return descriptor


class Holding(KeyedProcessFunction):
    """A record is (what to do, ...); what is held comes out, before a "put" puts its value.

    "clock" sets a processing-time timer, "event" an event-time timer; both tell what is held.
    """

    def __init__(self, kind: str, on_read: bool = False) -> None:
        self.kind = kind
        self.on_read = on_read

    def open(self, runtime_context: Any) -> None:
        make, descriptor = {
            "value": (runtime_context.get_state, ValueStateDescriptor("held")),
            "list": (runtime_context.get_list_state, ListStateDescriptor("held")),
            "map": (runtime_context.get_map_state, MapStateDescriptor("held")),
            "reducing": (
                runtime_context.get_reducing_state,
                ReducingStateDescriptor("held", lambda one, other: other),
            ),
        }[self.kind]
        self.state = make(living(descriptor, on_read=self.on_read))
        self.by_clock = runtime_context.get_state(
            living(ValueStateDescriptor("by clock"), event_time=False)
        )

    def held(self) -> Any:
        if self.kind == "value":
            return self.state.value()
        if self.kind == "reducing":
            return self.state.get()
        if self.kind == "list":
            return (list(self.state.get()) or [None])[0]
        return self.state.get("x")

    def put(self, value: Any) -> None:
        if self.kind == "list":
            self.state.update([value])
        elif self.kind == "map":
            self.state.put("x", value)
        elif self.kind == "reducing":
            self.state.add(value)
        else:
            self.state.update(value)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        what, *rest = value
        if what == "see":
            yield self.held()
        elif what == "put":
            self.put(*rest)
        elif what == "put by clock":
            self.by_clock.update(*rest)
        elif what == "clock":
            ctx.timer_service().register_processing_time_timer(*rest)
        else:
            ctx.timer_service().register_event_time_timer(*rest)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.time_domain().name, self.held(), self.by_clock.value()


@pytest.fixture(params=["heap", "paged"])
def paged(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "paged")


def at(
    harness: Harness, time_ms: int, *record: Any, watermark: int | None = None, **more: Any
) -> Any:
    """What a record of that event time gives, perhaps with a watermark behind it."""
    marks = [] if watermark is None else [Mark(1, "split", watermark)]
    return harness.advance(block(record, keys=["a"], stamps=[time_ms], marks=marks), **more)


KINDS = ["value", "list", "map", "reducing"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_late_write_does_not_make_a_value_older(kind: str, paged: bool) -> None:
    harness = Harness(Holding(kind), paged=paged)
    at(harness, 1000, "put", "first")
    at(harness, 920, "put", "late")
    assert at(harness, 1030, "see") == ["late"]
    assert at(harness, 1099, "see") == ["late"]
    assert at(harness, 1100, "see") == [None]


@pytest.mark.parametrize("kind", KINDS)
def test_a_late_read_does_not_make_a_value_older(kind: str, paged: bool) -> None:
    harness = Harness(Holding(kind, on_read=True), paged=paged)
    at(harness, 1000, "put", "x")
    assert at(harness, 920, "see") == ["x"]
    assert at(harness, 1030, "see") == ["x"]
    assert at(harness, 1129, "see") == ["x"]
    assert at(harness, 1229, "see") == [None]


class Entries(Holding):
    """A map of which each record sees all entries, before it puts its own."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield dict(self.state.items())
        self.state.put(*value)


def test_of_a_map_the_entries_that_have_expired_are_not_read(paged: bool) -> None:
    harness = Harness(Entries("map"), paged=paged)
    assert at(harness, 1000, "a", 1) == [{}]
    assert at(harness, 1050, "b", 2) == [{"a": 1}]
    assert at(harness, 1120, "c", 3) == [{"b": 2}]


@pytest.mark.parametrize("kind", KINDS)
def test_a_processing_time_timer_does_not_let_event_time_pass(kind: str, paged: bool) -> None:
    """Its time is that of another clock, far ahead of the records'."""
    harness = Harness(Holding(kind), paged=paged)
    at(harness, 10, "put", "x", now_ms=10**12)
    at(harness, 10, "clock", 10**12, now_ms=10**12)
    assert harness.advance(now_ms=10**12 + 1) == [("PROCESSING_TIME", "x", None)]
    assert at(harness, 109, "see", now_ms=10**12 + 2) == ["x"]


def test_under_a_processing_time_timer_event_time_is_the_watermark(paged: bool) -> None:
    harness = Harness(Holding("value"), paged=paged)
    at(harness, 10, "put", "x")
    at(harness, 20, "clock", 50, watermark=109)
    at(harness, 5, "clock", 60)
    assert harness.advance(now_ms=50) == [("PROCESSING_TIME", "x", None)]
    at(harness, 5, "see", watermark=110, now_ms=51)
    assert harness.advance(now_ms=60) == [("PROCESSING_TIME", None, None)]


def test_the_clean_up_of_one_clock_leaves_what_lives_by_the_other(paged: bool) -> None:
    harness = Harness(Holding("value"), paged=paged)
    at(harness, 10, "put", "x", now_ms=10**12)
    at(harness, 10, "put by clock", "y", now_ms=10**12)
    at(harness, 10, "clock", 10**12 + 5_000, now_ms=10**12)
    # the clean-up of "y" is due, and then the user's timer
    assert harness.advance(now_ms=10**12 + 5_000) == [("PROCESSING_TIME", "x", None)]
    at(harness, 11, "put by clock", "z", now_ms=10**12 + 5_001)
    at(harness, 11, "event", 400)
    # the clean-up of "x" is due, and then the user's timer
    assert at(harness, 12, "see", watermark=400, now_ms=10**12 + 5_050) == [
        "x",
        ("EVENT_TIME", None, "z"),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_time_that_leaps_is_not_walked_through(kind: str, paged: bool) -> None:
    """One look for each moment of writing, however long the time between them."""
    harness = Harness(Holding(kind), paged=paged)
    at(harness, 0, "put", "x")
    at(harness, 5000, "put", "y")
    at(harness, 5000, "see", watermark=5000)
    timers, times = harness.backend(0).event_timers, []
    while (timer := timers.pop_due(MAX_WATERMARK)) is not None:
        times.append(timer.time_ms)
    assert times == [5100]


class Putting(Holding):
    """Its timers emit what is stored, and then put a value."""

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield from super().on_timer(timestamp, ctx)
        self.put("again")


@pytest.mark.parametrize("batch", [False, True], ids=["stream", "batch"])
def test_behind_the_last_watermark_event_time_stands_still(batch: bool, paged: bool) -> None:
    """What was held has expired with the end; what is put from then on stays."""
    harness = Harness(Putting("value"), "split", paged=paged, batch=batch)
    records = block(("put", "x"), ("clock", 50), ("clock", 60), keys=["a"] * 3, stamps=[7, 8, 9])
    end = block(marks=[Mark(0, "split", MAX_WATERMARK)])
    results = harness.advance(records, end) + harness.advance(now_ms=100)
    assert results == [("PROCESSING_TIME", None, None), ("PROCESSING_TIME", "again", None)]
