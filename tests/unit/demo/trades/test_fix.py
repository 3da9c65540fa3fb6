from __future__ import annotations

from decimal import Decimal

import pytest

from headrace.demo.trades import fix
from headrace.errors import DecodeError

# 2026-03-03T08:30:00.250Z
TIME_MS = 1_772_526_600_250

# Length and checksum come from wc, od and awk, not from the code under test.
GOLDEN_NEW = (
    b"8=FIX.4.4\x019=85\x0135=D\x0149=A\x0156=F\x0134=7\x0160=20260303-08:30:00.250\x01"
    b"11=a1\x011=AC1\x0155=VOD\x0154=1\x0138=100\x0144=10.50\x0110=254\x01"
)


def message(body: str, *, length: int | None = None, total: int | None = None) -> bytes:
    """A framed message; ``|`` in the body stands for SOH."""
    raw = body.replace("|", "\x01").encode()
    head = b"8=FIX.4.4\x019=%d\x01" % (len(raw) if length is None else length)
    # The sum is written out here, so that a mistake in fix.checksum does not hide itself.
    sum_ = 0
    for byte in head + raw:
        sum_ = (sum_ + byte) % 256
    return head + raw + b"10=%03d\x01" % (sum_ if total is None else total)


FRONT = "49=A|56=F|34=7|60=20260303-08:30:00.250|"
NEW = f"35=D|{FRONT}11=a1|1=AC1|55=VOD|54=1|38=100|44=10.50|"


def reason(line: bytes) -> str:
    with pytest.raises(DecodeError) as caught:
        fix.decode(line)
    return caught.value.message


def test_a_new_order() -> None:
    event = fix.decode(GOLDEN_NEW)
    assert event.event_id == "ALPHA:7"
    assert (event.kind, event.event_time_ms, event.order_id) == ("NEW", TIME_MS, "ALPHA:a1")
    assert (event.symbol, event.side, event.account) == ("VOD", "BUY", "AC1")
    assert (event.quantity, event.price) == (Decimal(100), Decimal("10.50"))
    assert (event.replaces, event.parent_order_id, event.exec_id) == (None, None, None)


def test_the_golden_line_is_what_the_helper_frames() -> None:
    assert message(NEW) == GOLDEN_NEW


def test_a_child_names_its_parent_in_the_firms_form() -> None:
    assert fix.decode(message(f"{NEW}583=BETA:9|")).parent_order_id == "BETA:9"


def test_a_replace() -> None:
    event = fix.decode(message(f"35=G|{FRONT}11=a2|41=a1|1=AC1|55=VOD|54=2|38=50|44=9|"))
    assert (event.kind, event.order_id, event.replaces) == ("REPLACE", "ALPHA:a2", "ALPHA:a1")
    assert (event.side, event.quantity, event.price) == ("SELL", Decimal(50), Decimal(9))


def test_a_cancel_is_about_the_order_cancelled_and_needs_no_more() -> None:
    event = fix.decode(message(f"35=F|{FRONT}11=c1|41=a1|55=VOD|54=?|38=0|"))
    assert (event.kind, event.order_id, event.replaces) == ("CANCEL", "ALPHA:a1", None)
    assert (event.side, event.quantity, event.price, event.account) == (None, None, None, None)


def test_an_execution_has_what_was_executed() -> None:
    event = fix.decode(message(f"35=8|{FRONT}150=F|11=a1|17=x1|55=VOD|32=5|31=10.25|38=0|44=0|"))
    assert (event.kind, event.order_id, event.exec_id) == ("EXECUTION", "ALPHA:a1", "ALPHA:x1")
    assert (event.quantity, event.price) == (Decimal(5), Decimal("10.25"))


def test_a_bust_names_the_execution_and_need_not_name_the_order() -> None:
    event = fix.decode(message(f"35=8|{FRONT}150=H|17=x9|19=x1|55=VOD|"))
    assert (event.kind, event.order_id, event.exec_id) == ("BUST", None, "ALPHA:x1")


def test_a_reject() -> None:
    event = fix.decode(message(f"35=8|{FRONT}150=8|11=a1|55=VOD|"))
    assert (event.kind, event.order_id) == ("REJECT", "ALPHA:a1")


