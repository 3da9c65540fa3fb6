"""Exact decimal arithmetic, and decimals as text."""

from __future__ import annotations

from decimal import Context, Decimal, Inexact, InvalidOperation

# The decoders let numbers through that stand between 1E-50 and 1E+51 (fields.above_zero), so a
# product has at most 202 digits and a sum of any number of them that fits a machine well under
# 400. Should one ever not, Inexact raises: better no document than a wrong one.
EXACT = Context(prec=400, traps=[Inexact, InvalidOperation])

ZERO = Decimal(0)

_AVERAGE_DECIMALS = 6


def average(notional: Decimal, quantity: Decimal) -> Decimal:
    """The notional per unit, to six decimals, rounded half to even.

    Neither is negative, and the quantity is above 0. The quotient is rounded once: rounding an
    already rounded quotient could be wrong near a half.
    """
    whole, rest = EXACT.divmod(EXACT.scaleb(notional, _AVERAGE_DECIMALS), quantity)
    twice = EXACT.add(rest, rest)
    if twice > quantity or (twice == quantity and int(whole) % 2):
        whole = EXACT.add(whole, Decimal(1))
    return EXACT.scaleb(whole, -_AVERAGE_DECIMALS)


def plain(value: Decimal) -> str:
    """The decimal as text, without an exponent or trailing zeros (``1E+2`` gives 100)."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
