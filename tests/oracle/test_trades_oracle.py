"""Small days worked out by hand from the rules; the sums stand beside the expectations."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from .trades_oracle import Result, main, run

T0 = 1_772_442_000_000  # 2026-03-02T09:00:00Z: 20,514 days and 9 hours after the epoch
MIN15 = 900_000
DAY = 86_400_000
INSTRUMENTS = """instrument_id,ticker,ric,isin,currency,lot_size,valid_from
I1,ABC,ABC.L,GB01,GBP,1,2026-01-01
I2,XYZ,XYZ.L,GB02,USD,1,2026-01-01
"""
HEADER = "seq,time,type,order_id,replaces,parent_order_id,exec_id,isin,side,quantity,price,account"


class Feeds:
    """Three feeds being written; ``at`` is in ms after T0."""

    def __init__(self, directory: Path) -> None:
        """Starts empty, in this folder."""
        self.directory = directory
        self.alpha: list[bytes] = []
        self.beta: list[bytes] = []
        self.gamma: list[bytes] = [HEADER.encode()]
        self.instruments = INSTRUMENTS

    def run(self) -> Result:
        """Writes the folder, runs it, and checks what holds for every input."""
        for name, lines in (
            ("alpha.fix", self.alpha),
            ("beta.jsonl", self.beta),
            ("gamma.csv", self.gamma),
        ):
            (self.directory / name).write_bytes(b"".join(line + b"\n" for line in lines))
        (self.directory / "instruments.csv").write_text(self.instruments)
        (self.directory / "accounts.csv").write_text("account,client,desk\nACC,Client1,Desk1\n")
        result = run(self.directory)
        beside = {"OVERFILL", "UNKNOWN_ACCOUNT"}  # these come with a record, not instead of it
        ended = sum(n for kind, n in result.counts.anomalies.items() if kind not in beside)
        assert result.counts.records == result.counts.documents + ended
        versions: dict[str, int] = {}
        for document in result.orders:
            assert document["version"] in (1, versions.get(document["root"], 0) + 1)
            versions[document["root"]] = document["version"]
        return result

    def fix(self, *fields: str) -> None:
        """A FIX message of these body fields, framed."""
        body = b"".join(one.encode() + b"\x01" for one in fields)
        head = b"8=FIX.4.4\x019=%d\x01" % len(body) + body
        self.alpha.append(head + b"10=%03d\x01" % (sum(head) % 256))

    def json(self, seq: int, at: int, evt: str, order: str, **more: Any) -> None:
        """A BETA record."""
        record = {"seq": seq, "ts": (T0 + at) * 1000, "evt": evt, "order": order, "ric": "ABC.L"}
        self.beta.append(json.dumps(record | more).encode())

    def new(self, seq: int, at: int, order: str, qty: str = "100", **more: Any) -> None:
        """A BETA new order, bought at 10."""
        terms = {"side": "B", "qty": qty, "px": "10", "acct": "ACC"} | more
        self.json(seq, at, "ORDER_NEW", order, **terms)

    def amend(self, seq: int, at: int, order: str, prev: str, qty: str, px: str = "10") -> None:
        """A BETA amendment."""
        more = {"prev": prev, "side": "B", "qty": qty, "px": px, "acct": "ACC"}
        self.json(seq, at, "ORDER_AMEND", order, **more)

    def fill(
        self, seq: int, at: int, order: str, fill: str, qty: str, px: str = "10", **more: Any
    ) -> None:
        """A BETA fill."""
        self.json(seq, at, "FILL", order, fill=fill, qty=qty, px=px, **more)

    def bust(self, seq: int, at: int, order: str, fill: str) -> None:
        """A BETA bust."""
        self.json(seq, at, "FILL_BUST", order, fill=fill)

    def cancel(self, seq: int, at: int, order: str) -> None:
        """A BETA cancel."""
        self.json(seq, at, "ORDER_CANCEL", order)

    def reject(self, seq: int, at: int, order: str) -> None:
        """A BETA reject."""
        self.json(seq, at, "ORDER_REJECT", order)


@pytest.fixture
def feeds(tmp_path: Path) -> Feeds:
    """An empty day."""
    return Feeds(tmp_path)


def kinds(result: Result) -> list[tuple[str, str]]:
    """(kind, event id) of each anomaly, as reported."""
    return [(found["kind"], found.get("event_id", "")) for found in result.anomalies]


def orders(document: dict[str, Any]) -> dict[str, tuple[str, str, str, str | None]]:
    """Order id to (status, cum, leaves, average)."""
    return {
        o["order_id"]: (o["status"], o["cum_qty"], o["leaves_qty"], o["avg_px"])
        for o in document["orders"]
    }


def only(result: Result) -> dict[str, tuple[str, str, str, str | None]]:
    """The orders of the only hierarchy at its end."""
    (document,) = result.final.values()
    return orders(document)


# ------------------------------------------------------------------------------ decoding


def test_literal_fix_message_gives_this_whole_document(feeds: Feeds) -> None:
    """Length and sum of this message were counted with wc and od: 115 bytes; 6480 mod 256 = 80."""
    feeds.alpha.append(
        (
            "8=FIX.4.4|9=115|35=D|49=DESK|56=HUB|34=7|52=20260302-09:00:00.000|"
            "60=20260302-09:00:00.125|11=a1|55=ABC|54=1|38=100|44=10.50|1=ACC|10=080|"
        )
        .replace("|", "\x01")
        .encode()
    )
    result = feeds.run()
    assert result.orders == [
        {
            "root": "ALPHA:a1",
            "version": 1,
            "as_of_ms": T0 + 125,
            "instrument_id": "I1",
            "currency": "GBP",
            "client": "Client1",
            "orders": [
                {
                    "order_id": "ALPHA:a1",
                    "ids": ["ALPHA:a1"],
                    "parent": None,
                    "side": "BUY",
                    "quantity": "100",
                    "price": "10.5",
                    "cum_qty": "0",
                    "avg_px": None,
                    "leaves_qty": "100",
                    "executed_below": "0",
                    "status": "NEW",
                    "executions": [],
                }
            ],
        }
    ]
    assert result.anomalies == []


def test_every_fix_kind(feeds: Feeds) -> None:
    """New 100, replaced to 80; 30 at 10 and 20 at 11; the 30 busted: 20 at 11; then cancelled."""
    terms = ("55=ABC", "54=2", "44=10", "1=ACC")
    feeds.fix("35=D", "34=1", "60=20260302-09:00:00.000", "11=a1", "38=100", *terms)
    feeds.fix("35=G", "34=2", "60=20260302-09:00:01.000", "11=a2", "41=a1", "38=80", *terms)
    run_ = ("35=8", "55=ABC", "11=a2")
    feeds.fix(*run_, "34=3", "60=20260302-09:00:02.000", "150=F", "17=e1", "32=30", "31=10")
    feeds.fix(*run_, "34=4", "60=20260302-09:00:03.000", "150=F", "17=e2", "32=20", "31=11")
    feeds.fix(*run_, "34=5", "60=20260302-09:00:04.000", "150=H", "17=e3", "19=e1")
    feeds.fix("35=F", "34=6", "60=20260302-09:00:05.000", "11=c1", "41=a1", "55=ABC")
    feeds.fix("35=D", "34=7", "60=20260302-09:00:06.000", "11=b1", "38=5", *terms)
    feeds.fix("35=8", "34=8", "60=20260302-09:00:07.000", "11=b1", "150=8", "55=ABC")
    result = feeds.run()
    last = result.final["ALPHA:a1"]
    assert orders(last) == {"ALPHA:a1": ("CANCELLED", "20", "0", "11")}
    assert last["orders"][0]["ids"] == ["ALPHA:a1", "ALPHA:a2"]
    assert last["orders"][0]["side"] == "SELL"
    assert [(e["exec_id"], e["busted"]) for e in last["orders"][0]["executions"]] == [
        ("ALPHA:e1", True),
        ("ALPHA:e2", False),
    ]
    # At version 4 the average was (30 x 10 + 20 x 11) / 50 = 520 / 50.
    assert orders(result.orders[3]) == {"ALPHA:a1": ("PARTIALLY_FILLED", "50", "30", "10.4")}
    assert orders(result.final["ALPHA:b1"]) == {"ALPHA:b1": ("REJECTED", "0", "0", None)}
    assert kinds(result) == []


GOOD = ["35=D", "34=1", "60=20260302-09:00:00.000", "11=a1", "55=ABC", "54=1", "38=9", "44=9"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("35=D", "35=0"),  # unknown type
        ("35=D", "35=8\x01150=0"),  # unknown execution type
        ("54=1", "54=3"),  # unknown side
        ("38=9", "38=0"),  # not above 0
        ("44=9", "44=-1"),
        ("44=9", "44=nine"),
        ("38=9", "99=9"),  # a needed field missing: quantity, order id, symbol, sequence
        ("11=a1", "11="),
        ("55=ABC", "58=ABC"),
        ("34=1", "35=1"),
        ("60=20260302-09:00:00.000", "60=20260302-09:00:00"),  # not to the millisecond
        ("60=20260302-09:00:00.000", "60=20260230-09:00:00.000"),  # no such day
    ],
)
def test_malformed_fix_contents(feeds: Feeds, old: str, new: str) -> None:
    """One field spoilt, frame right: MALFORMED at byte 0, and nothing else comes of it."""
    feeds.fix(*[new if one == old else one for one in GOOD], "1=ACC")
    result = feeds.run()
    assert [(a["kind"], a["source"], a["position"]) for a in result.anomalies] == [
        ("MALFORMED", "alpha.fix", 0)
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"8=FIX.4.4", b"8=FIX.4.2"),
        (b"9=", b"9=1"),  # another length
        (b"38=9", b"38=8"),  # the sum no longer right
        (b"\x0110=", b"\x0110=0"),  # four digits
        (b"55=ABC", b"55=AB\xff"),  # no text
        (b"54=1", b"54"),  # no tag=value
    ],
)
def test_malformed_fix_frame(feeds: Feeds, old: bytes, new: bytes) -> None:
    """Bytes changed after the frame was made."""
    feeds.fix(*GOOD, "1=ACC")
    feeds.alpha[0] = feeds.alpha[0].replace(old, new, 1)
    assert [kind for kind, _ in kinds(feeds.run())] == ["MALFORMED"]


def test_fix_line_must_end_with_its_checksum_field(feeds: Feeds) -> None:
    """Three lines: unended, a field behind the checksum, good; blank lines do not count."""
    feeds.fix(*GOOD, "1=ACC")
    good = feeds.alpha.pop()
    feeds.alpha += [good[:-1] + b"\r", b"", good + b"58=x\x01", good]
    result = feeds.run()
    # Offsets: 0; then len - 1 bytes, a carriage return, two line ends (its own, the blank line's).
    assert [(a["kind"], a["position"]) for a in result.anomalies] == [
        ("MALFORMED", 0),
        ("MALFORMED", len(good) - 1 + 3),
    ]
    assert (result.counts.records, result.counts.documents) == (3, 1)


def test_json_numbers_may_be_strings_and_stay_exact(feeds: Feeds) -> None:
    """As text or number; 0.1 stays 0.1; 1E+2 is 100; 999 us are cut off; no field is a float."""
    feeds.beta.append(
        b'{"seq":"1","ts":"1772442000000999","evt":"ORDER_NEW","order":"b1","ric":"ABC.L",'
        b'"side":"S","qty":1E+2,"px":0.10000000000000000001,"acct":"ACC","prev":null}'
    )
    feeds.beta.append(
        b'{"seq":2,"ts":1772442000001000,"evt":"FILL","order":"b1","ric":"ABC.L","fill":"f1",'
        b'"qty":"0.30","px":100}'
    )
    result = feeds.run()
    (order,) = result.final["BETA:b1"]["orders"]
    assert (order["quantity"], order["price"]) == ("100", "0.10000000000000000001")
    assert (order["cum_qty"], order["leaves_qty"], order["avg_px"]) == ("0.3", "99.7", "100")
    assert [document["as_of_ms"] for document in result.orders] == [T0, T0 + 1]


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[1]",
        b'{"seq":1,"ts":NaN}',
        b'{"seq":1,"ts":1772442000000000,"evt":"ORDER_SEEN","order":"b1","ric":"ABC.L"}',
        b'{"seq":1,"ts":"nine","evt":"ORDER_CANCEL","order":"b1","ric":"ABC.L"}',
        b'{"seq":1,"ts":1772442000000000,"evt":"ORDER_CANCEL","order":"b1"}',
        b'{"seq":1,"ts":1772442000000000,"evt":"ORDER_CANCEL","order":null,"ric":"ABC.L"}',
        b'{"ts":1772442000000000,"evt":"ORDER_CANCEL","order":"b1","ric":"ABC.L"}',
        b'{"seq":1,"ts":1772442000000000,"evt":"FILL","order":"b1","ric":"ABC.L","fill":"f",'
        b'"qty":true,"px":1}',
        b'{"seq":1,"ts":1772442000000000,"evt":"FILL","order":"b1","ric":"ABC.L","fill":"f",'
        b'"qty":0.0,"px":1}',
        b'{"seq":1,"ts":1772442000000000,"evt":"FILL","order":"b1","ric":"ABC.L","qty":1,"px":1}',
    ],
)
def test_malformed_json(feeds: Feeds, line: bytes) -> None:
    """Each is MALFORMED, with its raw text."""
    feeds.beta.append(line)
    (found,) = feeds.run().anomalies
    assert (found["kind"], found["source"], found["raw"]) == (
        "MALFORMED",
        "beta.jsonl",
        line.decode(),
    )


def test_gamma_times_have_an_offset(feeds: Feeds) -> None:
    """10:00:00.5+01:00 and 09:00:01Z are T0 + 500 and T0 + 1000; quotes are CSV's."""
    feeds.gamma += [
        b'1,2026-03-02T10:00:00.5+01:00,NEW,g1,,,,GB01,Buy,100,"10.00",ACC',
        b"2,2026-03-02T09:00:01Z,EXEC,g1,,,x1,GB01,,40,10.25,",
        b"3,2026-03-02T09:00:02Z,REPLACE,g2,g1,,,GB01,Buy,60,10,ACC",
        b"4,2026-03-02T09:00:03Z,BUST,g1,,,x1,GB01,,,,",
        b"5,2026-03-02T09:00:04Z,CANCEL,g2,,,,GB01,,,,",
    ]
    result = feeds.run()
    assert [document["as_of_ms"] - T0 for document in result.orders[:2]] == [500, 1000]
    assert orders(result.orders[2]) == {"GAMMA:g1": ("PARTIALLY_FILLED", "40", "20", "10.25")}
    assert orders(result.orders[4]) == {"GAMMA:g1": ("CANCELLED", "0", "0", None)}
    assert kinds(result) == []