def test_a_line_end_does_not_matter() -> None:
    assert fix.decode(GOLDEN_NEW + b"\r\n") == fix.decode(GOLDEN_NEW)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"", "does not open with 8=FIX.4.4"),
        (GOLDEN_NEW.replace(b"FIX.4.4", b"FIX.4.2"), "does not open with 8=FIX.4.4"),
        (GOLDEN_NEW[:-8], "does not close"),
        (GOLDEN_NEW[:-1], "does not close"),
        (GOLDEN_NEW[:40], "does not close"),
        (b"8=FIX.4.4\x019=5\x01", "does not close"),
        (b"8=FIX.4.4\x019=0\x0110=000\x01", "checksum"),
        (message("", length=0), "tag 35, does not stand third"),
        (message(NEW, total=99), "the checksum is 254, tag 10 says 099"),
        (message(NEW, length=86), "the body is 85 bytes long, tag 9 says 86"),
        (message("49=A|35=D|"), "tag 35, does not stand third"),
        (message(f"{NEW}55=BP|"), "tag 55 stands twice"),
        (message(f"{NEW}9=1|"), "tag 9 stands twice"),
        (message(f"{NEW}x=1|"), "no tag"),
        (message(f"{NEW}77|"), "no tag"),
        (message(f"{NEW}|"), "no tag"),
        (message(NEW.replace("35=D", "35=0")), "message type 35=0 is unknown"),
        (message(f"35=8|{FRONT}150=0|11=a1|55=VOD|"), "execution type 150=0 is unknown"),
        (message(f"35=8|{FRONT}11=a1|55=VOD|"), "field 150 is missing"),
        (message(NEW.replace("34=7|", "")), "field 34 is missing"),
        (message(NEW.replace("34=7|", "34=7a|")), "field 34 is '7a'"),
        (message(NEW.replace("60=20260303-08:30:00.250|", "")), "field 60 is missing"),
        (message(NEW.replace(".250", "")), "field 60 cannot be read"),
        (message(NEW.replace("08:30", "24:00")), "field 60 cannot be read"),
        (message(NEW.replace("20260303", "20260230")), "field 60 cannot be read"),
        (message(NEW.replace("11=a1|", "")), "field 11 is missing"),
        (message(NEW.replace("1=AC1|", "1=|")), "field 1 is missing"),
        (message(NEW.replace("55=VOD|", "")), "field 55 is missing"),
        (message(NEW.replace("54=1", "54=5")), "field 54 is '5', which is no side"),
        (message(NEW.replace("38=100", "38=0")), "field 38 is 0, and must be above 0"),
        (message(NEW.replace("44=10.50", "44=-1")), "field 44 is -1, and must be above 0"),
        (message(NEW.replace("44=10.50", "44=1_0")), "which is no decimal number"),
        (message(f"35=G|{FRONT}11=a2|1=AC1|55=VOD|54=1|38=1|44=1|"), "field 41 is missing"),
        (message(f"35=F|{FRONT}11=c1|55=VOD|"), "field 41 is missing"),
        (message(f"35=8|{FRONT}150=F|11=a1|55=VOD|32=5|31=1|"), "field 17 is missing"),
        (message(f"35=8|{FRONT}150=F|11=a1|17=x|55=VOD|31=1|"), "field 32 is missing"),
        (message(f"35=8|{FRONT}150=F|11=a1|17=x|55=VOD|32=1|31=0|"), "field 31 is 0"),
        (message(f"35=8|{FRONT}150=H|11=a1|17=x|55=VOD|"), "field 19 is missing"),
        (message(f"35=8|{FRONT}150=8|55=VOD|"), "field 11 is missing"),
    ],
)
def test_what_is_malformed(line: bytes, words: str) -> None:
    assert words in reason(line)


def test_text_that_is_no_utf8_is_malformed_where_it_is_needed() -> None:
    def with_latin_1(body: str) -> bytes:
        raw = body.replace("|", "\x01").encode("latin-1")
        head = b"8=FIX.4.4\x019=%d\x01" % len(raw)
        return head + raw + b"10=%03d\x01" % (sum(head + raw) % 256)

    assert "field 55 is not UTF-8" in reason(with_latin_1(NEW.replace("VOD", "V\xd6D")))
    assert fix.decode(with_latin_1(f"{NEW}58=\xd6|")).symbol == "VOD"
