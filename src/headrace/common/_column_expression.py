"""What an expression over columns is, to packages below the one that makes it."""

from __future__ import annotations

from typing import Any


class ColumnExpression:
    """An expression over columns, as a tree of SQL: see ``headrace.table.Expression``."""

    _tree: Any
