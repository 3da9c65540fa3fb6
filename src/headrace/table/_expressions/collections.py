"""Functions of arrays, maps and bitmaps."""

from __future__ import annotations

from typing import Any, Self

from headrace.table._expressions.base import ExpressionTree


class CollectionFunctions(ExpressionTree):
    """Functions of arrays, maps and bitmaps."""

    @property
    def cardinality(self) -> Self:
        """Return CARDINALITY."""
        return self._call("CARDINALITY")

    @property
    def element(self) -> Self:
        """Return ELEMENT."""
        return self._call("ELEMENT")

    def array_append(self, addition: Any) -> Self:
        """Return ARRAY_APPEND."""
        return self._call("ARRAY_APPEND", addition)

    def array_contains(self, needle: Any) -> Self:
        """Return ARRAY_CONTAINS."""
        return self._call("ARRAY_CONTAINS", needle)

    def array_distinct(self) -> Self:
        """Return ARRAY_DISTINCT."""
        return self._call("ARRAY_DISTINCT")

    def array_position(self, needle: Any) -> Self:
        """Return ARRAY_POSITION."""
        return self._call("ARRAY_POSITION", needle)

    def array_prepend(self, addition: Any) -> Self:
        """Return ARRAY_PREPEND."""
        return self._call("ARRAY_PREPEND", addition)

    def array_remove(self, needle: Any) -> Self:
        """Return ARRAY_REMOVE."""
        return self._call("ARRAY_REMOVE", needle)

    def array_reverse(self) -> Self:
        """Return ARRAY_REVERSE."""
        return self._call("ARRAY_REVERSE")

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Self:
        """Return ARRAY_SLICE."""
        return self._call("ARRAY_SLICE", start_offset, end_offset)

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Self:
        """Return ARRAY_SORT."""
        return self._call("ARRAY_SORT", ascending_order, null_first)

    def array_union(self, array: Any) -> Self:
        """Return ARRAY_UNION."""
        return self._call("ARRAY_UNION", array)

    def array_concat(self, *arrays: Any) -> Self:
        """Return ARRAY_CONCAT."""
        return self._call("ARRAY_CONCAT", *arrays)

    def array_max(self) -> Self:
        """Return ARRAY_MAX."""
        return self._call("ARRAY_MAX")

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Self:
        """Return ARRAY_JOIN."""
        return self._call("ARRAY_JOIN", delimiter, null_replacement)

    def array_min(self) -> Self:
        """Return ARRAY_MIN."""
        return self._call("ARRAY_MIN")

    def array_except(self, array: Any) -> Self:
        """Return ARRAY_EXCEPT."""
        return self._call("ARRAY_EXCEPT", array)

    def array_intersect(self, array: Any) -> Self:
        """Return ARRAY_INTERSECT."""
        return self._call("ARRAY_INTERSECT", array)

    @property
    def map_keys(self) -> Self:
        """Return MAP_KEYS."""
        return self._call("MAP_KEYS")

    def map_union(self, *maps: Any) -> Self:
        """Return MAP_UNION."""
        return self._call("MAP_UNION", *maps)

    @property
    def map_values(self) -> Self:
        """Return MAP_VALUES."""
        return self._call("MAP_VALUES")

    @property
    def map_entries(self) -> Self:
        """Return MAP_ENTRIES."""
        return self._call("MAP_ENTRIES")

    def bitmap_and(self, bitmap2: Any) -> Self:
        """Return BITMAP_AND."""
        return self._call("BITMAP_AND", bitmap2)

    def bitmap_andnot(self, bitmap2: Any) -> Self:
        """Return BITMAP_ANDNOT."""
        return self._call("BITMAP_ANDNOT", bitmap2)

    def bitmap_build(self) -> Self:
        """Return BITMAP_BUILD."""
        return self._call("BITMAP_BUILD")

    def bitmap_cardinality(self) -> Self:
        """Return BITMAP_CARDINALITY."""
        return self._call("BITMAP_CARDINALITY")

    def bitmap_from_bytes(self) -> Self:
        """Return BITMAP_FROM_BYTES."""
        return self._call("BITMAP_FROM_BYTES")

    def bitmap_or(self, bitmap2: Any) -> Self:
        """Return BITMAP_OR."""
        return self._call("BITMAP_OR", bitmap2)

    def bitmap_to_array(self) -> Self:
        """Return BITMAP_TO_ARRAY."""
        return self._call("BITMAP_TO_ARRAY")

    def bitmap_to_bytes(self) -> Self:
        """Return BITMAP_TO_BYTES."""
        return self._call("BITMAP_TO_BYTES")

    def bitmap_to_string(self) -> Self:
        """Return BITMAP_TO_STRING."""
        return self._call("BITMAP_TO_STRING")

    def bitmap_xor(self, bitmap2: Any) -> Self:
        """Return BITMAP_XOR."""
        return self._call("BITMAP_XOR", bitmap2)