@pytest.mark.parametrize(
    "line",
    [
        b"1,2026-03-02T09:00:00,NEW,g1,,,,GB01,Buy,100,10,ACC",  # no offset
        b"1,2026-03-02T09:00:00Z,NEW,g1,,,,GB01,BUY,100,10,ACC",  # BETA's or nobody's side
        b"1,2026-03-02T09:00:00Z,New,g1,,,,GB01,Buy,100,10,ACC",
        b"1,2026-03-02T09:00:00Z,NEW,g1,,,,GB01,Buy,100,10",  # a column less
        b"1,2026-03-02T09:00:00Z,REPLACE,g1,,,,GB01,Buy,100,10,ACC",  # replaces nothing
        b"x,2026-03-02T09:00:00Z,CANCEL,g1,,,,GB01,,,,",
    ],
)
def test_malformed_csv(feeds: Feeds, line: bytes) -> None:
    """Behind the header: at its byte offset."""
    feeds.gamma.append(line)
    (found,) = feeds.run().anomalies
    assert (found["kind"], found["position"]) == ("MALFORMED", len(HEADER) + 1)


def test_a_field_that_the_kind_does_not_need_is_not_looked_at(feeds: Feeds) -> None:
    """A cancel with a strange side, quantity and account; a fill with a strange account."""
    feeds.new(1, 0, "b1")
    feeds.json(2, 1, "FILL", "b1", fill="f1", qty="1", px="1", side="?", acct="NONE")
    feeds.json(3, 2, "ORDER_CANCEL", "b1", side="?", qty="-1", acct="NONE")
    assert kinds(feeds.run()) == []


