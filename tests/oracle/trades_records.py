"""Records of the three feeds, decoded and normalised by the rules, and the reference data.

Where the rules leave a choice, a comment beginning "Reading:" names the one made.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SOH = b"\x01"
# FIX: (35, 150) to kind, and kind to the tags of its fields.
ALPHA_KINDS = {("D", ""): "NEW", ("G", ""): "REPLACE", ("F", ""): "CANCEL"}
ALPHA_KINDS |= {("8", "F"): "EXECUTION", ("8", "H"): "BUST", ("8", "8"): "REJECT"}
ALPHA_ORDER = {"side": "54", "quantity": "38", "price": "44", "account": "1"}
ALPHA_TAGS = {
    "NEW": {"order_id": "11", "parent": "583", **ALPHA_ORDER},
    "REPLACE": {"order_id": "11", "replaces": "41", **ALPHA_ORDER},
    "CANCEL": {"order_id": "41"},
    "EXECUTION": {"order_id": "11", "exec_id": "17", "quantity": "32", "price": "31"},
    "BUST": {"order_id": "11", "exec_id": "19"},
    "REJECT": {"order_id": "11"},
}
BETA_KINDS = {"ORDER_NEW": "NEW", "ORDER_AMEND": "REPLACE", "ORDER_CANCEL": "CANCEL"}
BETA_KINDS |= {"FILL": "EXECUTION", "FILL_BUST": "BUST", "ORDER_REJECT": "REJECT"}
BETA_NAMES = {"order_id": "order", "replaces": "prev", "parent": "parent", "exec_id": "fill"}
BETA_NAMES |= {"side": "side", "quantity": "qty", "price": "px", "account": "acct"}
GAMMA_KINDS = {"EXEC": "EXECUTION"}
GAMMA_KINDS |= {kind: kind for kind in ("NEW", "REPLACE", "CANCEL", "BUST", "REJECT")}
GAMMA_NAMES = {"order_id": "order_id", "replaces": "replaces", "parent": "parent_order_id"}
GAMMA_NAMES |= {name: name for name in ("exec_id", "side", "quantity", "price", "account")}
SIDES = {
    "ALPHA": {"1": "BUY", "2": "SELL"},
    "BETA": {"B": "BUY", "S": "SELL"},
    "GAMMA": {"Buy": "BUY", "Sell": "SELL"},
}
SYMBOL_COLUMN = {"ALPHA": "ticker", "BETA": "ric", "GAMMA": "isin"}
# Reading: every event needs its order id (a bust too); an execution needs a quantity and a price of
# its own. What a kind does not need is not looked at: a strange side on a cancel does no harm.
NEEDED = {
    "NEW": ("order_id", "side", "quantity", "price", "account"),
    "REPLACE": ("order_id", "replaces", "side", "quantity", "price", "account"),
    "CANCEL": ("order_id",),
    "EXECUTION": ("order_id", "exec_id", "quantity", "price"),
    "BUST": ("order_id", "exec_id"),
    "REJECT": ("order_id",),
}

Draft = dict[str, Any]  # seq, time_ms, kind, symbol and the fields of the kind, as text


class Malformed(Exception):
    """A record that the rules call MALFORMED; the message is the reason."""


@dataclass(frozen=True)
class Event:
    """One normalised event; ids are ``SYSTEM:id``, fields that its kind does not use are empty."""

    system: str
    seq: int
    kind: str
    time_ms: int
    symbol: str
    raw: str
    order_id: str
    replaces: str
    parent: str
    exec_id: str
    side: str
    quantity: Fraction
    price: Fraction
    account: str

    @property
    def event_id(self) -> str:
        """``SYSTEM:seq``."""
        return f"{self.system}:{self.seq}"

    @property
    def turn(self) -> tuple[int, str, int]:
        """Its place in the order of application."""
        return (self.time_ms, self.system, self.seq)

    @property
    def reference(self) -> tuple[str, str] | None:
        """What must be known before it can be applied: ``(order or exec, id)``."""
        if self.kind == "NEW":
            return ("order", self.parent) if self.parent else None
        if self.kind == "REPLACE":
            return ("order", self.replaces)  # Reading: a parent named by a replace is ignored.
        if self.kind == "BUST":
            return ("exec", self.exec_id)
        return ("order", self.order_id)


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(byte offset, content) of each line that is not empty; a missing file has none."""
    offset = 0
    for line in path.read_bytes().split(b"\n") if path.exists() else []:
        content = line.removesuffix(b"\r")
        if offset == 0:
            content = content.removeprefix(b"\xef\xbb\xbf")
        if content:
            yield offset, content
        offset += len(line) + 1


