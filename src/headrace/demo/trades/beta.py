"""BETA: one JSON object per line."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, NoReturn

from headrace.demo.trades.events import DecodedEvent, Side
from headrace.demo.trades.fields import Layout, assemble, sequence_number
from headrace.demo.trades.times import micros_ms
from headrace.errors import DecodeError

SYSTEM = "BETA"

_SIDES: dict[str, Side] = {"B": "BUY", "S": "SELL"}
_LAYOUTS = {
    "ORDER_NEW": Layout(
        "NEW",
        "ric",
        "order",
        parent="parent",
        side="side",
        quantity="qty",
        price="px",
        account="acct",
    ),
    "ORDER_AMEND": Layout(
        "REPLACE",
        "ric",
        "order",
        replaces="prev",
        parent="parent",
        side="side",
        quantity="qty",
        price="px",
        account="acct",
    ),
    "ORDER_CANCEL": Layout("CANCEL", "ric", "order"),
    "FILL": Layout("EXECUTION", "ric", "order", exec_id="fill", quantity="qty", price="px"),
    "FILL_BUST": Layout("BUST", "ric", "order", exec_id="fill"),
    "ORDER_REJECT": Layout("REJECT", "ric", "order"),
}
_WHOLE = re.compile(r"-?[0-9]{1,25}")
_FLOAT = re.compile(r"-?[0-9]{1,25}(?:\.[0-9]{1,25})?(?:[eE]\+?[0-9]{1,2})?")


def decode(line: bytes) -> DecodedEvent:
    """Return the event in a JSON object; its numbers may be numbers or strings.

    Raises:
        DecodeError: for the first error.
    """
    record = _parse(line)

    def get(name: str) -> str | None:
        value = record.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise DecodeError(
                f"field {name} is {type(value).__name__}, and must be text or a number"
            )
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise DecodeError(f"field {name} holds half a surrogate pair, which is no text")
        return value

    event = get("evt")
    if not event:
        raise DecodeError("field evt is missing, and every message needs it")
    layout = _LAYOUTS.get(event)
    if layout is None:
        raise DecodeError(f"field evt is {event!r}, which is unknown")
    return assemble(
        SYSTEM,
        layout,
        get,
        sides=_SIDES,
        sequence=sequence_number(_plain_digits(get("seq")), "seq"),
        event_time_ms=_time_ms(_plain_digits(get("ts"))),
    )


def _parse(line: bytes) -> dict[str, Any]:
    try:
        record = _DECODER.decode(line.decode())
    except UnicodeDecodeError as error:
        raise DecodeError(f"the line is not UTF-8: {error}") from error
    except ValueError as error:
        raise DecodeError(f"the line is not JSON: {error}") from error
    except RecursionError as error:
        raise DecodeError("the line is not JSON that can be read: too deeply nested") from error
    if not isinstance(record, dict):
        raise DecodeError("the line is JSON, but not an object")
    return record


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


# Numbers are kept as text: exact, of any length, and parsed in the same way whether they were
# numbers or strings. true and false are not numbers.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_number)


def _time_ms(text: str | None) -> int:
    if not text:
        raise DecodeError("field ts is missing, and every message needs it")
    if _WHOLE.fullmatch(text) is None:
        raise DecodeError(f"field ts cannot be read: {text[:40]!r} is no number of microseconds")
    try:
        return micros_ms(int(text))
    except ValueError as error:
        raise DecodeError(f"field ts cannot be read: {error}") from error


def _plain_digits(text: str | None) -> str | None:
    """Return the text as plain digits, if it is an integer written as ``12.0`` or ``1.2E1``."""
    if text and _WHOLE.fullmatch(text) is None and _FLOAT.fullmatch(text):
        value = Decimal(text)
        if value == value.to_integral_value():
            return str(int(value))
    return text
