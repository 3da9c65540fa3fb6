"""Which orders a stream can have."""

from __future__ import annotations

from headrace.errors import SqlValidationError
from headrace.sql.rel import Sort
from headrace.sql.rules.time_attributes import time_attribute
from headrace.sql.types import TimeAttribute


def time_order(rel: Sort) -> TimeAttribute:
    """Return which time rows of a stream are sorted by first, as later rows come later.

    Raises:
        SqlValidationError: they are sorted by something else, or by the latest time first.
    """
    name, ascending, _ = rel.keys[0]
    (column,) = (each for each in rel.columns if each.name == name)
    found = time_attribute(rel.input, name)
    if found is None or not ascending:
        raise SqlValidationError(
            "rows of a stream can be sorted by a time attribute, ascending, and then by others;"
            f" {name!r} is {column.type}{'' if ascending else ' DESC'}",
            hint="sort in a batch, or add LIMIT where the first rows are wanted",
        )
    return found
