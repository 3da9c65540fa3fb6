"""The message formats of the three systems, and ways in which a message becomes invalid."""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from headrace.demo.trades.events import Kind
from headrace.demo.trades.fix import checksum
from headrace.demo.trades.market import DAY_START_MS, RENAMED_MS, Listing

ALPHA, BETA, GAMMA = range(3)
SYSTEMS = ("ALPHA", "BETA", "GAMMA")

_DATE_FIX, _DATE_ISO = "20260303", "2026-03-03"
_GAMMA_AHEAD_MS = 3_600_000
_FIX_TYPES: dict[Kind, str] = {
    "NEW": "D",
    "REPLACE": "G",
    "CANCEL": "F",
    "EXECUTION": "8\x01150=F",
    "BUST": "8\x01150=H",
    "REJECT": "8\x01150=8",
}
_BETA_TYPES: dict[Kind, str] = {
    "NEW": "ORDER_NEW",
    "REPLACE": "ORDER_AMEND",
    "CANCEL": "ORDER_CANCEL",
    "EXECUTION": "FILL",
    "BUST": "FILL_BUST",
    "REJECT": "ORDER_REJECT",
}


class Draft(NamedTuple):
    """A message to encode; ids are the system's own, the parent is ``SYSTEM:id``.

    ``order_id`` of a cancel is the cancelled order. Quantity and price are in the listing's units,
    and 0 if the kind has none.
    """

    time_ms: int
    system: int
    kind: Kind
    order_id: str
    listing: Listing
    replaces: str = ""
    parent: str = ""
    exec_id: str = ""
    buys: bool = True
    quantity: int = 0
    price: int = 0
    account: str = ""


def write(draft: Draft, sequence: int) -> bytes:
    """Return the line, without its end, that the draft's system sends."""
    listing, system = draft.listing, draft.system
    symbols = listing.symbols if draft.time_ms < RENAMED_MS else listing.symbols_after
    quantity = _format_decimal(draft.quantity, listing.quantity_decimals)
    price = _format_decimal(draft.price, listing.price_decimals)
    if system == ALPHA:
        return _fix(draft, sequence, symbols[0], quantity, price)
    if system == BETA:
        return _format_json(draft, sequence, symbols[1], quantity, price).encode()
    return _format_csv(draft, sequence, symbols[2], quantity, price).encode()


def _format_decimal(units: int, decimals: int) -> str:
    if not decimals:
        return str(units)
    digits = str(units).rjust(decimals + 1, "0")
    return f"{digits[:-decimals]}.{digits[-decimals:]}"


def _format_time(time_ms: int) -> str:
    seconds, millis = divmod(time_ms - DAY_START_MS, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}.{millis:03}"


def _fix(draft: Draft, sequence: int, symbol: str, quantity: str, price: str) -> bytes:
    kind = draft.kind
    time = f"{_DATE_FIX}-{_format_time(draft.time_ms)}"
    if kind == "NEW" or kind == "REPLACE":
        details = f"11={draft.order_id}\x01"
        if kind == "REPLACE":
            details += f"41={draft.replaces}\x01"
        if draft.parent:
            details += f"583={draft.parent}\x01"
        details += f"1={draft.account}\x0155={symbol}\x0154={1 if draft.buys else 2}\x01"
        details += f"38={quantity}\x0144={price}\x01"
    elif kind == "CANCEL":
        details = f"11=C{sequence}\x0141={draft.order_id}\x0155={symbol}\x01"
    elif kind == "EXECUTION":
        details = f"11={draft.order_id}\x0117={draft.exec_id}\x0155={symbol}\x01"
        details += f"32={quantity}\x0131={price}\x01"
    elif kind == "BUST":
        details = f"11={draft.order_id}\x0117=B{sequence}\x0119={draft.exec_id}\x0155={symbol}\x01"
    else:
        details = f"11={draft.order_id}\x0117=R{sequence}\x0155={symbol}\x01"
    body = (
        f"35={_FIX_TYPES[kind]}\x0149=ALPHA\x0156=FIRM\x0134={sequence}\x0152={time}\x01"
        f"60={time}\x01{details}"
    )
    return _frame_message(body.encode())


def _frame_message(body: bytes) -> bytes:
    message = b"8=FIX.4.4\x019=%d\x01%b" % (len(body), body)
    return b"%b10=%03d\x01" % (message, checksum(message))


