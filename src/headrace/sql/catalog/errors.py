"""The errors of names: what is missing, and what is near."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from headrace.errors import CatalogError
from headrace.sql.types import quote_name


def near_names(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """Return the names that one may have meant, best first; case does not count."""
    by_lower = {each.lower(): each for each in names}
    found = get_close_matches(name.lower(), by_lower, n=count, cutoff=0.6)
    return [by_lower[each] for each in found]


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """Return a hint with names that are near, or with those that there are, if they are few."""
    names = list(names)
    near = near_names(name, names)
    if near:
        return f"did you mean {_listed(near)}?"
    if names and len(names) <= 8:
        return f"there {'is' if len(names) == 1 else 'are'} {_listed(sorted(names))}"
    return None


def _listed(names: list[str]) -> str:
    return ", ".join(map(quote_name, names))


def missing(what: str, path: object, name: str, names: Iterable[str]) -> CatalogError:
    """Return the error that a name stands for nothing; ``names``: those that stand for something.

    ``path``: the name as it is shown; ``name``: the part of it to which others are near.
    """
    return CatalogError(f"{what} {path} does not exist", hint=did_you_mean(name, names))


def missing_column(table: object, name: str, names: Iterable[str], where: str = "") -> CatalogError:
    """Return the error that a table has no such column; ``where``: what asks for it."""
    problem = f"{where} column {quote_name(name)} is not in {table}".strip()
    return CatalogError(problem, hint=did_you_mean(name, names))
