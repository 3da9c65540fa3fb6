"""The spans of the rules, to the millisecond, and properties over events drawn at random."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.demo.trades.book import Book, MemoryTable, memory_book
from headrace.demo.trades.events import Anomaly, NormalisedEvent
from headrace.demo.trades.linker import Linker, Output
from tests.unit.demo.trades.linking import DAY_MS, MINUTE_MS, Feed, document, run, summary

WAIT_MS = 15 * MINUTE_MS


@pytest.fixture
def feed() -> Feed:
    return Feed()


def test_what_comes_exactly_15_minutes_later_is_in_time(feed: Feed) -> None:
    outputs = run([feed.execution(7, "A:1", "A:x"), feed.new(7 + WAIT_MS, "A:1")], finish=True)
    assert summary(outputs) == ["A:1 v1", "A:1 v2"]


def test_what_comes_a_millisecond_later_is_not(feed: Feed) -> None:
    outputs = run([feed.execution(7, "A:1", "A:x"), feed.new(8 + WAIT_MS, "A:1")], finish=True)
    assert summary(outputs) == ["ORPHAN A:1", "A:1 v1"]


def test_a_version_that_waits_less(feed: Feed) -> None:
    early, late = feed.execution(7, "A:1", "A:x"), feed.new(9, "A:1")
    for wait_ms, wanted in ((1, ["ORPHAN A:1", "A:1 v1"]), (2, ["A:1 v1", "A:1 v2"])):
        linker = Linker(memory_book(), wait_ms)
        outputs = [*linker.apply(early), *linker.apply(late), *linker.finish()]
        assert summary(outputs) == wanted


def test_each_event_waits_from_its_own_time(feed: Feed) -> None:
    outputs = run(
        [
            feed.execution(0, "A:1", "A:x"),
            feed.execution(5, "A:1", "A:y"),
            feed.new(3 + WAIT_MS, "A:1"),
        ]
    )
    assert summary(outputs) == ["ORPHAN A:1", "A:1 v1", "A:1 v2"]
    assert [each["exec_id"] for each in document(outputs)["orders"][0]["executions"]] == ["A:y"]


def test_a_link_that_waits_itself_does_not_stretch_the_wait(feed: Feed) -> None:
    outputs = run(
        [
            feed.execution(0, "B:1", "B:x"),
            feed.new(5, "B:1", parent="A:1"),
            feed.new(5 + WAIT_MS, "A:1"),
        ]
    )
    assert summary(outputs) == ["ORPHAN B:1", "A:1 v1", "A:1 v2"]


def test_the_deadline_is_a_timer_after_the_events_of_its_time(feed: Feed) -> None:
    linker = Linker(memory_book())
    assert linker.deadline() is None
    assert linker.apply(feed.execution(7, "A:1", "A:x")) == []
    assert linker.deadline() == 7 + WAIT_MS
    assert linker.advance(6 + WAIT_MS) == []
    assert summary(linker.advance(7 + WAIT_MS)) == ["ORPHAN A:1"]
    assert linker.advance(7 + WAIT_MS) == []
    deadline_ms = linker.deadline()
    assert deadline_ms is not None
    assert deadline_ms > DAY_MS


def test_orphans_of_one_advance_come_in_their_own_order(feed: Feed) -> None:
    linker = Linker(memory_book())
    for event in (
        feed.cancel(1, "A:5"),
        feed.cancel(1, "B:4"),
        feed.cancel(1, "A:3"),
        feed.cancel(2, "A:5"),
    ):
        assert linker.apply(event) == []
    # In the order of turns: system before sequence number, whatever was waited for.
    outputs = linker.advance(DAY_MS)
    assert summary(outputs)[:2] == ["ORPHAN A:1", "ORPHAN A:3"]
    assert summary(outputs)[2:] == ["ORPHAN B:2", "ORPHAN A:4"]


def test_an_orphans_id_is_remembered(feed: Feed) -> None:
    early = feed.execution(0, "A:1", "A:x")
    again = replace(early, event_time_ms=WAIT_MS + 2)
    outputs = run([early, feed.new(WAIT_MS + 1, "A:1"), again])
    assert summary(outputs) == ["ORPHAN A:1", "A:1 v1", "DUPLICATE A:1"]


@pytest.mark.parametrize("start_ms", [0, 7, 59 * MINUTE_MS, -3])
def test_an_event_id_is_remembered_for_one_day_and_its_last_millisecond(
    feed: Feed, start_ms: int
) -> None:
    def again_after(span_ms: int) -> list[str]:
        first = Feed().cancel(start_ms, "A:1")
        again = replace(first, event_time_ms=start_ms + span_ms)
        return summary(run([first, again], finish=True))

    assert again_after(DAY_MS) == ["ORPHAN A:1", "DUPLICATE A:1"]
    assert again_after(DAY_MS + 1) == ["ORPHAN A:1", "ORPHAN A:1"]
    assert again_after(3 * DAY_MS) == ["ORPHAN A:1", "ORPHAN A:1"]


def test_a_duplicate_does_not_renew_the_memory_but_a_new_first_does() -> None:
    first = Feed().cancel(0, "A:1")
    times_ms = [0, DAY_MS, DAY_MS + 1, DAY_MS + 2, 2 * DAY_MS + 1, 2 * DAY_MS + 2]
    events = [replace(first, event_time_ms=each) for each in times_ms]
    kinds = [line.split()[0] for line in summary(run(events, finish=True))]
    assert kinds == ["ORPHAN", "DUPLICATE", "DUPLICATE", "ORPHAN", "DUPLICATE", "ORPHAN"]


@pytest.mark.parametrize("start_ms", [0, 11, 30 * MINUTE_MS])
def test_a_hierarchy_with_nothing_open_leaves_a_day_after_its_last_event(start_ms: int) -> None:
    def execution_after(span_ms: int) -> list[str]:
        feed = Feed()
        events = [
            feed.new(start_ms - 5, "A:1"),
            feed.replace(start_ms - 3, "A:2", "A:1"),
            feed.execution(start_ms - 2, "A:1", "A:x"),
            feed.cancel(start_ms, "A:1"),
            # Reports CLOSED_ORDER, and touches nothing.
            feed.cancel(start_ms + MINUTE_MS, "A:1"),
            feed.execution(start_ms + span_ms, "A:2", "A:y"),
        ]
        return summary(run(events, finish=True))[5:]

    assert execution_after(DAY_MS) == ["A:1 v5"]
    assert execution_after(DAY_MS + 1) == ["ORPHAN A:6"]
    assert execution_after(2 * DAY_MS) == ["ORPHAN A:6"]


def test_a_hierarchy_with_an_open_order_stays(feed: Feed) -> None:
    events = [
        feed.new(0, "A:1", quantity="10"),
        feed.new(1, "B:1", parent="A:1"),
        feed.execution(2, "A:1", "A:x"),
        feed.execution(9 * DAY_MS, "B:1", "B:x"),
        feed.cancel(9 * DAY_MS, "B:1"),
        feed.bust(10 * DAY_MS, "A:x"),
        feed.execution(19 * DAY_MS, "B:1", "B:y"),
        feed.cancel(20 * DAY_MS, "A:1"),
        feed.execution(21 * DAY_MS + 1, "A:1", "A:y"),
    ]
    lines = summary(run(events, finish=True))
    assert lines == [*(f"A:1 v{n}" for n in range(1, 9)), "ORPHAN A:9"]


def test_the_ids_of_a_hierarchy_that_left_may_be_used_again(feed: Feed) -> None:
    def day(start_ms: int) -> list[NormalisedEvent]:
        return [
            feed.new(start_ms, "A:1", quantity="10"),
            feed.execution(start_ms + 1, "A:1", "A:x"),
        ]

    assert summary(run([*day(0), *day(DAY_MS + 2)])) == ["A:1 v1", "A:1 v2", "A:1 v1", "A:1 v2"]
    # Here the new comes in time for the old one, which is gone when the execution comes.
    lines = summary(run([*day(0), *day(DAY_MS + 1)], finish=True))
    assert [line.split()[0] for line in lines] == ["A:1", "A:1", "DUPLICATE", "ORPHAN"]


def test_nothing_is_left_in_the_book_a_day_and_an_hour_later(feed: Feed) -> None:
    book = memory_book()
    run(
        [
            feed.new(1, "A:1", quantity="10"),
            feed.replace(2, "A:2", "A:1", quantity="10"),
            feed.execution(3, "A:1", "A:x"),
            feed.bust(4, "A:y"),
        ],
        book,
    )
    linker = Linker(book)
    while (deadline_ms := linker.deadline()) is not None:
        assert deadline_ms <= DAY_MS + 60 * MINUTE_MS
        linker.advance(deadline_ms)
    tables = (book.hierarchies, book.orders, book.executions, book.waiting, book.seen, book.due)
    assert [table.entries for table in tables if isinstance(table, MemoryTable)] == [{}] * 6


class _Pickled:
    """A table, or a cell, that keeps bytes: a change that is not put is lost, as in real state."""

    def __init__(self) -> None:
        self._entries: dict[Any, bytes] = {}

    def get(self, key: Any) -> Any:
        raw = self._entries.get(key)
        return None if raw is None else pickle.loads(raw)

    def put(self, key: Any, value: Any) -> None:
        self._entries[key] = pickle.dumps(value)

    def remove(self, key: Any) -> None:
        self._entries.pop(key, None)

    def value(self) -> Any:
        return self.get(None)

    def update(self, value: Any) -> None:
        self.put(None, value)


def _pickled_book() -> Book:
    return Book(_Pickled(), _Pickled(), _Pickled(), _Pickled(), _Pickled(), _Pickled(), _Pickled())


_ids = st.integers(1, 5).map("A:{}".format)
_execs = st.integers(1, 4).map("A:x{}".format)
_amounts = st.decimals("0.001", 40, places=3)


@st.composite
def _events(draw: st.DrawFn) -> list[NormalisedEvent]:
    """Events over few ids and few days, so that they meet; sorted as the rules say."""
    feed, events = Feed(), []
    step = st.sampled_from((0, 1, 7 * MINUTE_MS, WAIT_MS, 5 * 60 * MINUTE_MS, DAY_MS))
    now_ms = 0
    for _ in range(draw(st.integers(1, 30))):
        now_ms += draw(step)
        kind = draw(st.sampled_from(("new", "child", "replace", "execution", "bust", "end")))
        if kind == "new":
            events.append(feed.new(now_ms, draw(_ids), None, str(draw(_amounts))))
        elif kind == "child":
            events.append(feed.new(now_ms, draw(_ids), draw(_ids), str(draw(_amounts))))
        elif kind == "replace":
            events.append(feed.replace(now_ms, draw(_ids), draw(_ids), str(draw(_amounts))))
        elif kind == "execution":
            amounts = (str(draw(_amounts)), str(draw(_amounts)))
            events.append(feed.execution(now_ms, draw(_ids), draw(_execs), *amounts))
        elif kind == "bust":
            events.append(feed.bust(now_ms, draw(_execs)))
        else:
            end = draw(st.sampled_from((feed.cancel, feed.reject)))
            events.append(end(now_ms, draw(_ids)))
        if draw(st.integers(0, 9)) == 0:
            events.append(draw(st.sampled_from(events)))
    return sorted(events, key=lambda event: event.turn)


@settings(deadline=None)
@given(_events())
def test_every_event_ends_in_a_document_or_an_anomaly(events: list[NormalisedEvent]) -> None:
    outputs = run(events, finish=True)
    kinds = Counter(output.kind for output in outputs if isinstance(output, Anomaly))
    assert len(outputs) - kinds["OVERFILL"] == len(events)


@settings(deadline=None)
@given(_events())
def test_documents_hold_together(events: list[NormalisedEvent]) -> None:
    for output in run(events):
        if not isinstance(output, Anomaly):
            _check(output.to_json())


def _check(whole: dict[str, Any]) -> None:
    by_id = {order["order_id"]: order for order in whole["orders"]}
    assert whole["orders"][0]["order_id"] == whole["root"]
    for order in whole["orders"]:
        counted = [each for each in order["executions"] if not each["busted"]]
        cum_qty = sum((Fraction(each["quantity"]) for each in counted), Fraction())
        notional = sum(
            (Fraction(each["quantity"]) * Fraction(each["price"]) for each in counted), Fraction()
        )
        assert Fraction(order["cum_qty"]) == cum_qty
        if cum_qty:
            assert Fraction(order["avg_px"]) == round(notional / cum_qty, 6)
        else:
            assert order["avg_px"] is None
        below = Fraction()
        for other in whole["orders"]:
            above = other["parent"]
            while above is not None and above != order["order_id"]:
                above = by_id[above]["parent"]
            below += Fraction(other["cum_qty"]) if above is not None else 0
        assert Fraction(order["executed_below"]) == below
        quantity = Fraction(order["quantity"])
        if order["status"] in ("CANCELLED", "CANCELLED_BY_PARENT", "REJECTED"):
            assert order["leaves_qty"] == "0"
        else:
            assert Fraction(order["leaves_qty"]) == max(quantity - cum_qty, Fraction())
            parts = "PARTIALLY_FILLED" if cum_qty else "NEW"
            assert order["status"] == ("FILLED" if cum_qty >= quantity else parts)
        for name in ("quantity", "price", "cum_qty", "avg_px", "leaves_qty", "executed_below"):
            text = order[name]
            assert text is None or text == format(Decimal(text).normalize(), "f")


@settings(deadline=None)
@given(_events(), st.lists(st.integers(0, 20 * DAY_MS), max_size=20))
def test_neither_timers_nor_pickled_state_change_what_comes_out(
    events: list[NormalisedEvent], timers_ms: list[int]
) -> None:
    linker = Linker(_pickled_book())
    outputs: list[Output] = []
    timers_ms.sort()
    for event in events:
        while timers_ms and timers_ms[0] < event.event_time_ms:
            outputs += linker.advance(timers_ms.pop(0))
        outputs += linker.apply(event)
        if (deadline_ms := linker.deadline()) is not None:
            timers_ms = sorted({*timers_ms, deadline_ms})
    outputs += linker.finish()
    assert outputs == run(events, finish=True)
