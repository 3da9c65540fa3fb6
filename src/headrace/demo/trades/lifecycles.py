"""Generates the messages of clients' orders: slices, routes, fills, and errors."""

from __future__ import annotations

import random
from dataclasses import dataclass

from headrace.demo.trades.events import Kind
from headrace.demo.trades.market import Listing, Market, arrival_ms, arrival_weights
from headrace.demo.trades.wire import ALPHA, BETA, GAMMA, SYSTEMS, Draft

_NEVER_MS = 2**62
_TOO_LATE_MS = 15 * 60_000


@dataclass(frozen=True)
class Rates:
    """How often errors occur, each as a share of all messages unless stated otherwise."""

    malformed: float = 0.002
    unknown_instrument: float = 0.001
    duplicate: float = 0.002
    orphan: float = 0.001
    unknown_account: float = 0.003
    """Of orders."""
    overfill: float = 0.004
    """Of orders that fill."""
    closed_order: float = 0.008
    """Of orders that are done."""
    bust: float = 0.004
    """Of executions."""
    early_reference: float = 0.03
    """Of children and executions: those stamped before what they refer to."""


@dataclass(slots=True)
class _OpenOrder:
    """An order on the desk, with its latest id."""

    system: int
    order_id: str
    listing: Listing
    buys: bool
    quantity: int
    price: int
    account: str


