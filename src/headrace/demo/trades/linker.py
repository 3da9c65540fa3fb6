"""Links the events of one instrument into order hierarchies, one event at a time.

Two linkers never share a ``Book``. A streaming job gives each instrument one whose tables are its
keyed state (a ``MapState`` is a ``Table``, a ``ValueState`` a ``Cell``); ``memory_book`` gives one
of dictionaries. Everything put into it pickles, and is put again whenever it changes.

Time
    ``apply(e)`` wants the events in the order of ``NormalisedEvent.turn``. ``advance(t)`` says
    that every event of time t and before has been applied; ``apply(e)`` itself begins with
    ``advance(e.event_time_ms - 1)``, so the results are the same however often it is called
    between; ``deadline()`` is the next t at which it would do something, for a timer.

    All spans include their end. An event of time t that waits is an ``ORPHAN`` at
    ``advance(t + 15 min)``: what comes at exactly t + 15 min is in time, and a millisecond later
    is not. Its id is a ``DUPLICATE`` up to and including t + 1 day. A hierarchy with no order
    open is found up to and including ``as_of_ms`` + 1 day. (Ids and hierarchies leave the tables
    within the hour after; whether one still counts is asked when it is found.)

Choices where the rules are silent
    - An event is known by its id alone: another event under a remembered id is a ``DUPLICATE``,
      whatever it says, also while the first waits and after it was reported ``ORPHAN``. It does
      not renew the memory.
    - A new or a replace whose own id is known already, an execution whose execution id is, and
      the bust of a busted execution repeat what has been done: ``DUPLICATE``, and nothing
      changes. So is a replace by an id of its own chain. What the event refers to is looked for
      first, so such an event may wait before, or end as an ``ORPHAN``.
    - A replace of a closed order is ``CLOSED_ORDER``, also if its new id is known; its new id
      does not become known.
    - Each kind has one reference: a new its parent, a replace what it replaces, a cancel, reject
      and execution its order, a bust its execution. A parent on a replace is not looked at, and
      so are the order of a bust, and the side and account of a replace.
    - An order that names itself as its parent, or orders that do so in a circle, wait for
      each other and become ``ORPHAN``.
    - A new below a closed or filled order is placed, and is open.
    - A cancel closes open orders at any depth, below filled and closed ones too. A reject closes
      its order alone.
    - ``OVERFILL`` is reported for every execution that leaves ``cum_qty`` above the quantity,
      closed orders' included; a replace that takes the quantity below ``cum_qty`` is none.
    - An id of a hierarchy that left the state is not known any more, and may be used again.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TypeVar

from headrace.demo.trades.book import Book, Due, OrderKey
from headrace.demo.trades.events import Anomaly, AnomalyKind, NormalisedEvent, Side
from headrace.demo.trades.hierarchy import CLOSED, OPEN, Execution, Hierarchy, Order, OrderDocument

WAIT_MS = 15 * 60_000
REMEMBER_MS = 24 * 3_600_000
KEEP_MS = 24 * 3_600_000

_SWEEP_MS = 3_600_000
_END_MS = 2**63 - 1

V = TypeVar("V")

Output = OrderDocument | Anomaly


class Linker:
    """Applies the events of one instrument to its book; see the module for order and time."""

    def __init__(self, book: Book, wait_ms: int = WAIT_MS) -> None:
        self._book = book
        self._wait_ms = wait_ms

    def apply(self, event: NormalisedEvent) -> list[Output]:
        """Return the documents and anomalies that result from the event, in order.

        They include those of events that waited for it, and of deadlines before its time.
        """
        now_ms = event.event_time_ms
        outputs = self.advance(now_ms - 1)
        seen_ms = self._book.seen.get(event.event_id)
        if seen_ms is not None and now_ms <= seen_ms + REMEMBER_MS:
            outputs.append(_make_anomaly("DUPLICATE", event, "the event id came before"))
            return outputs
        self._store_event_id(event)
        # Depth first without recursion: a chain of waiting events may be longer than the stack.
        turns = [event]
        while turns:
            known_reference = self._apply_or_wait(turns.pop(), now_ms, outputs)
            if known_reference is not None:
                released = self._book.waiting.get(known_reference)
                if released is not None:
                    self._book.waiting.remove(known_reference)
                    turns += sorted(released, key=_sort_key, reverse=True)
        return outputs

    def advance(self, event_time_ms: int) -> list[Output]:
        """Return the orphans of all deadlines up to a time, after all events up to it were applied.

        It also removes expired event ids and hierarchies.
        """
        deadlines = self._book.deadlines.value()
        if not deadlines or deadlines[0] > event_time_ms:
            return []
        outputs: list[Output] = []
        over = bisect_left(deadlines, event_time_ms + 1)
        for deadline_ms in deadlines[:over]:
            due = self._book.due.get(deadline_ms)
            if due is not None:
                self._book.due.remove(deadline_ms)
                outputs += self._take_orphans(due.references, deadline_ms)
                self._remove_expired_ids(due.event_ids, deadline_ms)
                self._remove_idle_hierarchies(due.roots, deadline_ms)
        self._book.deadlines.update(deadlines[over:])
        return outputs

    def finish(self) -> list[Output]:
        """Return the orphans at the end of a bounded input: all events that still wait."""
        return self.advance(_END_MS)

    def deadline(self) -> int | None:
        """Return the earliest event time at which ``advance`` has something to do."""
        deadlines = self._book.deadlines.value()
        return deadlines[0] if deadlines else None

    def _apply_or_wait(
        self, event: NormalisedEvent, now_ms: int, outputs: list[Output]
    ) -> str | None:
        """Apply an event, or let it wait; returns the reference that it makes known, if any."""
        kind = event.kind
        if kind == "NEW":
            return self._apply_new(event, now_ms, outputs)
        if kind == "BUST":
            exec_id = _require_value(event.exec_id)
            reference = f"execution {exec_id}"
            order_key = self._book.executions.get(exec_id)
        else:
            order_id = _require_value(event.replaces if kind == "REPLACE" else event.order_id)
            reference = f"order {order_id}"
            order_key = self._book.orders.get(order_id)
        hierarchy = self._get_hierarchy(order_key, now_ms)
        if order_key is None or hierarchy is None:
            self._add_waiting(event, reference)
            return None
        first_id = order_key[1]
        status = hierarchy.orders[first_id].status
        if kind == "REPLACE":
            if status in CLOSED:
                outputs.append(_closed_order_anomaly(event, first_id, status))
                return None
            return self._apply_replace(event, hierarchy, first_id, now_ms, outputs)
        if kind == "EXECUTION":
            return self._apply_execution(event, hierarchy, first_id, now_ms, outputs)
        if kind == "BUST":
            if not hierarchy.bust(first_id, exec_id):
                reason = f"execution {exec_id} is busted already"
                outputs.append(_make_anomaly("DUPLICATE", event, reason))
                return None
        elif status not in OPEN:
            outputs.append(_closed_order_anomaly(event, first_id, status))
            return None
        elif kind == "CANCEL":
            hierarchy.cancel(first_id)
        else:
            hierarchy.reject(first_id)
        self._publish(event, hierarchy, outputs)
        return None

    def _apply_new(self, event: NormalisedEvent, now_ms: int, outputs: list[Output]) -> str | None:
        """Apply a new order, or let it wait for its parent; return the reference it makes known."""
        order_id, parent = _require_value(event.order_id), None
        hierarchy: Hierarchy | None
        if event.parent_order_id is None:
            hierarchy = Hierarchy(order_id, event.instrument_id, event.currency, event.client)
        else:
            order_key = self._book.orders.get(event.parent_order_id)
            hierarchy = self._get_hierarchy(order_key, now_ms)
            if order_key is None or hierarchy is None:
                self._add_waiting(event, f"order {event.parent_order_id}")
                return None
            parent = order_key[1]
        if self._is_known(order_id, now_ms):
            outputs.append(_make_anomaly("DUPLICATE", event, f"order {order_id} is known already"))
            return None
        side: Side = _require_value(event.side)
        quantity, price = _require_value(event.quantity), _require_value(event.price)
        hierarchy.place(Order([order_id], parent, side, quantity, price))
        self._book.orders.put(order_id, (hierarchy.root, order_id))
        self._publish(event, hierarchy, outputs)
        return f"order {order_id}"

    def _apply_replace(
        self,
        event: NormalisedEvent,
        hierarchy: Hierarchy,
        first_id: str,
        now_ms: int,
        outputs: list[Output],
    ) -> str | None:
        """Replace an order's id, quantity and price; return the reference that it makes known."""
        new_id = _require_value(event.order_id)
        if self._is_known(new_id, now_ms):
            outputs.append(_make_anomaly("DUPLICATE", event, f"order {new_id} is known already"))
            return None
        hierarchy.replace(
            first_id, new_id, _require_value(event.quantity), _require_value(event.price)
        )
        self._book.orders.put(new_id, (hierarchy.root, first_id))
        self._publish(event, hierarchy, outputs)
        return f"order {new_id}"

    def _apply_execution(
        self,
        event: NormalisedEvent,
        hierarchy: Hierarchy,
        first_id: str,
        now_ms: int,
        outputs: list[Output],
    ) -> str | None:
        """Apply an execution, even above the quantity; return the reference that it makes known."""
        exec_id = _require_value(event.exec_id)
        if self._get_hierarchy(self._book.executions.get(exec_id), now_ms) is not None:
            reason = f"execution {exec_id} is known already"
            outputs.append(_make_anomaly("DUPLICATE", event, reason))
            return None
        execution = Execution(
            exec_id,
            _require_value(event.quantity),
            _require_value(event.price),
            event.event_time_ms,
        )
        if hierarchy.execute(first_id, execution):
            reason = f"more than the quantity of order {first_id} is executed"
            outputs.append(_make_anomaly("OVERFILL", event, reason))
        self._book.executions.put(exec_id, (hierarchy.root, first_id))
        self._publish(event, hierarchy, outputs)
        return f"execution {exec_id}"

    def _publish(self, event: NormalisedEvent, hierarchy: Hierarchy, outputs: list[Output]) -> None:
        outputs.append(hierarchy.document(event.event_time_ms, event.event_id))
        self._book.hierarchies.put(hierarchy.root, hierarchy)
        if not hierarchy.open_orders:
            due_ms = _next_sweep_ms(hierarchy.as_of_ms + KEEP_MS)
            due = self._get_due(due_ms)
            if not due.roots or due.roots[-1] != hierarchy.root:
                due.roots.append(hierarchy.root)
                self._book.due.put(due_ms, due)

    def _is_known(self, order_id: str, now_ms: int) -> bool:
        return self._get_hierarchy(self._book.orders.get(order_id), now_ms) is not None

    def _get_hierarchy(self, order_key: OrderKey | None, now_ms: int) -> Hierarchy | None:
        """Return the hierarchy that contains an order.

        If its retention has ended, it is removed from the book.
        """
        if order_key is None:
            return None
        hierarchy = self._book.hierarchies.get(order_key[0])
        if hierarchy is not None and _is_over(hierarchy, now_ms - 1):
            self._remove_hierarchy(hierarchy)
            return None
        return hierarchy

    def _remove_hierarchy(self, hierarchy: Hierarchy) -> None:
        for order in hierarchy.orders.values():
            for order_id in order.ids:
                self._book.orders.remove(order_id)
            for exec_id in order.executions:
                self._book.executions.remove(exec_id)
        self._book.hierarchies.remove(hierarchy.root)

    def _remove_idle_hierarchies(self, roots: list[str], deadline_ms: int) -> None:
        for root in roots:
            hierarchy = self._book.hierarchies.get(root)
            if hierarchy is not None and _is_over(hierarchy, deadline_ms):
                self._remove_hierarchy(hierarchy)

    def _store_event_id(self, event: NormalisedEvent) -> None:
        self._book.seen.put(event.event_id, event.event_time_ms)
        due_ms = _next_sweep_ms(event.event_time_ms + REMEMBER_MS)
        due = self._get_due(due_ms)
        due.event_ids.append(event.event_id)
        self._book.due.put(due_ms, due)

    def _remove_expired_ids(self, event_ids: list[str], deadline_ms: int) -> None:
        for event_id in event_ids:
            seen_ms = self._book.seen.get(event_id)
            # The id may be used again between its expiry and this sweep, up to an hour later.
            if seen_ms is not None and seen_ms + REMEMBER_MS <= deadline_ms:
                self._book.seen.remove(event_id)

    def _add_waiting(self, event: NormalisedEvent, reference: str) -> None:
        """Store an event until ``reference`` is known or its deadline has passed."""
        waiting = self._book.waiting.get(reference) or []
        waiting.append(event)
        self._book.waiting.put(reference, waiting)
        due_ms = event.event_time_ms + self._wait_ms
        due = self._get_due(due_ms)
        due.references.append(reference)
        self._book.due.put(due_ms, due)

    def _take_orphans(self, references: list[str], deadline_ms: int) -> list[Output]:
        """Remove the events that waited too long for ``references``, and return their anomalies."""
        orphans: list[tuple[NormalisedEvent, str]] = []
        for reference in dict.fromkeys(references):
            waiting = self._book.waiting.get(reference)
            if waiting is None:
                continue
            left = [each for each in waiting if each.event_time_ms + self._wait_ms > deadline_ms]
            if left:
                self._book.waiting.put(reference, left)
            else:
                self._book.waiting.remove(reference)
            over = [each for each in waiting if each.event_time_ms + self._wait_ms <= deadline_ms]
            orphans += [(each, reference) for each in over]
        orphans.sort(key=lambda orphan: orphan[0].turn)
        return [
            _make_anomaly("ORPHAN", each, f"{ref} did not come in time") for each, ref in orphans
        ]

    def _get_due(self, deadline_ms: int) -> Due:
        """Return the entries of a deadline, which is added to the list of deadlines."""
        due = self._book.due.get(deadline_ms)
        if due is None:
            deadlines = self._book.deadlines.value() or []
            insort(deadlines, deadline_ms)
            self._book.deadlines.update(deadlines)
            due = Due()
        return due


def _sort_key(event: NormalisedEvent) -> tuple[int, str, int]:
    return event.turn


def _is_over(hierarchy: Hierarchy, event_time_ms: int) -> bool:
    """Return whether the hierarchy's retention has ended before the given time."""
    return not hierarchy.open_orders and hierarchy.as_of_ms + KEEP_MS <= event_time_ms


def _next_sweep_ms(time_ms: int) -> int:
    return -(-time_ms // _SWEEP_MS) * _SWEEP_MS


def _require_value(value: V | None) -> V:
    """Return the value of a field that the decoder guarantees."""
    if value is None:
        raise TypeError("a normalised event lacks a field that its kind needs")
    return value


def _closed_order_anomaly(event: NormalisedEvent, order_id: str, status: str) -> Anomaly:
    return _make_anomaly("CLOSED_ORDER", event, f"order {order_id} is {status}")


def _make_anomaly(kind: AnomalyKind, event: NormalisedEvent, reason: str) -> Anomaly:
    return Anomaly(kind, event.event_id, reason=reason)