# ------------------------------------------------------------------------------ reference data


def test_the_instrument_row_that_holds_at_the_event_time(feeds: Feeds) -> None:
    """Valid from 09:00:01 (T0 + 1000): unknown before, then GBP, EUR from a minute on."""
    head = INSTRUMENTS.splitlines()[0]
    feeds.instruments = (
        f"{head}\nI1,ABC,ABC.L,GB01,EUR,1,2026-03-02T09:01:00Z\n"
        "I1,ABC,ABC.L,GB01,GBP,1,2026-03-02T09:00:01+00:00\n"
    )
    for seq, at in enumerate((999, 1000, 59_999, 60_000)):
        feeds.new(seq, at, f"b{seq}")
    result = feeds.run()
    assert kinds(result) == [("UNKNOWN_INSTRUMENT", "BETA:0")]
    assert [d["currency"] for d in result.orders] == ["GBP", "GBP", "EUR"]


def test_a_symbol_given_up_names_its_instrument_no_more(feeds: Feeds) -> None:
    """ABC.L became NEW.L on 2 March: from then on ABC.L is unknown, and NEW.L is I1."""
    feeds.instruments += "I1,NEW,NEW.L,GB01,GBP,1,2026-03-02\n"
    feeds.new(1, 0, "b1")
    feeds.new(2, 1, "b2", ric="NEW.L")
    result = feeds.run()
    assert kinds(result) == [("UNKNOWN_INSTRUMENT", "BETA:1")]
    assert result.final["BETA:b2"]["instrument_id"] == "I1"