def text_of(line: bytes) -> str:
    """The line as text."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"not UTF-8: {error}") from error


def decode_alpha(line: bytes) -> Draft:
    """A FIX message, its frame checked: 8 and 9 first, 10 last, length and checksum right."""
    if not line.endswith(SOH):
        raise Malformed("the last field is not ended by SOH")
    parts = line[:-1].split(SOH)
    tags: dict[str, str] = {}
    for part in parts:
        tag, equals, value = part.partition(b"=")
        if not equals or not tag.isdigit():
            raise Malformed(f"not tag=value: {part!r}")
        if tag.decode() in tags:
            raise Malformed(f"tag {tag.decode()} stands twice")
        tags[tag.decode()] = text_of(value)
    if parts[0] != b"8=FIX.4.4":
        raise Malformed("does not begin with 8=FIX.4.4")
    if len(parts) < 3 or not parts[1].startswith(b"9=") or not parts[-1].startswith(b"10="):
        raise Malformed("9 is not the second field or 10 not the last")
    body_start = len(parts[0]) + 1 + len(parts[1]) + 1
    body_end = len(line) - len(parts[-1]) - 1
    if not re.fullmatch("[0-9]{1,9}", tags["9"]) or int(tags["9"]) != body_end - body_start:
        raise Malformed(f"9 is {tags['9']}, the length is {body_end - body_start}")
    if tags["10"] != f"{sum(line[:body_end]) % 256:03}":
        raise Malformed(f"10 is {tags['10']}, the checksum is {sum(line[:body_end]) % 256:03}")
    message_type = tags.get("35", "")
    exec_type = tags.get("150", "") if message_type == "8" else ""
    kind = ALPHA_KINDS.get((message_type, exec_type))
    if kind is None:
        raise Malformed(f"unknown type 35={message_type} 150={exec_type}")
    time_text = tags.get("60", "")
    if not re.fullmatch(r"[0-9]{8}-[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}", time_text):
        raise Malformed(f"cannot read the time {time_text!r}")
    iso = f"{time_text[:4]}-{time_text[4:6]}-{time_text[6:8]}T{time_text[9:]}+00:00"
    draft = {name: tags.get(tag, "") for name, tag in ALPHA_TAGS[kind].items()}
    symbol, seq = tags.get("55", ""), tags.get("34", "")
    return {**draft, "kind": kind, "seq": seq, "symbol": symbol, "time_ms": iso_ms(iso)}


def no_constant(name: str) -> str:
    """Refuses NaN and Infinity, which Python reads and JSON does not have."""
    raise Malformed(f"{name} is not JSON")


def decode_beta(line: bytes) -> Draft:
    """A JSON object; its numbers stay the text they were written as."""
    try:
        found = json.loads(
            text_of(line), parse_int=str, parse_float=str, parse_constant=no_constant
        )
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Malformed("not a JSON object")
    values: dict[str, Any] = {name: "" if value is None else value for name, value in found.items()}
    kind = BETA_KINDS.get(str(values.get("evt", "")))
    if kind is None:
        raise Malformed(f"unknown type {values.get('evt')!r}")
    ts = values.get("ts", "")
    if not isinstance(ts, str) or not re.fullmatch("-?[0-9]{1,18}", ts):
        raise Malformed(f"cannot read the time {ts!r}")
    draft = {name: values.get(key, "") for name, key in BETA_NAMES.items()}
    symbol, seq = values.get("ric", ""), values.get("seq", "")
    return {**draft, "kind": kind, "seq": seq, "symbol": symbol, "time_ms": int(ts) // 1000}


def decode_gamma(line: bytes, header: list[str]) -> Draft:
    """A line of CSV under its header."""
    cells = csv_cells(line)
    if len(cells) != len(header):
        raise Malformed(f"{len(cells)} columns, the header has {len(header)}")
    values = dict(zip(header, cells, strict=True))
    kind = GAMMA_KINDS.get(values.get("type", ""))
    if kind is None:
        raise Malformed(f"unknown type {values.get('type')!r}")
    time_text = values.get("time", "")
    if "T" not in time_text:
        raise Malformed(f"cannot read the time {time_text!r}")
    draft = {name: values.get(column, "") for name, column in GAMMA_NAMES.items()}
    symbol, seq = values.get("isin", ""), values.get("seq", "")
    return {**draft, "kind": kind, "seq": seq, "symbol": symbol, "time_ms": iso_ms(time_text)}


def csv_cells(line: bytes) -> list[str]:
    """The cells of one line."""
    try:
        return next(csv.reader([text_of(line)], strict=True))
    except csv.Error as error:
        raise Malformed(f"not CSV: {error}") from error


def iso_ms(text: str, *, naive_is_utc: bool = False) -> int:
    """An ISO 8601 time as milliseconds since the epoch; what is finer is cut off."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            if not naive_is_utc:
                raise Malformed(f"a time without an offset: {text!r}")
            moment = moment.replace(tzinfo=UTC)
        return (moment - EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError) as error:
        raise Malformed(f"cannot read the time {text!r}") from error


