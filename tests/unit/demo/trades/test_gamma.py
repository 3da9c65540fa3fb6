from __future__ import annotations

import pickle
from decimal import Decimal

import pytest

from headrace.demo.trades import gamma
from headrace.errors import DecodeError

HEADER = (
    b"seq,time,type,order_id,replaces,parent_order_id,exec_id,isin,side,quantity,price,account\n"
)
TIME = "2026-03-03T09:30:00.250+01:00"
TIME_MS = 1_772_526_600_250
NEW = f"3,{TIME},NEW,g1,,,,GB00BH4HKS39,Buy,100,10.50,AC1"

decoder = gamma.Decoder(gamma.header(HEADER))


def reason(line: bytes) -> str:
    with pytest.raises(DecodeError) as caught:
        decoder.decode(line)
    return caught.value.message


def test_the_header_is_the_one_of_the_rules() -> None:
    assert gamma.header(HEADER) == gamma.COLUMNS
    assert gamma.header(b"\xef\xbb\xbf" + HEADER) == gamma.COLUMNS


def test_a_new_order() -> None:
    event = decoder.decode(NEW.encode())
    assert event.event_id == "GAMMA:3"
    assert (event.kind, event.event_time_ms, event.order_id) == ("NEW", TIME_MS, "GAMMA:g1")
    assert (event.symbol, event.side, event.account) == ("GB00BH4HKS39", "BUY", "AC1")
    assert (event.quantity, event.price) == (Decimal(100), Decimal("10.50"))
    assert (event.replaces, event.parent_order_id, event.exec_id) == (None, None, None)


def test_columns_are_found_by_name_and_others_passed_over() -> None:
    names = [*reversed(gamma.COLUMNS), "comment"]
    cells = [*reversed(NEW.split(",")), '"a, b"']
    shuffled = pickle.loads(pickle.dumps(gamma.Decoder(gamma.header(",".join(names).encode()))))
    assert shuffled.decode(",".join(cells).encode()) == decoder.decode(NEW.encode())


def test_a_column_that_is_not_there_is_a_field_that_is_missing() -> None:
    without = gamma.Decoder(gamma.COLUMNS[:-1])
    with pytest.raises(DecodeError, match="field account is missing"):
        without.decode(NEW.rpartition(",")[0].encode())


def test_cells_may_be_quoted() -> None:
    quoted = NEW.replace("AC1", '"AC""1"').encode()
    assert decoder.decode(quoted).account == 'AC"1'


def test_the_other_kinds() -> None:
    replace = decoder.decode(f"4,{TIME},REPLACE,g2,g1,,,I,Sell,5,6,AC1".encode())
    assert (replace.kind, replace.order_id, replace.replaces) == ("REPLACE", "GAMMA:g2", "GAMMA:g1")
    cancel = decoder.decode(f"5,{TIME},CANCEL,g1,,,,I,,,,".encode())
    assert (cancel.kind, cancel.order_id) == ("CANCEL", "GAMMA:g1")
    execution = decoder.decode(f"6,{TIME},EXEC,g1,,,x1,I,,2,3,".encode())
    assert (execution.kind, execution.exec_id) == ("EXECUTION", "GAMMA:x1")
    assert (execution.quantity, execution.price) == (Decimal(2), Decimal(3))
    bust = decoder.decode(f"7,{TIME},BUST,,,,x1,I,,,,".encode())
    assert (bust.kind, bust.order_id, bust.exec_id) == ("BUST", None, "GAMMA:x1")
    reject = decoder.decode(f"8,{TIME},REJECT,g1,,,,I,?,0,,".encode())
    assert (reject.kind, reject.order_id, reject.quantity) == ("REJECT", "GAMMA:g1", None)


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("2026-03-03T08:30:00.250Z", TIME_MS),
        ("2026-03-03T08:30:00.250999+00:00", TIME_MS),
        ("2026-03-03T08:30:00.25+00:00", TIME_MS),
        ("2026-03-03 03:30:00.250-0500", TIME_MS),
        ("2026-03-03T14:00:00.250+05:30", TIME_MS),
        ("20260303T083000.250Z", TIME_MS),
        ("2026-03-04T00:30:00+16", TIME_MS - 250),
        ("2026-03-03T08:30Z", TIME_MS - 250),
    ],
)
def test_ways_to_write_a_time(text: str, time_ms: int) -> None:
    assert decoder.decode(NEW.replace(TIME, text).encode()).event_time_ms == time_ms


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"", "the line has 1 cells"),
        (NEW.encode()[:40], "cells, the header 12 columns"),
        (NEW.encode() + b",", "the line has 13 cells"),
        (b"\xff" + NEW.encode(), "not UTF-8"),
        (NEW.replace("Buy", '"Buy').encode(), "not CSV"),
        (HEADER, "field type is 'type', which is unknown"),
        (NEW.replace("3,", ",", 1).encode(), "field seq is missing"),
        (NEW.replace("3,", "3.0,", 1).encode(), "field seq is '3.0'"),
        (NEW.replace(TIME, "").encode(), "field time is missing"),
        (NEW.replace("+01:00", "").encode(), "has no offset"),
        (NEW.replace("+01:00", "+25:00").encode(), "no offset"),
        (NEW.replace("09:30", "24:00").encode(), "no time of day"),
        (NEW.replace("T09", "x09").encode(), "not an ISO 8601 time"),
        (NEW.replace(TIME, "2026-03-03").encode(), "not an ISO 8601 time"),
        (NEW.replace("03-03T", "02-29T").encode(), "field time cannot be read"),
        (NEW.replace("NEW", "").encode(), "field type is missing"),
        (NEW.replace("NEW", "New").encode(), "field type is 'New', which is unknown"),
        (NEW.replace("g1", "").encode(), "field order_id is missing"),
        (NEW.replace("GB00BH4HKS39", "").encode(), "field isin is missing"),
        (NEW.replace("Buy", "B").encode(), "field side is 'B', which is no side"),
        (NEW.replace("Buy", "").encode(), "field side is missing"),
        (NEW.replace(",100,", ",-0,").encode(), "must be above 0"),
        (NEW.replace("10.50", "").encode(), "field price is missing"),
        (NEW.replace("AC1", "").encode(), "field account is missing"),
        (NEW.replace("NEW", "REPLACE").encode(), "field replaces is missing"),
        (NEW.replace("NEW", "EXEC").encode(), "field exec_id is missing"),
        (f"6,{TIME},EXEC,g1,,,x1,I,,2,,".encode(), "field price is missing"),
        (f"7,{TIME},BUST,g1,,,,I,,,,".encode(), "field exec_id is missing"),
        (f"5,{TIME},CANCEL,,g1,,,I,,,,".encode(), "field order_id is missing"),
    ],
)
def test_what_is_malformed(line: bytes, words: str) -> None:
    assert words in reason(line)
