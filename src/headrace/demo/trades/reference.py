"""Instruments and accounts: the meaning of a symbol and an account at an event's time.

Of an instrument's rows, only the one with the greatest ``valid_from`` that is not after the event's
time is valid: a symbol of an earlier row only is no longer the instrument's. If two instruments
have one symbol at the same time, the row with the later ``valid_from`` wins; of equal ones, the
lower row in the file. Of two rows of one instrument with equal ``valid_from``, the lower one wins.
"""

from __future__ import annotations

import csv
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.demo.trades.events import Anomaly, DecodedEvent, NormalisedEvent
from headrace.demo.trades.times import date_or_time_ms
from headrace.errors import DecodeError

_FOREVER_MS = 2**63 - 1

SYMBOL_COLUMNS = {"ALPHA": "ticker", "BETA": "ric", "GAMMA": "isin"}


@dataclass(frozen=True, slots=True)
class Instrument:
    """One row of ``instruments.csv``, and its period of validity (end exclusive)."""

    instrument_id: str
    currency: str
    from_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class Account:
    """The client and the desk of an account."""

    client: str | None
    desk: str | None


class Instruments:
    """The rows of ``instruments.csv``, indexed by system, symbol and time."""

    def __init__(self, rows: Iterable[Mapping[str, str | None]]) -> None:
        histories: dict[str, dict[int, tuple[int, Mapping[str, str | None]]]] = {}
        for row_index, row in enumerate(rows):
            instrument_id = _require_column(row, "instrument_id", row_index)
            text = _require_column(row, "valid_from", row_index)
            try:
                from_ms = date_or_time_ms(text)
            except ValueError as error:
                raise DecodeError(
                    f"valid_from cannot be read: {error}", where=_error_location(row_index)
                ) from error
            histories.setdefault(instrument_id, {})[from_ms] = (row_index, row)
        periods: list[tuple[int, int, Instrument, Mapping[str, str | None]]] = []
        for instrument_id, history in histories.items():
            starts = sorted(history)
            for from_ms, until_ms in zip(starts, [*starts[1:], _FOREVER_MS], strict=True):
                row_index, row = history[from_ms]
                currency = _require_column(row, "currency", row_index)
                instrument = Instrument(instrument_id, currency, from_ms, until_ms)
                periods.append((from_ms, row_index, instrument, row))
        periods.sort(key=lambda entry: entry[:2])
        self._by_symbol: dict[str, dict[str, tuple[list[int], list[Instrument]]]] = {}
        for system, column in SYMBOL_COLUMNS.items():
            index = self._by_symbol[system] = {}
            for from_ms, _, instrument, row in periods:
                symbol = row.get(column)
                if symbol:
                    starts, instruments = index.setdefault(symbol, ([], []))
                    starts.append(from_ms)
                    instruments.append(instrument)

    def find(self, system: str, symbol: str, time_ms: int) -> Instrument | None:
        """Return the valid row for the symbol at the time; None if there is none."""
        entry = self._by_symbol[system].get(symbol)
        if entry is None:
            return None
        starts, instruments = entry
        for n in range(bisect_right(starts, time_ms) - 1, -1, -1):
            if time_ms < instruments[n].until_ms:
                return instruments[n]
        return None


class Enricher:
    """Normalises decoded events with both reference tables; it can be pickled."""

    def __init__(self, instruments: Instruments, accounts: Mapping[str, Account]) -> None:
        self._instruments = instruments
        self._accounts = dict(accounts)

    @classmethod
    def read(cls, directory: Path) -> Enricher:
        """Return the enricher for ``instruments.csv`` and ``accounts.csv`` of a directory.

        Raises:
            DecodeError: a row lacks a column, or its ``valid_from`` cannot be read.
        """
        accounts = {
            _require_column(row, "account", row_index): Account(
                row.get("client") or None, row.get("desk") or None
            )
            for row_index, row in enumerate(_read_rows(directory / "accounts.csv"))
        }
        return cls(Instruments(_read_rows(directory / "instruments.csv")), accounts)

    def normalise(
        self, event: DecodedEvent, raw: bytes | None = None
    ) -> tuple[NormalisedEvent | None, list[Anomaly]]:
        """Return the normalised event, and its anomalies.

        Without an instrument there is no event, and the account is not checked. ``raw`` is the
        undecoded record, for the anomalies.
        """
        symbol, time_ms = event.symbol, event.event_time_ms
        instrument = self._instruments.find(event.system, symbol, time_ms)
        event_id = event.event_id
        if instrument is None:
            column = SYMBOL_COLUMNS[event.system]
            reason = f"no instrument has {column} {symbol!r} at {time_ms} ms"
            return None, [Anomaly("UNKNOWN_INSTRUMENT", event_id, reason=reason, raw=raw)]
        anomalies = []
        account = None
        if event.account is not None:
            account = self._accounts.get(event.account)
            if account is None:
                reason = f"account {event.account!r} is not listed"
                anomalies.append(Anomaly("UNKNOWN_ACCOUNT", event_id, reason=reason, raw=raw))
        normalised = NormalisedEvent(
            event_id,
            event.system,
            event.sequence,
            event.kind,
            time_ms,
            event.order_id,
            event.replaces,
            event.parent_order_id,
            event.exec_id,
            instrument.instrument_id,
            instrument.currency,
            event.side,
            event.quantity,
            event.price,
            event.account,
            None if account is None else account.client,
            None if account is None else account.desk,
        )
        return normalised, anomalies


def _read_rows(path: Path) -> list[dict[str, str | None]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def _require_column(row: Mapping[str, str | None], column: str, row_index: int) -> str:
    """Return the text in a column; raise DecodeError if it is missing or empty."""
    text = row.get(column)
    if not text:
        raise DecodeError(f"the reference row has no {column}", where=_error_location(row_index))
    return text


def _error_location(row_index: int) -> dict[str, str]:
    return {"row": str(row_index + 1)}
