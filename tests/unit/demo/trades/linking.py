"""Events made briefly, and a linker run over them, for the tests of linking."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from headrace.demo.trades.book import Book, memory_book
from headrace.demo.trades.events import Anomaly, Kind, NormalisedEvent, Side
from headrace.demo.trades.linker import Linker, Output

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS


class Feed:
    """Makes events; the sequence number counts up, the system is that of the order's id."""

    def __init__(self) -> None:
        self._sequence = 0

    def _event(
        self,
        kind: Kind,
        time_ms: int,
        order_id: str | None,
        *,
        system: str | None = None,
        replaces: str | None = None,
        parent: str | None = None,
        exec_id: str | None = None,
        quantity: str | None = None,
        price: str | None = None,
        side: Side | None = None,
        client: str | None = None,
    ) -> NormalisedEvent:
        self._sequence += 1
        system = system or (order_id or exec_id or "").partition(":")[0]
        return NormalisedEvent(
            event_id=f"{system}:{self._sequence}",
            system=system,
            sequence=self._sequence,
            kind=kind,
            event_time_ms=time_ms,
            order_id=order_id,
            replaces=replaces,
            parent_order_id=parent,
            exec_id=exec_id,
            instrument_id="I1",
            currency="EUR",
            side=side,
            quantity=None if quantity is None else Decimal(quantity),
            price=None if price is None else Decimal(price),
            account=None,
            client=client,
            desk=None,
        )

    def new(
        self,
        time_ms: int,
        order_id: str,
        parent: str | None = None,
        quantity: str = "100",
        price: str = "10",
        client: str | None = "Client",
    ) -> NormalisedEvent:
        return self._event(
            "NEW",
            time_ms,
            order_id,
            parent=parent,
            quantity=quantity,
            price=price,
            side="BUY",
            client=client,
        )

    def replace(
        self, time_ms: int, new_id: str, old_id: str, quantity: str = "100", price: str = "10"
    ) -> NormalisedEvent:
        return self._event(
            "REPLACE",
            time_ms,
            new_id,
            replaces=old_id,
            quantity=quantity,
            price=price,
            side="SELL",
        )

    def execution(
        self, time_ms: int, order_id: str, exec_id: str, quantity: str = "10", price: str = "10"
    ) -> NormalisedEvent:
        return self._event(
            "EXECUTION", time_ms, order_id, exec_id=exec_id, quantity=quantity, price=price
        )

    def bust(self, time_ms: int, exec_id: str) -> NormalisedEvent:
        return self._event("BUST", time_ms, None, exec_id=exec_id)

    def cancel(self, time_ms: int, order_id: str) -> NormalisedEvent:
        return self._event("CANCEL", time_ms, order_id)

    def reject(self, time_ms: int, order_id: str) -> NormalisedEvent:
        return self._event("REJECT", time_ms, order_id)


def run(
    events: Iterable[NormalisedEvent], book: Book | None = None, *, finish: bool = False
) -> list[Output]:
    """All that comes of the events, applied as they stand."""
    linker = Linker(book or memory_book())
    outputs = [output for event in events for output in linker.apply(event)]
    return outputs + linker.finish() if finish else outputs


def summary(outputs: Iterable[Output]) -> list[str]:
    """Each output in a word: ``root vN``, or ``KIND event``."""
    return [
        f"{output.kind} {output.event_id}"
        if isinstance(output, Anomaly)
        else f"{output.root} v{output.version}"
        for output in outputs
    ]


def document(outputs: Iterable[Output], root: str | None = None) -> dict[str, Any]:
    """The last document, of a root or at all."""
    documents = [output for output in outputs if not isinstance(output, Anomaly)]
    return next(
        output.to_json() for output in reversed(documents) if root is None or output.root == root
    )


def orders(outputs: Iterable[Output], root: str | None = None) -> dict[str, dict[str, Any]]:
    """The orders of the last document by their first id."""
    return {order["order_id"]: order for order in document(outputs, root)["orders"]}


def statuses(outputs: Iterable[Output], root: str | None = None) -> dict[str, str]:
    """The orders' statuses by their first id."""
    return {order_id: order["status"] for order_id, order in orders(outputs, root).items()}
