"""ALPHA: FIX 4.4 messages, one per line."""

from __future__ import annotations

import re

from headrace.demo.trades.events import DecodedEvent, Side
from headrace.demo.trades.fields import Layout, assemble, sequence_number
from headrace.demo.trades.times import fix_time_ms
from headrace.errors import DecodeError

SYSTEM = "ALPHA"

_SOH = b"\x01"
_BEGIN = re.compile(rb"8=FIX\.4\.4\x019=([0-9]{1,6})\x01")
_END = re.compile(rb"\x0110=([0-9]{3})\x01")
_END_BYTES = len("|10=000|")
_FRAME_TAGS = (b"8", b"9", b"10")

_SIDES: dict[str, Side] = {"1": "BUY", "2": "SELL"}

_NEW = Layout("NEW", "55", "11", parent="583", side="54", quantity="38", price="44", account="1")
_REPLACE = Layout(
    "REPLACE",
    "55",
    "11",
    replaces="41",
    parent="583",
    side="54",
    quantity="38",
    price="44",
    account="1",
)
_CANCEL = Layout("CANCEL", "55", "41")
_BY_MESSAGE = {"D": _NEW, "G": _REPLACE, "F": _CANCEL}
_BY_EXECUTION = {
    "F": Layout("EXECUTION", "55", "11", exec_id="17", quantity="32", price="31"),
    "H": Layout("BUST", "55", "11", exec_id="19"),
    "8": Layout("REJECT", "55", "11"),
}


def decode(line: bytes) -> DecodedEvent:
    """Return the event in a FIX message.

    The frame is checked first: the message begins with ``8``, ``9`` and ``35`` in this order and
    ends with ``10``, length and checksum are correct, and no tag occurs twice.

    Raises:
        DecodeError: for the first error.
    """
    fields = _split_fields(line.rstrip(b"\r\n"))

    def get(tag: str) -> str | None:
        value = fields.get(tag.encode())
        if value is None:
            return None
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise DecodeError(f"field {tag} is not UTF-8: {value[:40]!r}") from error

    layout = _find_layout(get("35"), get("150"))
    return assemble(
        SYSTEM,
        layout,
        get,
        sides=_SIDES,
        sequence=sequence_number(get("34"), "34"),
        event_time_ms=_time_ms(get("60")),
    )


def _time_ms(text: str | None) -> int:
    if not text:
        raise DecodeError("field 60 is missing, and every message needs it")
    try:
        return fix_time_ms(text)
    except ValueError as error:
        raise DecodeError(f"field 60 cannot be read: {error}") from error


def _find_layout(message: str | None, execution: str | None) -> Layout:
    if message != "8":
        layout = _BY_MESSAGE.get(message or "")
        if layout is None:
            raise DecodeError(f"message type 35={message} is unknown")
        return layout
    if not execution:
        raise DecodeError("field 150 is missing, and an execution report needs it")
    layout = _BY_EXECUTION.get(execution)
    if layout is None:
        raise DecodeError(f"execution type 150={execution} is unknown")
    return layout


def checksum(message: bytes) -> int:
    """Return the value of tag 10: the sum, modulo 256, of all bytes up to the SOH before it."""
    return sum(message) % 256


def _split_fields(line: bytes) -> dict[bytes, bytes]:
    begin = _BEGIN.match(line)
    if begin is None:
        raise DecodeError("the message does not open with 8=FIX.4.4 and a body length in 9")
    end = _END.fullmatch(line, max(len(line) - _END_BYTES, begin.end() - 1))
    if end is None:
        raise DecodeError("the message does not close with a three-digit checksum in 10")
    body_end = end.start() + 1
    stated_bytes, body_bytes = int(begin.group(1)), body_end - begin.end()
    if stated_bytes != body_bytes:
        raise DecodeError(f"the body is {body_bytes} bytes long, tag 9 says {stated_bytes}")
    stated_sum, actual_sum = int(end.group(1)), checksum(line[:body_end])
    if stated_sum != actual_sum:
        raise DecodeError(f"the checksum is {actual_sum:03}, tag 10 says {stated_sum:03}")
    pairs = [pair.partition(b"=") for pair in line[begin.end() : body_end - 1].split(_SOH)]
    fields = {tag: value for tag, _, value in pairs}
    if pairs[0][0] != b"35":
        raise DecodeError("the message type, tag 35, does not stand third")
    for tag, equals, _ in pairs:
        if not equals or not tag.isdigit():
            raise DecodeError(f"a field opens with {tag[:20]!r}, which is no tag")
    if len(fields) != len(pairs) or any(tag in fields for tag in _FRAME_TAGS):
        tags = [*_FRAME_TAGS, *(tag for tag, _, _ in pairs)]
        twice = next(tag for n, tag in enumerate(tags) if tag in tags[:n])
        raise DecodeError(f"tag {twice.decode()} stands twice")
    return fields