def _format_json(draft: Draft, sequence: int, symbol: str, quantity: str, price: str) -> str:
    kind = draft.kind
    # Random microseconds, to test that they are truncated.
    micros = draft.time_ms * 1000 + sequence * 7919 % 1000
    text = f'{{"seq":{sequence},"ts":{micros},"evt":"{_BETA_TYPES[kind]}"'
    text += f',"order":"{draft.order_id}","ric":"{symbol}"'
    if draft.replaces:
        text += f',"prev":"{draft.replaces}"'
    if draft.parent:
        text += f',"parent":"{draft.parent}"'
    if draft.exec_id:
        text += f',"fill":"{draft.exec_id}"'
    if draft.quantity:
        # One gateway in four writes its numbers as strings.
        quote = '"' if sequence % 4 == 0 else ""
        text += f',"qty":{quote}{quantity}{quote},"px":{quote}{price}{quote}'
    if draft.account:
        text += f',"side":"{"B" if draft.buys else "S"}","acct":"{draft.account}"'
    return text + "}"


def _format_csv(draft: Draft, sequence: int, symbol: str, quantity: str, price: str) -> str:
    time = f"{_DATE_ISO}T{_format_time(draft.time_ms + _GAMMA_AHEAD_MS)}+01:00"
    kind = "EXEC" if draft.kind == "EXECUTION" else draft.kind
    side = ("Buy" if draft.buys else "Sell") if draft.account else ""
    if not draft.quantity:
        quantity = price = ""
    return (
        f"{sequence},{time},{kind},{draft.order_id},{draft.replaces},{draft.parent},"
        f"{draft.exec_id},{symbol},{side},{quantity},{price},{draft.account}"
    )


_Damage = tuple[bytes, bytes]

# (pattern, replacement) for the line of a new order; each makes it malformed.
_FIX_BODY_DAMAGES: tuple[_Damage, ...] = (
    (rb"\x0155=[^\x01]*", b""),
    (rb"\x011=[^\x01]*", b"\x011="),
    (rb"35=D", b"35=ZZ"),
    (rb"\x0154=[12]", b"\x0154=7"),
    (rb"\x0138=[^\x01]*", b"\x0138=0"),
    (rb"\x0144=", b"\x0144=-"),
    (rb"\x0144=[^\x01]*", b"\x0144=MKT"),
    (rb"(\x0160=[^.\x01]*)\.[0-9]{3}", rb"\1"),
    (rb"\x0134=[^\x01]*", b"\x0134=?"),
)
_LINE_DAMAGES: tuple[tuple[_Damage, ...], ...] = (
    (
        (rb"10=[0-9]{3}\x01$", b"10=xyz\x01"),
        (rb"\x019=", b"\x019=1"),
        (rb"^8=FIX\.4\.4", b"8=FIX.4.2"),
        (rb"\x0110=.*", b""),
        (rb"\x0149=ALPHA", b"\x0149=ALPHB"),
    ),
    (
        (rb'"ric":"[^"]*"', b'"ric":null'),
        (rb'"ORDER_NEW"', b'"ORDER_NUDGE"'),
        (rb'"side":"."', b'"side":"X"'),
        (rb'"qty":"?[0-9.]*"?', b'"qty":0'),
        (rb'"px":"?[0-9.]*"?', b'"px":"n/a"'),
        (rb'"px":"?[0-9.]*"?', b'"px":NaN'),
        (rb'"qty":"?[0-9.]*"?', b'"qty":true'),
        (rb'"ts":[0-9]*', b'"ts":"yesterday"'),
        (rb',"acct":"[^"]*"', b""),
        (rb'"order":"[^"]*"', b'"order":"\xff\xfe"'),
        (rb"^(.*)$", rb"[\1]"),
    ),
    (
        (rb"(?<=,)[A-Z]{2}[0-9]{10}(?=,)", b""),
        (rb",NEW,", b",NEWISH,"),
        (rb",(?:Buy|Sell),", b",Hold,"),
        (rb"\+01:00", b""),
        (rb"2026-03-03T", b"2026-02-30T"),
        (rb",[^,]*,([^,]*)$", rb",-1.5,\1"),
        (rb",[^,]*,([^,]*)$", rb",1.2.3,\1"),
        (rb",[^,]*$", b","),
        (rb",NEW,", b',"NEW,'),
        (rb"^[0-9]+,", b"x,"),
        (rb",NEW,", b",\xc3,"),
    ),
)


def corrupt(line: bytes, system: int, rng: random.Random) -> bytes:
    """Return the line of a new order, made invalid in one of many ways."""
    if rng.random() < 0.2:
        return line[: rng.randint(1, len(line) // 2)]
    if system == ALPHA and rng.random() < 0.6:
        pattern, becomes = rng.choice(_FIX_BODY_DAMAGES)
        body = line[line.index(b"\x0135=") + 1 : line.rindex(b"10=")]
        return _frame_message(re.sub(pattern, becomes, body, count=1))
    pattern, becomes = rng.choice(_LINE_DAMAGES[system])
    return re.sub(pattern, becomes, line, count=1)
