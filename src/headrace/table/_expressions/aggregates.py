"""Aggregate functions."""

from __future__ import annotations

from typing import Any, Self

from headrace.table._expressions.base import ExpressionTree


class AggregateFunctions(ExpressionTree):
    """Aggregate functions."""

    @property
    def sum(self) -> Self:
        """Return SUM."""
        return self._call("SUM")

    @property
    def sum0(self) -> Self:
        """Return SUM0."""
        return self._call("SUM0")

    @property
    def min(self) -> Self:
        """Return MIN."""
        return self._call("MIN")

    @property
    def max(self) -> Self:
        """Return MAX."""
        return self._call("MAX")

    @property
    def count(self) -> Self:
        """Return COUNT."""
        return self._call("COUNT")

    @property
    def avg(self) -> Self:
        """Return AVG."""
        return self._call("AVG")

    @property
    def first_value(self) -> Self:
        """Return FIRST_VALUE."""
        return self._call("FIRST_VALUE")

    @property
    def last_value(self) -> Self:
        """Return LAST_VALUE."""
        return self._call("LAST_VALUE")

    def list_agg(self, separator: Any = None) -> Self:
        """Return LISTAGG."""
        return self._call("LISTAGG", separator)

    @property
    def stddev_pop(self) -> Self:
        """Return STDDEV_POP."""
        return self._call("STDDEV_POP")

    @property
    def stddev_samp(self) -> Self:
        """Return STDDEV_SAMP."""
        return self._call("STDDEV_SAMP")

    @property
    def var_pop(self) -> Self:
        """Return VAR_POP."""
        return self._call("VAR_POP")

    @property
    def var_samp(self) -> Self:
        """Return VAR_SAMP."""
        return self._call("VAR_SAMP")

    @property
    def collect(self) -> Self:
        """Return COLLECT."""
        return self._call("COLLECT")

    @property
    def array_agg(self) -> Self:
        """Return ARRAY_AGG."""
        return self._call("ARRAY_AGG")

    def percentile(self, percentage: Any, frequency: Any = None) -> Self:
        """Return PERCENTILE."""
        return self._call("PERCENTILE", percentage, frequency)

    def bitmap_and_agg(self) -> Self:
        """Return BITMAP_AND_AGG."""
        return self._call("BITMAP_AND_AGG")

    def bitmap_and_cardinality_agg(self) -> Self:
        """Return BITMAP_AND_CARDINALITY_AGG."""
        return self._call("BITMAP_AND_CARDINALITY_AGG")

    def bitmap_build_agg(self) -> Self:
        """Return BITMAP_BUILD_AGG."""
        return self._call("BITMAP_BUILD_AGG")

    def bitmap_build_cardinality_agg(self) -> Self:
        """Return BITMAP_BUILD_CARDINALITY_AGG."""
        return self._call("BITMAP_BUILD_CARDINALITY_AGG")

    def bitmap_or_agg(self) -> Self:
        """Return BITMAP_OR_AGG."""
        return self._call("BITMAP_OR_AGG")

    def bitmap_or_cardinality_agg(self) -> Self:
        """Return BITMAP_OR_CARDINALITY_AGG."""
        return self._call("BITMAP_OR_CARDINALITY_AGG")

    def bitmap_xor_agg(self) -> Self:
        """Return BITMAP_XOR_AGG."""
        return self._call("BITMAP_XOR_AGG")

    def bitmap_xor_cardinality_agg(self) -> Self:
        """Return BITMAP_XOR_CARDINALITY_AGG."""
        return self._call("BITMAP_XOR_CARDINALITY_AGG")