class TradingDesk:
    """Generates clients' orders one after another; ``drafts`` collects messages, unsorted."""

    def __init__(self, market: Market, rates: Rates, rng: random.Random) -> None:
        self.drafts: list[Draft] = []
        self._market = market
        self._rates = rates
        self._rng = rng
        self._arrivals = arrival_weights()
        self._numbers = [0, 0, 0]

    def emit_client_order(self) -> None:
        """Emit the messages of one client's order, from its arrival to its end.

        Two in three go directly to a market. The others are care orders: other systems work them in
        slices, some of which are routed on; one in five is cancelled in the meantime.
        """
        rng = self._rng
        listing = self._market.pick(rng)
        start_ms = arrival_ms(rng, self._arrivals)
        buys = rng.random() < 0.5
        account = rng.choice(self._market.accounts)[0]
        price = listing.price + rng.randint(-50, 50)
        if rng.random() < 0.67:
            lots = rng.randint(1, 40)
            system = rng.choice((ALPHA, BETA, GAMMA))
            self._emit_market_order(
                system, listing, buys, lots * listing.lot, price, account, "", start_ms
            )
            return
        slices = rng.randint(2, 4) if rng.random() < 0.93 else rng.randint(6, 12)
        sizes = [rng.randint(5, 60) for _ in range(slices)]
        care = self._emit_new_order(
            ALPHA if rng.random() < 0.85 else BETA,
            listing,
            buys,
            sum(sizes) * listing.lot,
            price,
            account,
            "",
            start_ms,
        )
        span_ms = int(rng.expovariate(1 / (slices * 240_000))) + 20_000
        cancelled_ms = start_ms + span_ms if rng.random() < 0.2 else _NEVER_MS
        parent = f"{SYSTEMS[care.system]}:{care.order_id}"
        replaced_ms, replacement = _NEVER_MS, parent
        if rng.random() < 0.1:
            replaced_ms = start_ms + span_ms // 2
            self._emit_replacement(care, replaced_ms, quantity=care.quantity + 10 * listing.lot)
            replacement = f"{SYSTEMS[care.system]}:{care.order_id}"
        for place, each in enumerate(sizes):
            slice_ms = start_ms + int(span_ms * (place + rng.random()) / slices)
            if rng.random() < self._rates.early_reference:
                # The other system's clock is late: the child's timestamp is before its parent's.
                slice_ms = start_ms - rng.randint(1, 200)
            above = replacement if slice_ms >= replaced_ms else parent
            self._emit_slice(care, each * listing.lot, above, slice_ms, cancelled_ms)
        if cancelled_ms != _NEVER_MS:
            self._add_draft("CANCEL", care, cancelled_ms)

    def emit_orphan(self) -> None:
        """Emit a message whose event never arrives or, in one of six cases, arrives too late."""
        rng = self._rng
        listing = self._market.pick(rng)
        start_ms = arrival_ms(rng, self._arrivals)
        account = rng.choice(self._market.accounts)[0]
        system = rng.choice((ALPHA, BETA, GAMMA))
        order = _OpenOrder(
            system, self._next_id(system), listing, True, listing.lot, listing.price, account
        )
        what = rng.randrange(6)
        if what == 0:
            self._emit_execution(order, listing.lot, start_ms)
        elif what == 1:
            self._add_draft("CANCEL", order, start_ms)
        elif what == 2:
            self._emit_replacement(order, start_ms)
        elif what == 3:
            self._add_draft("BUST", order, start_ms, exec_id=self._next_id(system, "X"))
        else:
            parent_id = self._next_id(ALPHA)
            parent = f"ALPHA:{parent_id}"
            self._emit_new_order(
                system, listing, True, listing.lot, listing.price, account, parent, start_ms
            )
            if what == 5:
                late = _OpenOrder(
                    ALPHA, parent_id, listing, True, listing.lot, listing.price, account
                )
                self._add_draft("NEW", late, start_ms + _TOO_LATE_MS + 1)

    def emit_unknown_instrument(self) -> None:
        """Emit an order for an instrument that is not in the reference data of the day."""
        rng = self._rng
        account = rng.choice(self._market.accounts)[0]
        system = rng.choice((ALPHA, BETA, GAMMA))
        start_ms = arrival_ms(rng, self._arrivals)
        self._emit_new_order(system, self._market.unlisted, True, 100, 1000, account, "", start_ms)

    def _emit_slice(
        self,
        care: _OpenOrder,
        quantity: int,
        parent: str,
        start_ms: int,
        cancelled_ms: int,
    ) -> None:
        rng = self._rng
        system = rng.choice((BETA, GAMMA, GAMMA))
        if start_ms >= cancelled_ms:
            return
        detail = (care.listing, care.buys, quantity, care.price, care.account)
        if rng.random() < 0.75 or quantity < 2 * care.listing.lot:
            self._emit_market_order(system, *detail, parent, start_ms, cancelled_ms)
            return
        algo = self._emit_new_order(system, *detail, parent, start_ms)
        lots = quantity // care.listing.lot
        for part in (lots // 2, lots - lots // 2):
            start_ms += rng.randint(5, 60_000)
            if start_ms < cancelled_ms:
                self._emit_market_order(
                    rng.choice((ALPHA, GAMMA)),
                    care.listing,
                    care.buys,
                    part * care.listing.lot,
                    care.price,
                    care.account,
                    f"{SYSTEMS[system]}:{algo.order_id}",
                    start_ms,
                    cancelled_ms,
                )

    def _emit_market_order(
        self,
        system: int,
        listing: Listing,
        buys: bool,
        quantity: int,
        price: int,
        account: str,
        parent: str,
        start_ms: int,
        cancelled_ms: int = _NEVER_MS,
    ) -> None:
        """Emit an order at a market: rejected, or filled in parts, perhaps replaced or cancelled.

        After ``cancelled_ms`` nothing happens to it, except an execution that crosses the cancel.
        """
        rng, rates = self._rng, self._rates
        order = self._emit_new_order(
            system, listing, buys, quantity, price, account, parent, start_ms
        )
        now_ms = start_ms
        if rng.random() < 0.01:
            self._add_draft("REJECT", order, now_ms + rng.randint(1, 50))
            return
        left = quantity // listing.lot
        gap = 1 / rng.choice((300, 8_000, 40_000))
        early = rng.random() < rates.early_reference
        while left:
            now_ms += int(rng.expovariate(gap)) + 1
            if now_ms > cancelled_ms:
                if rng.random() < 0.1:
                    self._emit_execution(order, listing.lot, cancelled_ms + rng.randint(0, 30))
                return
            chance = rng.random()
            if chance < 0.12:
                more = rng.randint(0, 5) if rng.random() < 0.3 else 0
                left += more
                grown = order.quantity + more * listing.lot
                self._emit_replacement(order, now_ms, quantity=grown, move=rng.choice((-1, 1)))
            elif chance < 0.22:
                self._add_draft("CANCEL", order, now_ms)
                break
            elif chance < 0.25:
                return
            else:
                lots = left if rng.random() < 0.5 else rng.randint(1, left)
                left -= lots
                # Sometimes a gateway gives the fill an earlier timestamp than the order.
                self._emit_execution(order, lots * listing.lot, start_ms - 2 if early else now_ms)
                early = False
        else:
            if rng.random() < rates.overfill:
                self._emit_execution(order, listing.lot, now_ms + rng.randint(1, 500))
        if rng.random() < rates.closed_order:
            self._add_draft("CANCEL", order, now_ms + rng.randint(501, 2_000))

    def _emit_new_order(
        self,
        system: int,
        listing: Listing,
        buys: bool,
        quantity: int,
        price: int,
        account: str,
        parent: str,
        time_ms: int,
    ) -> _OpenOrder:
        if self._rng.random() < self._rates.unknown_account:
            account = f"ZZ{account[2:]}"
        order = _OpenOrder(system, self._next_id(system), listing, buys, quantity, price, account)
        self._add_draft("NEW", order, time_ms, parent=parent)
        return order

    def _emit_replacement(
        self, order: _OpenOrder, time_ms: int, *, quantity: int = 0, move: int = 0
    ) -> None:
        replaces, order.order_id = order.order_id, self._next_id(order.system)
        order.quantity = quantity or order.quantity
        order.price += move
        self._add_draft("REPLACE", order, time_ms, replaces=replaces)

    def _emit_execution(self, order: _OpenOrder, quantity: int, time_ms: int) -> None:
        rng, exec_id = self._rng, self._next_id(order.system, "X")
        better = rng.randint(0, 3) * (-1 if order.buys else 1)
        self.drafts.append(
            Draft(
                time_ms,
                order.system,
                "EXECUTION",
                order.order_id,
                order.listing,
                exec_id=exec_id,
                quantity=quantity,
                price=order.price + better,
            )
        )
        if rng.random() < self._rates.bust:
            self._add_draft("BUST", order, time_ms + rng.randint(1_000, 600_000), exec_id=exec_id)

    def _add_draft(
        self,
        kind: Kind,
        order: _OpenOrder,
        time_ms: int,
        *,
        replaces: str = "",
        parent: str = "",
        exec_id: str = "",
    ) -> None:
        if kind == "NEW" or kind == "REPLACE":
            self.drafts.append(
                Draft(
                    time_ms,
                    order.system,
                    kind,
                    order.order_id,
                    order.listing,
                    replaces,
                    parent,
                    exec_id,
                    order.buys,
                    order.quantity,
                    order.price,
                    order.account,
                )
            )
        else:
            self.drafts.append(
                Draft(time_ms, order.system, kind, order.order_id, order.listing, exec_id=exec_id)
            )

    def _next_id(self, system: int, prefix: str = "") -> str:
        number = self._numbers[system] = self._numbers[system] + 1
        return f"{prefix}{'ABG'[system]}{number:06}"
