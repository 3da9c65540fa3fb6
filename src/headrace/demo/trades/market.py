"""The market of a generated day: instruments, accounts, and arrival times of messages."""

from __future__ import annotations

import csv
import random
from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

_DAY = datetime(2026, 3, 3, tzinfo=UTC)
DAY_START_MS = int(_DAY.timestamp()) * 1000
OPEN_MS = DAY_START_MS + 8 * 3_600_000
CLOSE_MS = DAY_START_MS + 16 * 3_600_000 + 30 * 60_000
RENAMED_MS = DAY_START_MS + 12 * 3_600_000

INSTRUMENT_COLUMNS = (
    "instrument_id",
    "ticker",
    "ric",
    "isin",
    "currency",
    "lot_size",
    "valid_from",
)

# Country, RIC suffix, currency, decimals of a price.
_MARKETS = (
    ("GB", "L", "GBP", 2),
    ("FR", "PA", "EUR", 3),
    ("DE", "DE", "EUR", 2),
    ("US", "N", "USD", 2),
    ("CH", "S", "CHF", 2),
    ("SE", "ST", "SEK", 4),
)
_DESKS = ("Cash Equities", "Programme", "Electronic", "High Touch")
_BINS = 102


@dataclass(frozen=True, slots=True)
class Listing:
    """An instrument as the desk trades it; quantities and prices are integer numbers of units.

    A unit is ``10 ** -quantity_decimals`` or ``10 ** -price_decimals``. ``symbols``: those of
    ALPHA, BETA and GAMMA before ``RENAMED_MS``; ``symbols_after``: from then on.
    """

    instrument_id: str
    symbols: tuple[str, str, str]
    symbols_after: tuple[str, str, str]
    currency: str
    lot: int
    quantity_decimals: int
    price: int
    price_decimals: int
    rows: tuple[tuple[str, str, str], ...]
    """(ticker, lot size, valid from) of each row, older first."""


@dataclass(frozen=True)
class Market:
    """All instruments with their trading frequencies, and the listed accounts."""

    listings: tuple[Listing, ...]
    unlisted: Listing
    """Known to the reference data from the next day on only."""
    cumulative_weights: tuple[float, ...]
    accounts: tuple[tuple[str, str, str], ...]

    def pick(self, rng: random.Random) -> Listing:
        """Return a random listing; popular ones are more frequent."""
        point = rng.random() * self.cumulative_weights[-1]
        return self.listings[bisect_right(self.cumulative_weights, point)]

    def write(self, directory: Path) -> None:
        """Write ``instruments.csv`` and ``accounts.csv``."""
        with (directory / "instruments.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(INSTRUMENT_COLUMNS)
            for listing in (*self.listings, self.unlisted):
                _, ric, isin = listing.symbols
                for ticker, lot_size, valid_from in listing.rows:
                    front = (listing.instrument_id, ticker, ric, isin, listing.currency)
                    writer.writerow((*front, lot_size, valid_from))
        with (directory / "accounts.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("account", "client", "desk"))
            writer.writerows(self.accounts)


def make_market(rng: random.Random, instruments: int = 240, accounts: int = 60) -> Market:
    """Return a market: some instruments with an older row, some with a new ticker from midday on.

    Popularity falls with the rank as 1 / (rank + 8): the first of 240 has about one message in
    thirty.
    """
    listings = tuple(_make_listing(rng, number) for number in range(1, instruments + 1))
    unlisted = _make_listing(rng, instruments + 1, from_tomorrow=True)
    total, weights = 0.0, []
    for rank in range(1, instruments + 1):
        total += 1 / (rank + 8)
        weights.append(total)
    owners = tuple(
        (f"AC{number:04}", f"Client {number // 3 + 1:02}", rng.choice(_DESKS))
        for number in range(1, accounts + 1)
    )
    return Market(listings, unlisted, tuple(weights), owners)


def arrival_weights() -> tuple[float, ...]:
    """Return cumulative weights of the five-minute slices of the session.

    The shape of a trading day: a rush at the open that ebbs within the first hour, a quiet lunch,
    the American open in the afternoon, and the heaviest trading into the close.
    """
    total, weights = 0.0, []
    for slice_ in range(_BINS):
        passed = (slice_ + 0.5) / _BINS
        weight = 0.6 + 3.2 * 0.5 ** (passed / 0.04) + 4.0 * 0.5 ** ((1 - passed) / 0.05)
        weight += 1.2 * 0.5 ** (abs(passed - 0.765) / 0.03)
        total += weight
        weights.append(total)
    return tuple(weights)


def arrival_ms(rng: random.Random, weights: tuple[float, ...]) -> int:
    """Return a random time within the session at which a client sends an order."""
    slice_ = bisect_right(weights, rng.random() * weights[-1])
    return OPEN_MS + int((slice_ + rng.random()) * (CLOSE_MS - OPEN_MS) / _BINS)


def _make_listing(rng: random.Random, number: int, *, from_tomorrow: bool = False) -> Listing:
    country, suffix, currency, price_decimals = _MARKETS[number % len(_MARKETS)]
    ticker = _make_ticker(number)
    symbols = (ticker, f"{ticker}.{suffix}", _make_isin(country, number))
    # One in twelve is a fund, dealt in thousandths of a unit.
    quantity_decimals, lot = (3, 250) if number % 12 == 0 else (0, rng.choice((1, 1, 10, 100)))
    lot_size = f"{lot / 10**quantity_decimals:g}"
    listed = (_DAY - timedelta(days=rng.randint(400, 4000))).date().isoformat()
    rows = [(ticker, lot_size, listed)]
    symbols_after = symbols
    if from_tomorrow:
        rows = [(ticker, lot_size, (_DAY + timedelta(days=1)).date().isoformat())]
    elif number % 10 == 3:
        rows.append((ticker, f"{lot / 10**quantity_decimals * 2:g}", "2025-06-02"))
    elif number % 40 == 5:
        symbols_after = (f"{ticker}N", *symbols[1:])
        rows.append((f"{ticker}N", lot_size, "2026-03-03T12:00:00.000Z"))
    return Listing(
        instrument_id=f"I{number:05}",
        symbols=symbols,
        symbols_after=symbols_after,
        currency=currency,
        lot=lot,
        quantity_decimals=quantity_decimals,
        price=rng.randint(500, 30_000) * 10 ** (price_decimals - 2),
        price_decimals=price_decimals,
        rows=tuple(rows),
    )


def _make_ticker(number: int) -> str:
    """Return a ticker, different for each number: three letters, the last two in base 26."""
    return "QWXZJKVYH"[number % 9] + chr(65 + number // 26 % 26) + chr(65 + number % 26)


def _make_isin(country: str, number: int) -> str:
    """Return an ISIN with its check digit (ISO 6166: Luhn over letters counted from 10)."""
    stem = f"{country}{number:09}"
    digits = "".join(str(int(char, 36)) for char in stem)
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value // 10 + value % 10
    return f"{stem}{-total % 10}"
