"""Functions of numbers."""

from __future__ import annotations

from typing import Any, Self

from headrace.table._expressions.base import ExpressionTree


class NumberFunctions(ExpressionTree):
    """Functions of numbers."""

    @property
    def exp(self) -> Self:
        """Return EXP."""
        return self._call("EXP")

    @property
    def log10(self) -> Self:
        """Return LOG10."""
        return self._call("LOG10")

    @property
    def log2(self) -> Self:
        """Return LOG2."""
        return self._call("LOG2")

    @property
    def ln(self) -> Self:
        """Return LN."""
        return self._call("LN")

    @property
    def cosh(self) -> Self:
        """Return COSH."""
        return self._call("COSH")

    @property
    def sinh(self) -> Self:
        """Return SINH."""
        return self._call("SINH")

    @property
    def sin(self) -> Self:
        """Return SIN."""
        return self._call("SIN")

    @property
    def cos(self) -> Self:
        """Return COS."""
        return self._call("COS")

    @property
    def tan(self) -> Self:
        """Return TAN."""
        return self._call("TAN")

    @property
    def cot(self) -> Self:
        """Return COT."""
        return self._call("COT")

    @property
    def asin(self) -> Self:
        """Return ASIN."""
        return self._call("ASIN")

    @property
    def acos(self) -> Self:
        """Return ACOS."""
        return self._call("ACOS")

    @property
    def atan(self) -> Self:
        """Return ATAN."""
        return self._call("ATAN")

    @property
    def tanh(self) -> Self:
        """Return TANH."""
        return self._call("TANH")

    @property
    def degrees(self) -> Self:
        """Return DEGREES."""
        return self._call("DEGREES")

    @property
    def radians(self) -> Self:
        """Return RADIANS."""
        return self._call("RADIANS")

    @property
    def sqrt(self) -> Self:
        """Return SQRT."""
        return self._call("SQRT")

    @property
    def abs(self) -> Self:
        """Return ABS."""
        return self._call("ABS")

    @property
    def sign(self) -> Self:
        """Return SIGN."""
        return self._call("SIGN")

    def round(self, places: Any) -> Self:
        """Return ROUND."""
        return self._call("ROUND", places)

    @property
    def bin(self) -> Self:
        """Return BIN."""
        return self._call("BIN")

    @property
    def hex(self) -> Self:
        """Return HEX."""
        return self._call("HEX")

    @property
    def unhex(self) -> Self:
        """Return UNHEX."""
        return self._call("UNHEX")

    def truncate(self, n: Any = 0) -> Self:
        """Return TRUNCATE."""
        return self._call("TRUNCATE", n)