def normalise(system: str, draft: Draft, raw: str) -> Event:
    """The event of a decoded record, once every field its kind needs is there and makes sense."""
    kind = draft["kind"]
    wanted = (*NEEDED[kind], "parent") if kind == "NEW" else NEEDED[kind]
    texts: dict[str, str] = {}
    for name in ("seq", "symbol", *wanted):
        value = draft[name]
        if not isinstance(value, str) or (value == "" and name != "parent"):
            raise Malformed(f"{name} is needed, found {value!r}")
        texts[name] = value
    if not re.fullmatch("[0-9]{1,18}", texts["seq"]):
        raise Malformed(f"seq is no number: {texts['seq']!r}")
    side = ""
    if "side" in texts:
        if texts["side"] not in SIDES[system]:
            raise Malformed(f"unknown side {texts['side']!r}")
        side = SIDES[system][texts["side"]]
    numbers = {"quantity": Fraction(0), "price": Fraction(0)}
    for name in numbers.keys() & texts.keys():
        if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", texts[name]):
            raise Malformed(f"{name} is no number: {texts[name]!r}")
        numbers[name] = Fraction(Decimal(texts[name]))
        if numbers[name] <= 0:
            raise Malformed(f"{name} is not above 0: {texts[name]}")
    own = {n: f"{system}:{texts[n]}" for n in ("order_id", "replaces", "exec_id") if n in texts}
    return Event(
        system=system,
        seq=int(texts["seq"]),
        kind=kind,
        time_ms=draft["time_ms"],
        symbol=texts["symbol"],
        raw=raw,
        order_id=own["order_id"],
        replaces=own.get("replaces", ""),
        parent=texts.get("parent", ""),
        exec_id=own.get("exec_id", ""),
        side=side,
        quantity=numbers["quantity"],
        price=numbers["price"],
        account=texts.get("account", ""),
    )


class Reference:
    """The instruments and accounts of a folder."""

    def __init__(self, directory: Path) -> None:
        """Reads both files; a row that cannot be read is an error, not an anomaly."""
        self.rows: dict[str, list[tuple[int, dict[str, str]]]] = {}
        self.carriers: dict[tuple[str, str], set[str]] = {}
        for row in self.read(directory / "instruments.csv"):
            since_ms = iso_ms(row["valid_from"], naive_is_utc=True)
            self.rows.setdefault(row["instrument_id"], []).append((since_ms, row))
            for column in SYMBOL_COLUMN.values():
                carrier = self.carriers.setdefault((column, row[column]), set())
                carrier.add(row["instrument_id"])
        accounts = self.read(directory / "accounts.csv")
        self.accounts = {row["account"]: (row["client"], row["desk"]) for row in accounts}

    @staticmethod
    def read(path: Path) -> list[dict[str, str]]:
        """The rows of a CSV file."""
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))

    def instrument(self, system: str, symbol: str, time_ms: int) -> dict[str, str] | None:
        """The row holding at that time, of the instrument whose holding row has the symbol."""
        # Reading: a symbol that the instrument's later row has changed no longer names it.
        column = SYMBOL_COLUMN[system]
        best: tuple[int, dict[str, str]] | None = None
        for instrument_id in sorted(self.carriers.get((column, symbol), ())):
            past = [pair for pair in self.rows[instrument_id] if pair[0] <= time_ms]
            if not past:
                continue
            since_ms = max(pair[0] for pair in past)
            holding = [pair for pair in past if pair[0] == since_ms][-1]  # the later line on a tie
            if holding[1][column] == symbol and (best is None or since_ms >= best[0]):
                best = holding
        return best[1] if best else None