def test_unknown_account_is_linked_with_no_client(feeds: Feeds) -> None:
    """Reported for new and replace, and each copy; an unknown instrument comes first."""
    feeds.new(1, 0, "b1", acct="NONE")
    feeds.new(1, 0, "b1", acct="NONE")
    feeds.json(2, 1, "ORDER_AMEND", "b2", prev="b1", side="B", qty="1", px="1", acct="NOBODY")
    feeds.new(3, 2, "b3", acct="NONE", ric="??")
    feeds.new(3, 2, "b3", acct="NONE", ric="??")
    result = feeds.run()
    assert kinds(result) == [
        ("UNKNOWN_ACCOUNT", "BETA:1"),
        ("UNKNOWN_ACCOUNT", "BETA:1"),
        ("UNKNOWN_ACCOUNT", "BETA:2"),
        ("UNKNOWN_INSTRUMENT", "BETA:3"),
        ("UNKNOWN_INSTRUMENT", "BETA:3"),
        ("DUPLICATE", "BETA:1"),
    ]
    assert [(d["version"], d["client"]) for d in result.orders] == [(1, None), (2, None)]


# ------------------------------------------------------------------------------ one order


def test_any_id_of_the_chain_means_the_order(feeds: Feeds) -> None:
    """Filled by its first, middle and last id; replaced by the first id once more."""
    feeds.new(1, 0, "b1")
    feeds.amend(2, 1, "b2", "b1", "50", "11")
    feeds.amend(3, 2, "b3", "b1", "60", "12")
    for seq, order in enumerate(("b1", "b2", "b3"), start=4):
        feeds.fill(seq, seq, order, f"f{seq}", "10")
    result = feeds.run()
    assert only(result) == {"BETA:b1": ("PARTIALLY_FILLED", "30", "30", "10")}
    (order,) = result.final["BETA:b1"]["orders"]
    assert order["ids"] == ["BETA:b1", "BETA:b2", "BETA:b3"]
    assert (order["quantity"], order["price"]) == ("60", "12")


@pytest.mark.parametrize(
    ("fills", "average"),
    [
        ([("1", "10"), ("2", "11")], "10.666667"),  # 32 / 3
        ([("1", "1.000001"), ("1", "1.000002")], "1.000002"),  # 1.0000015: to even, up
        ([("1", "1.000002"), ("1", "1.000003")], "1.000002"),  # 1.0000025: to even, down
        ([("1", "0.0000001")], "0"),  # below half of the last decimal
        ([("0.1", "3"), ("0.2", "3")], "3"),
    ],
)
def test_average_price(feeds: Feeds, fills: list[tuple[str, str]], average: str) -> None:
    """Notional over quantity, six decimals, half even."""
    feeds.new(1, 0, "b1")
    for seq, (qty, px) in enumerate(fills, start=2):
        feeds.fill(seq, seq, "b1", f"f{seq}", qty, px)
    assert only(feeds.run())["BETA:b1"][3] == average


