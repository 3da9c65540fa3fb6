"""Which orders a stream can have."""

from __future__ import annotations

from headrace.errors import SqlValidationError
from headrace.sql.rel import Sort
from headrace.sql.rules.time_attributes import time_attribute
from headrace.sql.types import TimeAttribute


def time_order(rel: Sort) -> TimeAttribute:
    """Return the time attribute by which rows of a stream are sorted first.

    Raises:
        SqlValidationError: they are sorted by another column, or descending.
    """
    name, ascending, _ = rel.keys[0]
    (column,) = (each for each in rel.columns if each.name == name)
    found = time_attribute(rel.input, name)
    if found is None or not ascending:
        raise SqlValidationError(
            "a stream can be sorted only by a time attribute, ascending, and then by other columns;"
            f" {name!r} is {column.type}{'' if ascending else ' DESC'}",
            hint="sort in a batch, or add LIMIT to get the first rows",
        )
    return found
