from __future__ import annotations

import pickle
from decimal import Decimal
from pathlib import Path

import pytest

from headrace.demo.trades.events import DecodedEvent
from headrace.demo.trades.reference import Account, Enricher, Instruments
from headrace.errors import DecodeError

MIDNIGHT_MS = 1_772_496_000_000  # 2026-03-03
HOUR_MS = 3_600_000


def row(instrument_id: str, ticker: str, valid_from: str, currency: str = "EUR") -> dict[str, str]:
    return {
        "instrument_id": instrument_id,
        "ticker": ticker,
        "ric": f"{ticker}.X",
        "isin": f"ISIN{ticker}",
        "currency": currency,
        "lot_size": "1",
        "valid_from": valid_from,
    }


def event(symbol: str, *, system: str = "ALPHA", account: str | None = "AC1") -> DecodedEvent:
    return DecodedEvent(
        system,
        5,
        "NEW",
        MIDNIGHT_MS,
        f"{system}:1",
        None,
        None,
        None,
        symbol,
        "BUY",
        Decimal(1),
        Decimal(2),
        account,
    )


def found(instruments: Instruments, ticker: str, time_ms: int) -> tuple[str, str] | None:
    instrument = instruments.find("ALPHA", ticker, time_ms)
    return None if instrument is None else (instrument.instrument_id, instrument.currency)


def test_each_system_has_its_symbol() -> None:
    instruments = Instruments([row("I1", "A", "2020-01-01")])
    for system, symbol in (("ALPHA", "A"), ("BETA", "A.X"), ("GAMMA", "ISINA")):
        assert instruments.find(system, symbol, MIDNIGHT_MS) is not None
        assert instruments.find(system, "B", MIDNIGHT_MS) is None
    assert instruments.find("ALPHA", "A.X", MIDNIGHT_MS) is None


def test_the_row_with_the_greatest_valid_from_not_after_the_event_holds() -> None:
    rows = [row("I1", "A", "2026-03-03", "USD"), row("I1", "A", "2026-03-02", "EUR")]
    instruments = Instruments(rows)
    assert found(instruments, "A", MIDNIGHT_MS) == ("I1", "USD")
    assert found(instruments, "A", MIDNIGHT_MS - 1) == ("I1", "EUR")
    assert found(instruments, "A", MIDNIGHT_MS - 24 * HOUR_MS - 1) is None


@pytest.mark.parametrize(
    "text",
    ["2026-03-03T12:00:00", "2026-03-03T12:00:00Z", "2026-03-03T13:00:00+01:00", "20260303T1200"],
)
def test_ways_to_write_valid_from(text: str) -> None:
    instruments = Instruments([row("I1", "A", text)])
    assert found(instruments, "A", MIDNIGHT_MS + 12 * HOUR_MS) == ("I1", "EUR")
    assert found(instruments, "A", MIDNIGHT_MS + 12 * HOUR_MS - 1) is None


def test_a_symbol_is_an_instruments_only_while_its_row_holds() -> None:
    rows = [row("I1", "A", "2026-03-01"), row("I1", "B", "2026-03-03")]
    instruments = Instruments(rows)
    assert found(instruments, "A", MIDNIGHT_MS - 1) == ("I1", "EUR")
    assert found(instruments, "A", MIDNIGHT_MS) is None
    assert found(instruments, "B", MIDNIGHT_MS) == ("I1", "EUR")


def test_a_symbol_may_pass_from_one_instrument_to_another_and_back() -> None:
    rows = [
        row("I1", "A", "2026-01-01"),
        row("I2", "A", "2026-03-03"),
        row("I2", "C", "2026-03-03T06:00:00Z"),
    ]
    instruments = Instruments(rows)
    assert found(instruments, "A", MIDNIGHT_MS - 1) == ("I1", "EUR")
    assert found(instruments, "A", MIDNIGHT_MS) == ("I2", "EUR")
    assert found(instruments, "A", MIDNIGHT_MS + 6 * HOUR_MS) == ("I1", "EUR")


def test_of_two_rows_from_one_time_the_lower_one_holds() -> None:
    rows = [row("I1", "A", "2026-01-01", "EUR"), row("I1", "A", "2026-01-01", "USD")]
    assert found(Instruments(rows), "A", MIDNIGHT_MS) == ("I1", "USD")


def test_bad_reference_data_says_which_row() -> None:
    with pytest.raises(DecodeError, match="valid_from cannot be read") as caught:
        Instruments([row("I1", "A", "2026-01-01"), row("I2", "B", "soon")])
    assert caught.value.where == {"row": "2"}


def make_enricher() -> Enricher:
    accounts = {"AC1": Account("Client", "Desk")}
    return Enricher(Instruments([row("I1", "A", "2020-01-01")]), accounts)


def test_a_normalised_event_has_instrument_and_owner() -> None:
    normalised, anomalies = pickle.loads(pickle.dumps(make_enricher())).normalise(event("A"))
    assert anomalies == []
    assert normalised == pickle.loads(pickle.dumps(normalised))
    assert (normalised.event_id, normalised.instrument_id) == ("ALPHA:5", "I1")
    assert (normalised.currency, normalised.client, normalised.desk) == ("EUR", "Client", "Desk")
    assert normalised.turn == (MIDNIGHT_MS, "ALPHA", 5)


def test_an_unknown_instrument_ends_it_and_its_account_is_not_looked_at() -> None:
    normalised, anomalies = make_enricher().normalise(event("B", account="AC2"), b"raw")
    assert normalised is None
    assert [anomaly.kind for anomaly in anomalies] == ["UNKNOWN_INSTRUMENT"]
    assert anomalies[0].to_json() == {
        "kind": "UNKNOWN_INSTRUMENT",
        "event_id": "ALPHA:5",
        "source": None,
        "position": None,
        "reason": f"no instrument has ticker 'B' at {MIDNIGHT_MS} ms",
        "raw": "raw",
    }


def test_an_unknown_account_is_reported_and_the_event_goes_on() -> None:
    normalised, anomalies = make_enricher().normalise(event("A", account="AC2"), b"\xff\x01")
    assert normalised is not None
    assert (normalised.account, normalised.client, normalised.desk) == ("AC2", None, None)
    assert [anomaly.kind for anomaly in anomalies] == ["UNKNOWN_ACCOUNT"]
    assert anomalies[0].to_json()["raw"] == "\\xff\x01"


def test_an_event_without_account_has_no_owner() -> None:
    normalised, anomalies = make_enricher().normalise(event("A", account=None))
    assert normalised is not None
    assert (normalised.client, anomalies) == (None, [])


def test_reading_a_directory(tmp_path: Path) -> None:
    (tmp_path / "instruments.csv").write_text(
        "instrument_id,ticker,ric,isin,currency,lot_size,valid_from\r\nI1,A,A.X,IA,EUR,1,2020-01-01\r\n"
    )
    (tmp_path / "accounts.csv").write_text("\ufeffaccount,client,desk\nAC1,Client,\n", "utf-8")
    normalised, anomalies = Enricher.read(tmp_path).normalise(event("A"))
    assert anomalies == []
    assert normalised is not None
    assert (normalised.client, normalised.desk) == ("Client", None)