def test_status_follows_the_quantity(feeds: Feeds) -> None:
    """40 of 100, all, 60 busted; replaced to 30: filled at once; to 90: open, leaves 50."""
    feeds.new(1, 0, "b1")
    feeds.fill(2, 1, "b1", "f1", "40")
    feeds.fill(3, 2, "b1", "f2", "60")
    feeds.bust(4, 3, "b1", "f2")
    feeds.amend(5, 4, "b2", "b1", "30")
    feeds.amend(6, 5, "b3", "b2", "90")
    feeds.bust(7, 6, "b1", "f1")
    result = feeds.run()
    assert [(o["status"], o["leaves_qty"]) for d in result.orders for o in d["orders"]] == [
        ("NEW", "100"),
        ("PARTIALLY_FILLED", "60"),
        ("FILLED", "0"),
        ("PARTIALLY_FILLED", "60"),
        ("FILLED", "0"),
        ("PARTIALLY_FILLED", "50"),
        ("NEW", "90"),
    ]
    assert kinds(result) == []  # 40 done of 30 is no OVERFILL: no execution took it there


def test_overfill_is_judged_at_each_execution(feeds: Feeds) -> None:
    """60, 110 over by 10, 111 over again; after the bust of 60, 51 and one more are within 100."""
    feeds.new(1, 0, "b1")
    feeds.fill(2, 1, "b1", "f1", "60")
    feeds.fill(3, 2, "b1", "f2", "50")
    feeds.fill(4, 3, "b1", "f3", "1")
    feeds.bust(5, 4, "b1", "f1")
    feeds.fill(6, 5, "b1", "f4", "1")
    result = feeds.run()
    assert kinds(result) == [("OVERFILL", "BETA:3"), ("OVERFILL", "BETA:4")]
    assert orders(result.orders[3]) == {"BETA:b1": ("FILLED", "111", "0", "10")}
    assert only(result) == {"BETA:b1": ("PARTIALLY_FILLED", "52", "48", "10")}


def test_a_closed_order_still_counts_executions_and_busts(feeds: Feeds) -> None:
    """Cancelled at 40 of 100; then 70 more (110: over), then the 40 busted: 70. Leaves stay 0."""
    feeds.new(1, 0, "b1")
    feeds.fill(2, 1, "b1", "f1", "40")
    feeds.cancel(3, 2, "b1")
    feeds.fill(4, 3, "b1", "f2", "70", "20")
    feeds.bust(5, 4, "b1", "f1")
    result = feeds.run()
    assert only(result) == {"BETA:b1": ("CANCELLED", "70", "0", "20")}
    assert result.final["BETA:b1"]["version"] == 5
    assert kinds(result) == [("OVERFILL", "BETA:4")]


def test_closed_order_changes_nothing(feeds: Feeds) -> None:
    """b1 is rejected: no replace, cancel, reject. b2 is filled: a replace, but no others."""
    feeds.new(1, 0, "b1")
    feeds.reject(2, 1, "b1")
    feeds.amend(3, 2, "b1x", "b1", "50")
    feeds.cancel(4, 3, "b1")
    feeds.reject(5, 4, "b1")
    feeds.fill(6, 5, "b1x", "f0", "1")  # b1x never came to be: this one waits for ever
    feeds.new(11, 10, "b2")
    feeds.fill(12, 11, "b2", "f1", "100")
    feeds.cancel(13, 12, "b2")
    feeds.reject(14, 13, "b2")
    feeds.amend(15, 14, "b3", "b2", "150")
    result = feeds.run()
    assert kinds(result) == [
        ("CLOSED_ORDER", "BETA:3"),
        ("CLOSED_ORDER", "BETA:4"),
        ("CLOSED_ORDER", "BETA:5"),
        ("CLOSED_ORDER", "BETA:13"),
        ("CLOSED_ORDER", "BETA:14"),
        ("ORPHAN", "BETA:6"),
    ]
    assert result.final["BETA:b1"]["version"] == 2
    assert result.final["BETA:b1"]["as_of_ms"] == T0 + 1
    assert orders(result.final["BETA:b2"]) == {"BETA:b2": ("PARTIALLY_FILLED", "100", "50", "10")}


# ------------------------------------------------------------------------------ hierarchies


def test_children_across_systems(feeds: Feeds) -> None:
    """Root at ALPHA, child at BETA, grandchild at GAMMA, whose parent is a replaced id."""
    feeds.fix(*GOOD[:5], "54=1", "38=100", "44=10", "1=ACC")
    feeds.new(1, 1, "b1", "60", parent="ALPHA:a1")
    feeds.amend(2, 2, "b2", "b1", "50")
    feeds.gamma.append(b"1,2026-03-02T09:00:01Z,NEW,g1,,BETA:b2,,GB01,Buy,20,10,ACC")
    feeds.gamma.append(b"2,2026-03-02T09:00:02Z,EXEC,g1,,,x1,GB01,,12,10,")
    feeds.fill(3, 3000, "b1", "f1", "18")
    result = feeds.run()
    (document,) = result.final.values()
    assert (document["root"], document["version"]) == ("ALPHA:a1", 6)
    assert [
        (o["order_id"], o["parent"], o["cum_qty"], o["executed_below"]) for o in document["orders"]
    ] == [
        ("ALPHA:a1", None, "0", "30"),  # 18 + 12
        ("BETA:b1", "ALPHA:a1", "18", "12"),
        ("GAMMA:g1", "BETA:b1", "12", "0"),
    ]


