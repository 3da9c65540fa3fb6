from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.demo.trades.exact import average, plain

amounts = st.decimals(min_value="0.000001", max_value="1e12", places=6)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1E+2", "100"),
        ("100", "100"),
        ("100.00", "100"),
        ("0.50", "0.5"),
        ("0E-6", "0"),
        ("0.000000000000000000000000000000000000010", "0." + "0" * 37 + "1"),
        ("12345678901234567890123456789012345678.5", "12345678901234567890123456789012345678.5"),
    ],
)
def test_decimals_are_written_plainly(value: str, text: str) -> None:
    assert plain(Decimal(value)) == text


@pytest.mark.parametrize(
    ("notional", "quantity", "text"),
    [
        ("10", "3", "3.333333"),
        ("20", "3", "6.666667"),
        ("0.0000025", "1", "0.000002"),
        ("0.0000035", "1", "0.000004"),
        ("0.00000250000000000000000000000000000001", "1", "0.000003"),
        ("21", "2", "10.5"),
        ("0.0000001", "1", "0"),
    ],
)
def test_the_average_is_rounded_once_half_to_even(notional: str, quantity: str, text: str) -> None:
    assert plain(average(Decimal(notional), Decimal(quantity))) == text


@given(amounts, amounts)
def test_the_average_is_that_of_fractions(notional: Decimal, quantity: Decimal) -> None:
    exact = round(Fraction(notional) / Fraction(quantity), 6)
    assert Fraction(average(notional, quantity)) == exact
