"""The two inputs of INTERSECT and EXCEPT as one relation."""

from __future__ import annotations

from headrace.sql.expressions import Literal
from headrace.sql.rel import Calc, Rel, reference
from headrace.sql.types import BOOLEAN

SIDE = "$left"
"""The column that says whether a row is from the left input."""


def with_side(rel: Rel, *, left: bool) -> Rel:
    """Return the rows with a column that says which input they are from."""
    columns = rel.columns
    side = Literal(BOOLEAN.with_nullable(False), left)
    names = tuple(column.name for column in columns)
    return Calc(rel, (*names, SIDE), (*map(reference, columns), side))
