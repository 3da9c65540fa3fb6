"""``Row`` and ``RowKind`` at PyFlink's path."""

from headrace.common._types.row import Row, RowKind, row_of

__all__ = ["Row", "RowKind", "row_of"]
