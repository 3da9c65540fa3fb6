from __future__ import annotations

import random
import struct
from decimal import Decimal

import pytest

from headrace.errors import SqlError
from headrace.sql.functions import date_formats, json_paths, text_formats


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (100.0, "100.0"),
        (1234567.0, "1234567.0"),
        (12345678.0, "1.2345678E7"),
        (1e10, "1.0E10"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (1.5e-7, "1.5E-7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_a_double_is_printed_as_java_does(number: float, text: str) -> None:
    assert text_formats.java_double(number) == text


def test_what_is_printed_is_read_back() -> None:
    seed = random.randrange(1 << 32)
    print(f"seed: {seed}")
    choose = random.Random(seed)
    for _ in range(2000):
        (number,) = struct.unpack("<d", choose.randbytes(8))
        if number == number:
            assert text_formats.read_double(text_formats.java_double(number)) == number


@pytest.mark.parametrize("text", ["", "abc", "1_000", "0x10", "١٢", "1e5", "--1", "1.2.3"])
def test_what_is_no_integer_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="For input string"):
        text_formats.read_integer(text, 32)


def test_intervals_are_printed() -> None:
    assert text_formats.write_month_interval(-14) == "-1-02"
    assert text_formats.write_second_interval(-93_784_567) == "-1 02:03:04.567"


@pytest.mark.parametrize(
    ("number", "text"), [(5e-324, "4.9E-324"), (1e-323, "9.9E-324"), (2e23, "2.0E23")]
)
def test_the_least_numbers_have_two_digits(number: float, text: str) -> None:
    assert text_formats.java_double(number) == text


@pytest.mark.parametrize("text", [" true", "no ", "on", "2", ""])
def test_what_is_no_boolean_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="BOOLEAN"):
        text_formats.read_boolean(text)


def test_digits_of_a_decimal_are_ascii() -> None:
    assert text_formats.read_decimal(" 3.25 ", 3, 2) == Decimal("3.25")
    for text in ("٣", "1_0.5", "NaN"):
        with pytest.raises(ValueError, match="DECIMAL"):
            text_formats.read_decimal(text, 3, 2)


def test_a_timestamp_has_hour_minute_and_second() -> None:
    midnight = text_formats.read_timestamp_ns("2020-01-02")
    assert text_formats.read_timestamp_ns("2020-01-02 00:00:00") == midnight
    assert text_formats.read_timestamp_ns("2020-01-01 24:00:00") == midnight
    assert text_formats.read_timestamp_ns("2020-01-02 0:0:1.5") == midnight + 1_500_000_000
    for time in ("10", "10:00", "24:00:01", "10:00:00Z", "10:00:00.1234567890"):
        with pytest.raises(ValueError, match="cannot parse"):
            text_formats.read_timestamp_ns(f"2020-01-01 {time}")


def test_days_of_other_years_are_refused() -> None:
    assert text_formats.write_date(0) == "1970-01-01"
    for days in (-719_163, 2_932_897, 1 << 40):
        with pytest.raises(SqlError, match="years 1 to 9999"):
            text_formats.write_date(days)
    with pytest.raises(SqlError, match="years 1 to 9999"):
        date_formats.write(253_402_300_800 * 1_000_000_000, "yyyy")


def test_json_that_is_nested_too_deeply_is_no_json() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        json_paths.parse("[" * 100_000 + "]" * 100_000)
