"""Where the parts of a statement stand in its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import CatalogError, SqlValidationError, UnsupportedError

if TYPE_CHECKING:
    from sqlglot import exp

POSITION = "position"
"""What an error calls the place of the part that is wrong."""

PLACED = (SqlValidationError, UnsupportedError, CatalogError)
"""The errors of planning that say where they are."""


def place_of(node: exp.Expr) -> str:
    """Return the line and column of a node in the text; empty: they are not known."""
    line, column = node.meta.get("line"), node.meta.get("column")
    return f"line {line}, column {column}" if line else ""


def add_place(error: SqlValidationError | UnsupportedError | CatalogError, node: exp.Expr) -> None:
    """Say in an error where it is, if it does not: the innermost node counts."""
    if POSITION not in error.where and (place := place_of(node)):
        error.where[POSITION] = place
