"""The table of functions: all of them by name, and those of Flink that are refused."""

from __future__ import annotations

from difflib import get_close_matches

from headrace.sql.functions import (
    arithmetic,
    casts,
    collections,
    comparison,
    conditional,
    logic,
    math,
    patterns,
    strings,
    temporal,
    time_units,
)
from headrace.sql.functions.function import Function

_AREAS = (
    comparison,
    logic,
    arithmetic,
    conditional,
    casts,
    math,
    strings,
    patterns,
    time_units,
    temporal,
    collections,
)

FUNCTIONS: dict[str, Function] = {each.name: each for area in _AREAS for each in area.FUNCTIONS}

REFUSED: dict[str, str] = {}
"""Functions of Flink that are not supported, each with the reason."""


def names() -> tuple[str, ...]:
    """Return the names of all functions, in order."""
    return tuple(sorted(FUNCTIONS))


def near(name: str) -> list[str]:
    """Return names that a misspelled one may stand for."""
    return get_close_matches(name, [each for each in FUNCTIONS if each.isidentifier()], 2, 0.75)
