from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from headrace.demo.trades import beta
from headrace.errors import DecodeError

NEW: dict[str, Any] = {
    "seq": 12,
    "ts": 1_772_526_600_250_999,
    "evt": "ORDER_NEW",
    "order": "b1",
    "ric": "VOD.L",
    "side": "S",
    "qty": 100,
    "px": 10.5,
    "acct": "AC1",
}


def line(**changes: Any) -> bytes:
    """The new order with some fields changed; ... takes one away."""
    record = {name: value for name, value in {**NEW, **changes}.items() if value is not ...}
    return json.dumps(record).encode()


def reason(raw: bytes) -> str:
    with pytest.raises(DecodeError) as caught:
        beta.decode(raw)
    return caught.value.message


def test_a_new_order_its_time_cut_to_the_millisecond() -> None:
    event = beta.decode(line(parent="ALPHA:a1"))
    assert event.event_id == "BETA:12"
    assert (event.kind, event.event_time_ms) == ("NEW", 1_772_526_600_250)
    assert (event.order_id, event.parent_order_id) == ("BETA:b1", "ALPHA:a1")
    assert (event.symbol, event.side, event.account) == ("VOD.L", "SELL", "AC1")
    assert (event.quantity, event.price) == (Decimal(100), Decimal("10.5"))


def test_numbers_may_be_strings_and_stay_exact() -> None:
    digits = "0.1000000000000000055511151231257827"
    as_number = line(px="@").replace(b'"@"', digits.encode())
    assert beta.decode(as_number).price == Decimal(digits)
    assert beta.decode(line(px=digits)).price == Decimal(digits)
    assert beta.decode(line(seq="12", ts="1772526600250999")) == beta.decode(line())
    assert beta.decode(line(qty="@").replace(b'"@"', b"1e2")).quantity == Decimal(100)
    assert beta.decode(line(ts="@").replace(b'"@"', b"1772526600250999.0")) == beta.decode(line())


def test_times_before_1970_are_cut_downwards() -> None:
    assert beta.decode(line(ts=-1)).event_time_ms == -1


def test_the_other_kinds() -> None:
    bare = {"side": ..., "qty": ..., "px": ..., "acct": ...}
    amend = beta.decode(line(evt="ORDER_AMEND", order="b2", prev="b1"))
    assert (amend.kind, amend.order_id, amend.replaces) == ("REPLACE", "BETA:b2", "BETA:b1")
    cancel = beta.decode(line(evt="ORDER_CANCEL", **bare))
    assert (cancel.kind, cancel.order_id, cancel.quantity) == ("CANCEL", "BETA:b1", None)
    fill = beta.decode(line(evt="FILL", fill="f1", **{**bare, "qty": "3", "px": "2.5"}))
    assert (fill.kind, fill.exec_id) == ("EXECUTION", "BETA:f1")
    assert (fill.quantity, fill.price, fill.side) == (Decimal(3), Decimal("2.5"), None)
    bust = beta.decode(line(evt="FILL_BUST", fill="f1", order=..., **bare))
    assert (bust.kind, bust.exec_id, bust.order_id) == ("BUST", "BETA:f1", None)
    reject = beta.decode(line(evt="ORDER_REJECT", **bare))
    assert (reject.kind, reject.order_id) == ("REJECT", "BETA:b1")


def test_what_a_kind_does_not_need_is_not_looked_at() -> None:
    event = beta.decode(line(evt="ORDER_CANCEL", side="X", qty=0, px=[1], acct=None))
    assert (event.side, event.quantity, event.price, event.account) == (None, None, None, None)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "not JSON"),
        (line()[:30], "not JSON"),
        (b"[1]", "not an object"),
        (b'"\xff"', "not UTF-8"),
        (line().decode().encode("utf-16"), "not UTF-8"),
        (b"[" * 200_000, "not JSON"),
        (line(seq=...), "field seq is missing"),
        (line(seq=-1), "field seq is '-1'"),
        (line(seq=1.5), "field seq is '1.5'"),
        (line(seq=True), "field seq is bool"),
        (line(ts=...), "field ts is missing"),
        (line(ts="2026-03-03"), "field ts cannot be read"),
        (line(ts=0.5), "field ts cannot be read"),
        (line(ts=10**22), "field ts cannot be read"),
        (line(evt=...), "field evt is missing"),
        (line(evt="ORDER_LOST"), "field evt is 'ORDER_LOST', which is unknown"),
        (line(order=""), "field order is missing"),
        (line(order="\ud800"), "surrogate"),
        (line(ric=None), "field ric is missing"),
        (line(acct=...), "field acct is missing"),
        (line(side=...), "field side is missing"),
        (line(side="BUY"), "field side is 'BUY', which is no side"),
        (line(qty=...), "field qty is missing"),
        (line(qty=0), "field qty is 0, and must be above 0"),
        (line(qty=True), "field qty is bool"),
        (line(px={"a": 1}), "field px is dict"),
        (line(px="1,5"), "no decimal number"),
        (line(px=" 1"), "no decimal number"),
        (line(px="\u0661"), "no decimal number"),
        (line(px="Infinity"), "no decimal number"),
        (line(px="1e60"), "out of range"),
        (line(px="1e-60"), "out of range"),
        (line(px=float("nan")), "NaN is no JSON number"),
        (line(px=-0.5), "must be above 0"),
        (line(evt="ORDER_AMEND"), "field prev is missing"),
        (line(evt="FILL"), "field fill is missing"),
        (line(evt="FILL", fill="f", px=0), "field px is 0"),
        (line(evt="FILL_BUST"), "field fill is missing"),
        (line(evt="ORDER_REJECT", order=...), "field order is missing"),
    ],
)
def test_what_is_malformed(raw: bytes, words: str) -> None:
    assert words in reason(raw)
