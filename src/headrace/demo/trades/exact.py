"""Exact decimal arithmetic, and decimals as text."""

from __future__ import annotations

from decimal import Context, Decimal, Inexact, InvalidOperation

# The decoders accept numbers between 1E-50 and 1E+51 (fields.above_zero). So a product has at most
# 202 digits, and any sum of them that fits into memory far less than 400. If a result ever had
# more, Inexact raises an error: no document is better than a wrong one.
EXACT = Context(prec=400, traps=[Inexact, InvalidOperation])

ZERO = Decimal(0)

_AVERAGE_DECIMALS = 6


def average(notional: Decimal, quantity: Decimal) -> Decimal:
    """Return the notional per unit, to six decimals, rounded half to even.

    Neither is negative, and the quantity is above 0. The quotient is rounded once: rounding an
    already rounded quotient could be wrong near a half.
    """
    whole, rest = EXACT.divmod(EXACT.scaleb(notional, _AVERAGE_DECIMALS), quantity)
    twice = EXACT.add(rest, rest)
    if twice > quantity or (twice == quantity and int(whole) % 2):
        whole = EXACT.add(whole, Decimal(1))
    return EXACT.scaleb(whole, -_AVERAGE_DECIMALS)


def plain(value: Decimal) -> str:
    """Return the decimal as text, without an exponent or trailing zeros (``1E+2`` gives 100)."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
