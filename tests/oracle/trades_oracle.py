"""The trade-lifecycle rules worked out by brute force over a whole folder, for tests alone.

Slow and plain on purpose: it shares no code with the job, keeps what happened to an order as a
list and works every figure out again, in exact fractions, for each document. The input is bounded,
so nothing is ever LATE. Where the rules leave a choice, a comment beginning "Reading:" names the
one made.

``python -m tests.oracle.trades_oracle DIR [--out DIR]`` writes orders.jsonl and anomalies.jsonl.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from .trades_records import (
    Event,
    Malformed,
    Reference,
    csv_cells,
    decode_alpha,
    decode_beta,
    decode_gamma,
    normalise,
    read_lines,
)

DAY_MS = 24 * 60 * 60 * 1000
ORPHAN_MS = 15 * 60 * 1000
OPEN = ("NEW", "PARTIALLY_FILLED")


@dataclass
class Counts:
    """Input records, documents, and anomalies by kind."""

    records: int = 0
    documents: int = 0
    anomalies: dict[str, int] = field(default_factory=dict)


@dataclass
class Result:
    """What the rules give: all documents, the last of each root, the anomalies, the counts."""

    orders: list[dict[str, Any]] = field(default_factory=list)
    final: dict[str, dict[str, Any]] = field(default_factory=dict)
    anomalies: list[dict[str, Any]] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)


@dataclass
class Execution:
    """One execution and whether it was taken back."""

    exec_id: str
    quantity: Fraction
    price: Fraction
    time_ms: int
    busted: bool = False


@dataclass
class Order:
    """What happened to one order; everything else is worked out of it when asked."""

    ids: list[str]
    parent: Order | None
    hierarchy: Hierarchy
    side: str
    quantity: Fraction
    price: Fraction
    executions: list[Execution] = field(default_factory=list)
    closed_as: str = ""

    @property
    def cum_qty(self) -> Fraction:
        """The executions that stand, added up."""
        return sum((e.quantity for e in self.executions if not e.busted), Fraction(0))

    @property
    def avg_px(self) -> Fraction | None:
        """Notional by quantity to six decimals, half even."""
        if self.cum_qty == 0:
            return None
        notional = sum((e.quantity * e.price for e in self.executions if not e.busted), Fraction(0))
        return Fraction(round(notional / self.cum_qty * 10**6), 10**6)

    @property
    def status(self) -> str:
        """As closed, else by the executed quantity."""
        if self.closed_as:
            return self.closed_as
        if self.cum_qty == 0:
            return "NEW"
        return "PARTIALLY_FILLED" if self.cum_qty < self.quantity else "FILLED"

    @property
    def leaves_qty(self) -> Fraction:
        """What may still be executed."""
        return Fraction(0) if self.closed_as else max(Fraction(0), self.quantity - self.cum_qty)

    def ancestors(self) -> Iterator[Order]:
        """Parent, its parent, up to the root."""
        above = self.parent
        while above is not None:
            yield above
            above = above.parent


@dataclass
class Hierarchy:
    """A root and all below it, in order of first appearance."""

    instrument_id: str
    currency: str
    client: str | None
    orders: list[Order] = field(default_factory=list)
    version: int = 0
    as_of_ms: int = 0

    def below(self, order: Order) -> list[Order]:
        """All descendants of an order."""
        return [o for o in self.orders if any(above is order for above in o.ancestors())]

    def has_left(self, now_ms: int) -> bool:
        """Whether it is out of the state: nothing open, and untouched for more than a day."""
        # Reading: exactly one day later it is still there, as with the 15 minutes of an orphan.
        idle = now_ms - self.as_of_ms > DAY_MS
        return idle and all(order.status not in OPEN for order in self.orders)

    def document(self) -> dict[str, Any]:
        """The hierarchy as it stands."""
        return {
            "root": self.orders[0].ids[0],
            "version": self.version,
            "as_of_ms": self.as_of_ms,
            "instrument_id": self.instrument_id,
            "currency": self.currency,
            "client": self.client,
            "orders": [self.order_document(order) for order in self.orders],
        }

    def order_document(self, order: Order) -> dict[str, Any]:
        """One order of the document."""
        below = sum((child.cum_qty for child in self.below(order)), Fraction(0))
        return {
            "order_id": order.ids[0],
            "ids": list(order.ids),
            "parent": order.parent.ids[0] if order.parent else None,
            "side": order.side,
            "quantity": plain(order.quantity),
            "price": plain(order.price),
            "cum_qty": plain(order.cum_qty),
            "avg_px": None if order.avg_px is None else plain(order.avg_px),
            "leaves_qty": plain(order.leaves_qty),
            "executed_below": plain(below),
            "status": order.status,
            "executions": [
                {
                    "exec_id": execution.exec_id,
                    "quantity": plain(execution.quantity),
                    "price": plain(execution.price),
                    "time_ms": execution.time_ms,
                    "busted": execution.busted,
                }
                for execution in order.executions
            ],
        }


def plain(number: Fraction) -> str:
    """A decimal fraction as text: no exponent, no trailing zeros."""
    digits = 0
    while (number * 10**digits).denominator != 1:
        digits += 1
    scaled = str(int(number * 10**digits)).rjust(digits + 1, "0")
    return f"{scaled[:-digits]}.{scaled[-digits:]}" if digits else scaled


Report = Callable[[str, Event, str], None]


class Linker:
    """Applies the events of one instrument, given in their order."""

    def __init__(
        self, reference: Reference, documents: list[dict[str, Any]], report: Report
    ) -> None:
        """Documents and anomalies go to the list and the function given."""
        self.reference = reference
        self.documents = documents
        self.report = report
        self.orders: dict[str, Order] = {}
        self.executions: dict[str, tuple[Order, Execution]] = {}
        self.remembered: dict[str, int] = {}
        self.waiting: list[Event] = []
        self.now_ms = 0

    def order(self, order_id: str) -> Order | None:
        """The order that has this id in its chain, while its hierarchy is in the state."""
        found = self.orders.get(order_id)
        return None if found is None or found.hierarchy.has_left(self.now_ms) else found

    def execution(self, exec_id: str) -> tuple[Order, Execution] | None:
        """The execution and its order, while their hierarchy is in the state."""
        found = self.executions.get(exec_id)
        return None if found is None or found[0].hierarchy.has_left(self.now_ms) else found

    def take(self, event: Event) -> None:
        """One event whose turn has come, and whatever it sets free."""
        self.now_ms = event.time_ms
        self.give_up([w for w in self.waiting if self.now_ms - w.time_ms > ORPHAN_MS])
        first_ms = self.remembered.get(event.event_id)
        # Reading: exactly one day later the id is still remembered; a duplicate does not renew it.
        if first_ms is not None and self.now_ms - first_ms <= DAY_MS:
            self.report("DUPLICATE", event, f"{event.event_id} came before, at {first_ms}")
            return
        self.remembered[event.event_id] = self.now_ms  # applied or not: a waiting event counts too
        stack = [event]
        while stack:
            current = stack.pop()
            if not self.is_known(current.reference):
                self.waiting.append(current)
                continue
            brought = self.apply(current)
            if brought is not None:
                freed = [w for w in self.waiting if w.reference == brought]
                self.waiting = [w for w in self.waiting if w.reference != brought]
                stack += sorted(freed, key=lambda w: w.turn, reverse=True)

    def give_up(self, events: list[Event]) -> None:
        """Reports these waiting events as orphans, in their own order."""
        for event in sorted(events, key=lambda w: w.turn):
            self.report("ORPHAN", event, f"{event.reference} did not come")
            self.waiting.remove(event)

    def is_known(self, reference: tuple[str, str] | None) -> bool:
        """Whether what is referred to is there."""
        if reference is None:
            return True
        what, name = reference
        return (self.order(name) if what == "order" else self.execution(name)) is not None

    def apply(self, event: Event) -> tuple[str, str] | None:
        """Applies an event whose reference is known; what it brings, for those that wait for it."""
        # Reading: an event that would bring an id in use, or bust again what is busted, can change
        # nothing and is a DUPLICATE; the rules' own CLOSED_ORDER comes before that.
        brought: tuple[str, str] | None = None
        if event.kind == "NEW":
            if self.order(event.order_id) is not None:
                self.report("DUPLICATE", event, f"order {event.order_id} is there already")
                return None
            order = self.new_order(event)
            brought = ("order", event.order_id)
        elif event.kind == "BUST":
            known = self.execution(event.exec_id)
            assert known is not None
            order, execution = known
            if execution.busted:
                self.report("DUPLICATE", event, f"execution {event.exec_id} is busted already")
                return None
            execution.busted = True
        else:
            found = self.order(event.replaces if event.kind == "REPLACE" else event.order_id)
            assert found is not None
            order = found
            dead = bool(order.closed_as) if event.kind == "REPLACE" else order.status not in OPEN
            if event.kind != "EXECUTION" and dead:
                self.report("CLOSED_ORDER", event, f"order {order.ids[0]} is {order.status}")
                return None
            if event.kind == "REPLACE":
                if self.order(event.order_id) is not None:
                    self.report("DUPLICATE", event, f"order {event.order_id} is there already")
                    return None
                order.ids.append(event.order_id)
                order.quantity, order.price = event.quantity, event.price
                self.orders[event.order_id] = order
                brought = ("order", event.order_id)
            elif event.kind == "EXECUTION":
                if self.execution(event.exec_id) is not None:
                    self.report("DUPLICATE", event, f"execution {event.exec_id} is there already")
                    return None
                done = Execution(event.exec_id, event.quantity, event.price, event.time_ms)
                order.executions.append(done)
                self.executions[event.exec_id] = (order, done)
                brought = ("exec", event.exec_id)
                if order.cum_qty > order.quantity:
                    excess = plain(order.cum_qty - order.quantity)
                    self.report("OVERFILL", event, f"order {order.ids[0]} is {excess} over")
            elif event.kind == "CANCEL":
                order.closed_as = "CANCELLED"
                for child in order.hierarchy.below(order):
                    if child.status in OPEN:
                        child.closed_as = "CANCELLED_BY_PARENT"
            else:
                order.closed_as = "REJECTED"
        hierarchy = order.hierarchy
        hierarchy.version += 1
        hierarchy.as_of_ms = max(hierarchy.as_of_ms, event.time_ms)
        self.documents.append(hierarchy.document())
        return brought

    def new_order(self, event: Event) -> Order:
        """The order of a NEW, under its parent or as the root of a new hierarchy."""
        parent = self.order(event.parent) if event.parent else None
        if parent is not None:
            hierarchy = parent.hierarchy  # Reading: even if the parent is closed or filled.
        else:
            row = self.reference.instrument(event.system, event.symbol, event.time_ms)
            assert row is not None
            client = self.reference.accounts.get(event.account, (None, None))[0]
            hierarchy = Hierarchy(
                row["instrument_id"], row["currency"], client, as_of_ms=event.time_ms
            )
        order = Order([event.order_id], parent, hierarchy, event.side, event.quantity, event.price)
        hierarchy.orders.append(order)
        self.orders[event.order_id] = order
        return order


def run(directory: Path) -> Result:
    """The documents and anomalies of the feeds in a folder, taken as one bounded input.

    Documents stand instrument by instrument, in the order of application within each; anomalies
    found record by record come first. A feed that is missing is an empty one.
    """
    result = Result()
    reference = Reference(directory)

    def report(kind: str, event: Event, reason: str) -> None:
        found = {"kind": kind, "event_id": event.event_id, "reason": reason, "raw": event.raw}
        result.anomalies.append(found)

    by_instrument: dict[str, list[Event]] = {}
    for system, name in (("ALPHA", "alpha.fix"), ("BETA", "beta.jsonl"), ("GAMMA", "gamma.csv")):
        header: list[str] | None = None
        for offset, line in read_lines(directory / name):
            if system == "GAMMA" and header is None:
                header = csv_cells(line)
                continue
            result.counts.records += 1
            raw = line.decode("utf-8", "backslashreplace")
            try:
                if system == "ALPHA":
                    draft = decode_alpha(line)
                elif system == "BETA":
                    draft = decode_beta(line)
                else:
                    draft = decode_gamma(line, header or [])
                event = normalise(system, draft, raw)
            except Malformed as error:
                at = {"source": name, "position": offset}
                found = {"kind": "MALFORMED", **at, "reason": str(error), "raw": raw}
                result.anomalies.append(found)
                continue
            row = reference.instrument(system, event.symbol, event.time_ms)
            if row is None:
                report("UNKNOWN_INSTRUMENT", event, f"no instrument {event.symbol!r} at that time")
                continue
            if event.kind in ("NEW", "REPLACE") and event.account not in reference.accounts:
                report("UNKNOWN_ACCOUNT", event, f"no account {event.account!r}")
            by_instrument.setdefault(row["instrument_id"], []).append(event)
    for _, events in sorted(by_instrument.items()):
        linker = Linker(reference, result.orders, report)
        for event in sorted(events, key=lambda e: e.turn):
            linker.take(event)
        linker.give_up(list(linker.waiting))
    result.final = {document["root"]: document for document in result.orders}
    result.counts.documents = len(result.orders)
    result.counts.anomalies = dict(Counter(found["kind"] for found in result.anomalies))
    return result


def main() -> None:
    """Runs a folder from the command line and prints the counts."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--out", type=Path, default=Path())
    arguments = parser.parse_args()
    result = run(arguments.directory)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, found in (("orders", result.orders), ("anomalies", result.anomalies)):
        lines = "".join(json.dumps(one) + "\n" for one in found)
        (arguments.out / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    print(result.counts)


if __name__ == "__main__":
    main()
