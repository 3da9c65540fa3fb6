"""Whatever is in a line, a decoder gives an event or says what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.demo.trades import beta, fix, gamma
from headrace.demo.trades.events import DecodedEvent
from headrace.errors import DecodeError

Decode = Callable[[bytes], DecodedEvent]

_FIX_BODY = (
    b"35=D\x0149=A\x0156=F\x0134=7\x0160=20260303-08:30:00.250\x0111=a1\x011=AC1\x0155=VOD\x01"
    b"54=1\x0138=100\x0144=10.50\x01"
)
_JSON = (
    b'{"seq":12,"ts":1772526600250999,"evt":"ORDER_NEW","order":"b1","ric":"VOD.L",'
    b'"side":"S","qty":"100","px":10.5,"acct":"AC1"}'
)
_CSV = b"3,2026-03-03T09:30:00.250+01:00,NEW,g1,,,,GB00BH4HKS39,Buy,100,10.50,AC1"
_PIECES = st.sampled_from(
    [b"", b"\x00", b'"', b",", b"-", b"9" * 60, b"1e999", b"\xff", b"\\ud800", b"\x01", b"=", b"[{"]
)


def _framed(body: bytes) -> DecodedEvent:
    """Decode a body under a frame that is right, so that the damage is not found by the sum."""
    head = b"8=FIX.4.4\x019=%d\x01" % len(body) + body
    return fix.decode(head + b"10=%03d\x01" % (sum(head) % 256))


@pytest.mark.parametrize(
    ("decode", "line"), [(_framed, _FIX_BODY), (beta.decode, _JSON), (gamma.Decoder().decode, _CSV)]
)
def test_a_damaged_line(decode: Decode, line: bytes) -> None:
    assert decode(line).kind == "NEW"

    @settings(deadline=None)
    @given(st.integers(0, len(line)), st.integers(0, 20), _PIECES | st.binary(max_size=4))
    def damaged(start: int, length: int, piece: bytes) -> None:
        _decode(decode, line[:start] + piece + line[start + length :])

    damaged()


@settings(deadline=None)
@given(st.binary(max_size=80))
@example(b"8=FIX.4.4\x019=1\x0110=000\x01")
@example(b'{"evt":[]}')
@example(b"1" * 5_000)
def test_any_bytes(line: bytes) -> None:
    for decode in (fix.decode, _framed, beta.decode, gamma.Decoder().decode):
        _decode(decode, line)


def _decode(decode: Decode, line: bytes) -> None:
    try:
        event = decode(line)
    except DecodeError as error:
        assert error.message
        return
    # What was decoded can be written: no half surrogate pair, no number without end.
    assert repr(event).encode()
    for amount in (event.quantity, event.price):
        assert amount is None or (amount > 0 and len(format(amount, "f")) <= 150)
    assert event.kind != "NEW" or None not in (event.quantity, event.price, event.account)