def test_a_cancel_closes_what_is_open_below(feeds: Feeds) -> None:
    """p over c1 (filled, over c11 open), c2 (rejected), c3 (partly filled); s is another root."""
    feeds.new(1, 0, "p")
    feeds.new(2, 1, "c1", "10", parent="BETA:p")
    feeds.new(3, 2, "c11", "10", parent="BETA:c1")
    feeds.new(4, 3, "c2", "10", parent="BETA:p")
    feeds.new(5, 4, "c3", "10", parent="BETA:p")
    feeds.new(6, 5, "s", "10")
    feeds.fill(7, 6, "c1", "f1", "10")
    feeds.reject(8, 7, "c2")
    feeds.fill(9, 8, "c3", "f2", "4")
    feeds.cancel(10, 9, "p")
    feeds.cancel(11, 10, "c3")
    feeds.bust(12, 11, "c1", "f1")
    result = feeds.run()
    assert orders(result.final["BETA:p"]) == {
        "BETA:p": ("CANCELLED", "0", "0", None),
        "BETA:c1": ("NEW", "0", "10", None),  # it was filled when p was cancelled: not closed
        "BETA:c11": ("CANCELLED_BY_PARENT", "0", "0", None),
        "BETA:c2": ("REJECTED", "0", "0", None),
        "BETA:c3": ("CANCELLED_BY_PARENT", "4", "0", "10"),
    }
    assert result.final["BETA:p"]["version"] == 10  # 5 new, 2 fills, reject, cancel, bust
    assert orders(result.final["BETA:s"])["BETA:s"][0] == "NEW"
    assert kinds(result) == [("CLOSED_ORDER", "BETA:11")]


def test_a_reject_leaves_the_children_open(feeds: Feeds) -> None:
    """Only a cancel goes down."""
    feeds.new(1, 0, "p")
    feeds.new(2, 1, "c", parent="BETA:p")
    feeds.reject(3, 2, "p")
    assert {o: s[0] for o, s in only(feeds.run()).items()} == {
        "BETA:p": "REJECTED",
        "BETA:c": "NEW",
    }


def test_a_child_of_a_closed_parent_is_linked_open(feeds: Feeds) -> None:
    """The cancel came before the child: it closes what was there."""
    feeds.new(1, 0, "p")
    feeds.cancel(2, 1, "p")
    feeds.new(3, 2, "c", parent="BETA:p")
    result = feeds.run()
    assert {o: s[0] for o, s in only(result).items()} == {"BETA:p": "CANCELLED", "BETA:c": "NEW"}
    assert kinds(result) == []


# ------------------------------------------------------------------------------ order and waiting


def test_applied_by_time_then_system_then_number(feeds: Feeds) -> None:
    """At one ms: ALPHA's root, then BETA 9 before BETA 10 (numbers, not text), before GAMMA 1."""
    feeds.gamma.append(b"1,2026-03-02T09:00:00Z,NEW,g1,,ALPHA:a1,,GB01,Buy,20,10,ACC")
    feeds.new(10, 0, "b10", parent="ALPHA:a1")
    feeds.new(9, 0, "b9", parent="ALPHA:a1")
    feeds.new(11, -1, "b11", parent="ALPHA:a1")  # a ms before: it waits, and follows the root
    feeds.fix(*GOOD[:5], "54=1", "38=100", "44=10", "1=ACC")
    assert list(only(feeds.run())) == ["ALPHA:a1", "BETA:b11", "BETA:b9", "BETA:b10", "GAMMA:g1"]


@pytest.mark.parametrize(("late", "in_time"), [(MIN15, True), (MIN15 + 1, False)])
def test_fifteen_minutes_of_waiting(feeds: Feeds, late: int, in_time: bool) -> None:
    """The order comes exactly 15 minutes behind its fill, or a ms more."""
    feeds.fill(1, 0, "b1", "f1", "30")
    feeds.new(2, late, "b1")
    result = feeds.run()
    assert kinds(result) == ([] if in_time else [("ORPHAN", "BETA:1")])
    assert [d["as_of_ms"] for d in result.orders] == [T0 + late] * (2 if in_time else 1)
    assert only(result)["BETA:b1"][1] == ("30" if in_time else "0")
    if in_time:
        assert result.orders[1]["orders"][0]["executions"][0]["time_ms"] == T0


def test_a_chain_of_waiting_must_all_be_in_time(feeds: Feeds) -> None:
    """Fill (0) of child (1 s) of root at 15 min + 0.5 s: the child is in time, its fill is not."""
    feeds.fill(1, 0, "c", "f1", "30")
    feeds.new(2, 1000, "c", parent="BETA:p")
    feeds.new(3, MIN15 + 500, "p")
    result = feeds.run()
    assert kinds(result) == [("ORPHAN", "BETA:1")]
    assert only(result) == {
        "BETA:p": ("NEW", "0", "100", None),
        "BETA:c": ("NEW", "0", "100", None),
    }


