"""GAMMA: comma-separated values under a header."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headrace.demo.trades.events import DecodedEvent, Side
from headrace.demo.trades.fields import Layout, assemble, sequence_number
from headrace.demo.trades.times import iso_time_ms
from headrace.errors import DecodeError

SYSTEM = "GAMMA"

COLUMNS = (
    "seq",
    "time",
    "type",
    "order_id",
    "replaces",
    "parent_order_id",
    "exec_id",
    "isin",
    "side",
    "quantity",
    "price",
    "account",
)

_SIDES: dict[str, Side] = {"Buy": "BUY", "Sell": "SELL"}
_LAYOUTS = {
    "NEW": Layout(
        "NEW",
        "isin",
        "order_id",
        parent="parent_order_id",
        side="side",
        quantity="quantity",
        price="price",
        account="account",
    ),
    "REPLACE": Layout(
        "REPLACE",
        "isin",
        "order_id",
        replaces="replaces",
        parent="parent_order_id",
        side="side",
        quantity="quantity",
        price="price",
        account="account",
    ),
    "CANCEL": Layout("CANCEL", "isin", "order_id"),
    "EXEC": Layout(
        "EXECUTION", "isin", "order_id", exec_id="exec_id", quantity="quantity", price="price"
    ),
    "BUST": Layout("BUST", "isin", "order_id", exec_id="exec_id"),
    "REJECT": Layout("REJECT", "isin", "order_id"),
}


def header(line: bytes) -> tuple[str, ...]:
    """Return the column names in the first line of a feed, without a byte order mark.

    Raises:
        DecodeError: the line is not CSV.
    """
    return tuple(_split_cells(line.removeprefix(b"\xef\xbb\xbf")))


@dataclass(frozen=True)
class Decoder:
    """Decodes the lines under a header; columns are found by name, others are ignored."""

    columns: Sequence[str] = COLUMNS
    _places: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        places = {name: place for place, name in enumerate(self.columns)}
        object.__setattr__(self, "_places", places)

    def decode(self, line: bytes) -> DecodedEvent:
        """Return the event in a line.

        Raises:
            DecodeError: for the first error. A line with more or fewer cells than the header is
                invalid as a whole: it may be truncated or shifted.
        """
        cells = _split_cells(line)
        if len(cells) != len(self.columns):
            raise DecodeError(
                f"the line has {len(cells)} cells, the header {len(self.columns)} columns"
            )
        places = self._places

        def get(name: str) -> str | None:
            place = places.get(name)
            return None if place is None else cells[place]

        return event_of(get)


def event_of(get: Callable[[str], str | None]) -> DecodedEvent:
    """Return the event of a message; ``get`` returns the fields by column name.

    Raises:
        DecodeError: for the first error.
    """
    kind = get("type")
    if not kind:
        raise DecodeError("field type is missing, and every message needs it")
    layout = _LAYOUTS.get(kind)
    if layout is None:
        raise DecodeError(f"field type is {kind[:40]!r}, which is unknown")
    return assemble(
        SYSTEM,
        layout,
        get,
        sides=_SIDES,
        sequence=sequence_number(get("seq"), "seq"),
        event_time_ms=_time_ms(get("time")),
    )


def _time_ms(text: str | None) -> int:
    if not text:
        raise DecodeError("field time is missing, and every message needs it")
    try:
        return iso_time_ms(text)
    except ValueError as error:
        raise DecodeError(f"field time cannot be read: {error}") from error


def _split_cells(line: bytes) -> list[str]:
    try:
        text = line.rstrip(b"\r\n").decode()
    except UnicodeDecodeError as error:
        raise DecodeError(f"the line is not UTF-8: {error}") from error
    if '"' not in text:
        return text.split(",")
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error as error:
        raise DecodeError(f"the line is not CSV: {error}") from error
