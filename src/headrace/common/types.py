"""Rows, and what is known of the types of records."""

from headrace.common._types.row import Row, RowKind, row_of

__all__ = ["Row", "RowKind", "row_of"]