def test_what_waited_is_applied_depth_first(feeds: Feeds) -> None:
    """Root p sets free c1, c2 (by time); each takes its own children and fills along at once."""
    feeds.bust(1, 0, "c1", "f1")
    feeds.new(2, 1, "c21", parent="BETA:c2")
    feeds.fill(3, 2, "c1", "f1", "5")
    feeds.new(4, 3, "c11", parent="BETA:c1")
    feeds.new(5, 4, "c1", parent="BETA:p")
    feeds.new(6, 5, "c2", parent="BETA:p")
    feeds.new(7, 6, "p")
    result = feeds.run()
    # p; c1, its fill, the fill's bust, c11; c2, c21.
    assert [
        (len(d["orders"]), sum(len(o["executions"]) for o in d["orders"])) for d in result.orders
    ] == [(1, 0), (2, 0), (2, 1), (2, 1), (3, 1), (4, 1), (5, 1)]
    assert list(only(result)) == ["BETA:p", "BETA:c1", "BETA:c11", "BETA:c2", "BETA:c21"]
    assert [d["version"] for d in result.orders] == [1, 2, 3, 4, 5, 6, 7]
    assert {d["as_of_ms"] for d in result.orders} == {T0 + 6}
    assert only(result)["BETA:c1"] == ("NEW", "0", "100", None)


def test_a_waiting_event_meets_the_order_as_it_then_is(feeds: Feeds) -> None:
    """A cancel (0) and a fill (1) wait for the order (2): cancelled first, then filled 10."""
    feeds.cancel(1, 0, "b1")
    feeds.fill(2, 1, "b1", "f1", "10")
    feeds.new(3, 2, "b1")
    feeds.amend(4, 3, "b2", "b1", "5")
    result = feeds.run()
    assert only(result) == {"BETA:b1": ("CANCELLED", "10", "0", "10")}
    assert kinds(result) == [("CLOSED_ORDER", "BETA:4")]


def test_orphans_at_the_end_in_their_own_order(feeds: Feeds) -> None:
    """A parent, an order of another instrument, an execution: none is known to these."""
    feeds.new(1, 0, "b1", ric="XYZ.L")
    feeds.bust(2, 30, "b1", "f9")
    feeds.fill(3, 20, "b1", "f1", "1")  # of ABC.L: an order of XYZ.L is not known there
    feeds.new(4, 10, "c", parent="ALPHA:none")
    feeds.reject(5, 40, "nobody")
    result = feeds.run()
    assert kinds(result) == [("ORPHAN", f"BETA:{seq}") for seq in (4, 3, 2, 5)]
    assert result.counts.documents == 1


# ------------------------------------------------------------------------------ memory


@pytest.mark.parametrize(("later", "kind"), [(0, "DUPLICATE"), (DAY, "DUPLICATE"), (DAY + 1, "")])
def test_an_event_id_is_remembered_for_a_day(feeds: Feeds, later: int, kind: str) -> None:
    """The same number again, as another order: exactly a day later it is still a duplicate."""
    feeds.new(1, 0, "b1")
    feeds.new(1, later, "b2")
    result = feeds.run()
    assert kinds(result) == ([(kind, "BETA:1")] if kind else [])
    assert len(result.final) == (1 if kind else 2)


