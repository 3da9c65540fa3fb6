"""JSON."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import SqlValidationError
from headrace.sql.expressions import Expression
from headrace.sql.types import SqlType


def returning(
    name: str, values: Sequence[Expression], options: Sequence[str], target: SqlType
) -> Expression:
    """Return a call of JSON_VALUE or JSON_QUERY with RETURNING."""
    raise SqlValidationError(f"{name} with RETURNING is not supported")
