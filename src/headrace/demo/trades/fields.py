"""What the three decoders share: which fields a kind needs, and how their text is read.

A format says in a ``Layout`` where it keeps the fields of each kind; ``assemble`` picks them up,
so that the three agree on what is needed:

- every kind its symbol, and all but a bust its order id (a bust names the execution);
- a new and a replace side, quantity, price and account; a replace the id it replaces;
- an execution its execution id, quantity and price; a bust the execution it takes back.

What a kind does not need is not looked at, so it cannot make a record malformed, and an empty
value is a missing one. A parent is optional.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from headrace.demo.trades.events import DecodedEvent, Kind, Side
from headrace.demo.trades.exact import EXACT
from headrace.errors import DecodeError

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_LONGEST_NUMBER = 150
_LARGEST_EXPONENT = 50


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of one kind's fields in a format; None for a field that the kind does not have."""

    kind: Kind
    symbol: str
    order_id: str
    replaces: str | None = None
    parent: str | None = None
    exec_id: str | None = None
    side: str | None = None
    quantity: str | None = None
    price: str | None = None
    account: str | None = None


def assemble(
    system: str,
    layout: Layout,
    get: Callable[[str], str | None],
    *,
    sides: Mapping[str, Side],
    sequence: int,
    event_time_ms: int,
) -> DecodedEvent:
    """Create an event from its fields; order and execution ids get the form ``SYSTEM:id``.

    Raises:
        DecodeError: a required field is missing or invalid.
    """

    def needed(name: str) -> str:
        text = get(name)
        if not text:
            raise DecodeError(f"field {name} is missing, and a {layout.kind} needs it")
        return text

    def own_id(name: str | None) -> str | None:
        return None if name is None else f"{system}:{needed(name)}"

    order_id: str | None
    if layout.kind == "BUST":
        text = get(layout.order_id)
        order_id = f"{system}:{text}" if text else None
    else:
        order_id = own_id(layout.order_id)
    return DecodedEvent(
        system,
        sequence,
        layout.kind,
        event_time_ms,
        order_id,
        own_id(layout.replaces),
        None if layout.parent is None else get(layout.parent) or None,
        own_id(layout.exec_id),
        needed(layout.symbol),
        None if layout.side is None else _parse_side(needed(layout.side), layout.side, sides),
        None if layout.quantity is None else above_zero(needed(layout.quantity), layout.quantity),
        None if layout.price is None else above_zero(needed(layout.price), layout.price),
        None if layout.account is None else needed(layout.account),
    )


def _parse_side(text: str, name: str, sides: Mapping[str, Side]) -> Side:
    side = sides.get(text)
    if side is None:
        raise DecodeError(f"field {name} is {text!r}, which is no side")
    return side


def above_zero(text: str, name: str) -> Decimal:
    """Return the exact number.

    Raises:
        DecodeError: it is no decimal number, is not above 0, or is too long for ``EXACT``: more
            than 51 digits before the point or 50 after it.
    """
    if len(text) > _LONGEST_NUMBER or _NUMBER.fullmatch(text) is None:
        raise DecodeError(f"field {name} is {text[:40]!r}, which is no decimal number")
    value = Decimal(text)
    if value <= 0:
        raise DecodeError(f"field {name} is {text}, and must be above 0")
    if len(text) > _LARGEST_EXPONENT or "e" in text or "E" in text:
        value = EXACT.normalize(value)
        lowest = value.as_tuple().exponent
        if value.adjusted() > _LARGEST_EXPONENT or int(lowest) < -_LARGEST_EXPONENT:
            raise DecodeError(f"field {name} is {text}, which is out of range")
    return value


def sequence_number(text: str | None, name: str) -> int:
    """Return the integer, of at most 18 digits."""
    if not text:
        raise DecodeError(f"field {name} is missing, and every message needs it")
    if len(text) > 18 or not (text.isascii() and text.isdigit()):
        raise DecodeError(f"field {name} is {text[:40]!r}, which is no sequence number")
    return int(text)