def test_a_duplicate_does_not_renew_the_memory(feeds: Feeds) -> None:
    """At 0, half a day (duplicate), a day and 1 ms: new, and remembered from there (2 ms on)."""
    for order, at in (("b1", 0), ("b2", DAY // 2), ("b3", DAY + 1), ("b4", DAY + 2)):
        feeds.new(1, at, order)
    result = feeds.run()
    assert kinds(result) == [("DUPLICATE", "BETA:1")] * 2
    assert list(result.final) == ["BETA:b1", "BETA:b3"]


def test_a_copy_of_a_waiting_event_or_of_an_orphan_is_a_duplicate(feeds: Feeds) -> None:
    """Fill 1 waits, its copy is a duplicate; it is an orphan after 15 minutes, a copy still is."""
    feeds.fill(1, 0, "b1", "f1", "1")
    feeds.fill(1, 1, "b1", "f1", "1")
    feeds.new(2, MIN15 + 1, "b1")
    feeds.fill(1, MIN15 + 2, "b1", "f1", "1")
    result = feeds.run()
    assert kinds(result) == [("DUPLICATE", "BETA:1"), ("ORPHAN", "BETA:1"), ("DUPLICATE", "BETA:1")]
    assert only(result)["BETA:b1"][1] == "0"


def test_a_malformed_copy_is_malformed(feeds: Feeds) -> None:
    """It is never decoded, so it is no duplicate; nor does it make the good one a duplicate."""
    feeds.new(1, 0, "b1", qty="0")
    feeds.new(1, 0, "b1")
    feeds.new(1, 0, "b1", qty="0")
    assert [kind for kind, _ in kinds(feeds.run())] == ["MALFORMED", "MALFORMED"]


def test_ids_in_use_cannot_be_brought_again(feeds: Feeds) -> None:
    """Other events that bring b1, f1, b1 again, or bust f1 again, change nothing: DUPLICATE."""
    feeds.new(1, 0, "b1")
    feeds.new(2, 1, "b1", "7")
    feeds.fill(3, 2, "b1", "f1", "10")
    feeds.fill(4, 3, "b1", "f1", "20")
    feeds.amend(5, 4, "b1", "b1", "50")
    feeds.bust(6, 5, "b1", "f1")
    feeds.bust(7, 6, "b1", "f1")
    result = feeds.run()
    assert kinds(result) == [("DUPLICATE", f"BETA:{seq}") for seq in (2, 4, 5, 7)]
    assert only(result) == {"BETA:b1": ("NEW", "0", "100", None)}
    assert result.final["BETA:b1"]["version"] == 3


@pytest.mark.parametrize(
    ("end", "later", "there"),
    [
        ("cancel", DAY, True),
        ("cancel", DAY + 1, False),
        ("fill", DAY + 1, False),
        ("open", 9 * DAY, True),
    ],
)
def test_a_finished_hierarchy_leaves_after_a_day(
    feeds: Feeds, end: str, later: int, there: bool
) -> None:
    """Last touched at 1000; a fill that much later finds it or is an orphan. Open ones stay."""
    feeds.new(1, 0, "b1")
    if end == "cancel":
        feeds.cancel(2, 1000, "b1")
    else:
        feeds.fill(2, 1000, "b1", "f1", "100" if end == "fill" else "1")
    feeds.fill(3, 1000 + later, "b1", "f2", "1")
    result = feeds.run()
    assert (("ORPHAN", "BETA:3") in kinds(result)) is not there
    assert result.final["BETA:b1"]["version"] == (3 if there else 2)


def test_touching_one_order_keeps_the_hierarchy_and_an_anomaly_does_not(feeds: Feeds) -> None:
    """p, c cancelled at 2. A fill at 12 h keeps them to 36 h; the CLOSED_ORDER at 30 h does not."""
    hour = 3_600_000
    feeds.new(1, 0, "p")
    feeds.new(2, 1, "c", parent="BETA:p")
    feeds.cancel(3, 2, "p")
    feeds.fill(4, 12 * hour, "c", "f1", "1")
    feeds.cancel(5, 30 * hour, "p")
    feeds.fill(6, 36 * hour, "p", "f2", "1")
    feeds.cancel(7, 60 * hour, "p")
    feeds.fill(8, 60 * hour + 1, "p", "f3", "1")
    result = feeds.run()
    # Touched at 36 h: at 60 h still there (closed); a ms later gone, for the cancel was no touch.
    assert kinds(result) == [
        ("CLOSED_ORDER", "BETA:5"),
        ("CLOSED_ORDER", "BETA:7"),
        ("ORPHAN", "BETA:8"),
    ]
    assert result.final["BETA:p"]["version"] == 5


def test_an_order_id_may_come_again_once_its_hierarchy_left(feeds: Feeds) -> None:
    """Closed at 1, gone at a day + 2: the same id is a new root, from version 1."""
    feeds.new(1, 0, "b1")
    feeds.reject(2, 1, "b1")
    feeds.new(3, DAY + 2, "b1", "7")
    feeds.fill(4, DAY + 3, "b1", "f1", "7")
    result = feeds.run()
    assert [d["version"] for d in result.orders] == [1, 2, 1, 2]
    assert only(result) == {"BETA:b1": ("FILLED", "7", "0", "10")}
    assert kinds(result) == []


# ------------------------------------------------------------------------------ the whole


def test_the_order_of_arrival_makes_no_difference(feeds: Feeds) -> None:
    """Every line forwards, then backwards: the same documents."""
    feeds.new(1, 0, "p")
    feeds.new(2, 5, "c", parent="BETA:p")
    feeds.fill(3, 3, "c", "f1", "3")
    feeds.new(4, 7, "q", ric="XYZ.L")
    feeds.cancel(5, 9, "p")
    forwards = feeds.run()
    feeds.beta.reverse()
    assert feeds.run().orders == forwards.orders
    assert forwards.counts.documents == 5


@pytest.mark.parametrize("seed", range(6))
def test_counts_add_up_on_any_input(feeds: Feeds, seed: int) -> None:
    """400 events over few ids, with copies, in any order of arrival: the same result, none lost."""
    rng = random.Random(seed)
    kinds_of_event = ["ORDER_NEW"] * 2 + ["ORDER_AMEND", "FILL", "FILL_BUST"]
    kinds_of_event += ["ORDER_CANCEL", "ORDER_REJECT"]
    for seq in range(400):
        at = rng.randrange(3 * DAY) // rng.choice([1, 500, 500, 500])
        fields = {"prev": f"b{rng.randrange(40)}", "fill": f"f{rng.randrange(60)}"}
        fields |= {"side": "B", "qty": str(rng.randrange(1, 90)), "px": "10", "acct": "ACC"}
        if rng.random() < 0.6:
            fields["parent"] = f"BETA:b{rng.randrange(40)}"
        evt = rng.choice(kinds_of_event)
        order = f"b{rng.randrange(40)}" + ("x" if evt == "ORDER_AMEND" else "")
        feeds.json(seq, at, evt, order, **fields)
        if rng.random() < 0.1:
            feeds.beta.append(rng.choice(feeds.beta))
    first = feeds.run()
    rng.shuffle(feeds.beta)
    second = feeds.run()
    assert second.orders == first.orders
    assert sorted(kinds(second)) == sorted(kinds(first))
    assert {kind for kind, _ in kinds(first)} == {"DUPLICATE", "OVERFILL", "CLOSED_ORDER", "ORPHAN"}


def test_the_command_writes_both_files(
    feeds: Feeds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One document and one anomaly, a line each."""
    feeds.new(1, 0, "b1")
    feeds.beta.append(b"{")
    result = feeds.run()
    monkeypatch.setattr(sys, "argv", ["oracle", str(tmp_path), "--out", str(tmp_path / "out")])
    main()
    for name, found in (("orders", result.orders), ("anomalies", result.anomalies)):
        lines = (tmp_path / "out" / f"{name}.jsonl").read_text().splitlines()
        assert [json.loads(line) for line in lines] == found
        assert len(lines) == 1
