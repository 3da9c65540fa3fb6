from __future__ import annotations

import random
import struct

import pytest

from headrace.sql.functions import text_formats


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
