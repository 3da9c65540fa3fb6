"""What a word in a statement can be completed to: by the grammar, the catalogs and the options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from headrace.common._options import catalogue as options
from headrace.errors import HeadraceError, SqlParserError
from headrace.sql import statements as parsed
from headrace.sql.aggregates.table import AGGREGATES
from headrace.sql.catalog.manager import CatalogManager
from headrace.sql.catalog.objects import CatalogTable, CatalogView, PlanView
from headrace.sql.dialect.lexer import Token, tokenize
from headrace.sql.dialect.words import FUNCTIONS, RESERVED
from headrace.sql.functions import table as functions
from headrace.sql.parsing import expected_after, parse
from headrace.sql.types import needs_quotes, quote_name

DELIMITERS = " \t\n()[]=,;<>+*/%|'"
"""Characters that begin a new word to complete."""

_KEY = re.compile(r"(?:^|;)\s*(?:RE)?SET\s+'$", re.IGNORECASE)


def completions(before: str, word: str, after: str, catalogs: CatalogManager) -> list[str]:
    """Return the words that can stand in place of one that was begun, in order.

    ``before``, ``after``: the text of the statement around the word.
    """
    if _KEY.search(before):
        return sorted(key for key in options.OPTIONS if key.startswith(word))
    wanted = expected_after(before)
    words = [each for each in wanted if each.replace(" ", "").replace("_", "").isalpha()]
    found = [each for each in words if each.isupper()]
    if word.islower():
        found = [each.lower() for each in found]
    names = [*_names(before, word, after, wanted, catalogs)]
    lower = word.lower()
    kept = [
        each
        for each in [*names, *found]
        if each.lower().startswith(lower) or each.lower().lstrip("`").startswith(lower)
    ]
    return [*dict.fromkeys(kept)]


def _names(
    before: str, word: str, after: str, wanted: tuple[str, ...], catalogs: CatalogManager
) -> Iterator[str]:
    qualifier = tuple(part.strip("`") for part in word.split(".")[:-1])
    if "an expression" in wanted or (qualifier and "'.'" in wanted):
        yield from _columns(f"{before} {after}", qualifier, catalogs)
        if not qualifier:
            yield from _functions(catalogs)
    elif "a table" in wanted:
        yield from _relations(qualifier, catalogs)
    elif "a name" in wanted:
        match _kind_of_name(before):
            case "DATABASE":
                yield from map(_written, catalogs.databases(qualifier[0] if qualifier else None))
            case "CATALOG":
                yield from map(_written, catalogs.registry.names())
            case "FUNCTION":
                yield from map(_written, catalogs.functions())
            case "TABLE" | "VIEW":
                yield from _relations(qualifier, catalogs)


def _kind_of_name(before: str) -> str | None:
    """Return what a name after a text stands for; None: a new name, such as an alias."""
    try:
        statement = parse(f"{before} x")[-1]
    except SqlParserError:
        return "TABLE"  # such as INSERT INTO, which goes on after the name
    match statement:
        case parsed.Use() | parsed.Drop() | parsed.Describe() | parsed.Alter():
            return statement.kind
        case parsed.Show(what=what):
            if what.startswith("CREATE "):
                return what.removeprefix("CREATE ")
            return "TABLE" if what in ("COLUMNS", "PARTITIONS") else "DATABASE"
    return None


def _relations(qualifier: tuple[str, ...], catalogs: CatalogManager) -> Iterator[str]:
    """Return tables and views, and the databases and catalogs that can stand before them."""
    prefix = "".join(f"{_written(each)}." for each in qualifier)
    if len(qualifier) <= 2 and _is_database(qualifier, catalogs):
        yield from (prefix + _written(each) for each in catalogs.relations(qualifier))
    if not qualifier:
        yield from (f"{_written(each)}." for each in catalogs.databases())
        yield from (f"{_written(each)}." for each in catalogs.registry.names())
    elif len(qualifier) == 1 and qualifier[0] in catalogs.registry.names():
        yield from (f"{prefix}{_written(each)}." for each in catalogs.databases(qualifier[0]))


def _is_database(path: tuple[str, ...], catalogs: CatalogManager) -> bool:
    catalog, name = catalogs.qualify_database(path)
    return catalog in catalogs.registry.names() and name in catalogs.databases(catalog)


def _columns(text: str, qualifier: tuple[str, ...], catalogs: CatalogManager) -> Iterator[str]:
    """Return the columns of all tables that a statement names, and their aliases."""
    prefix = "".join(f"{_written(each)}." for each in qualifier)
    for path, alias in _paths(text):
        try:
            found = catalogs.find(path)
        except HeadraceError:  # no path of a table
            continue
        if found is None or (qualifier and qualifier not in ((alias,), path, path[-1:])):
            continue
        if alias is not None and not qualifier:
            yield f"{_written(alias)}."
        yield from (prefix + _written(each) for each in _names_of_columns(found.relation))


def _names_of_columns(relation: CatalogTable | CatalogView | PlanView) -> Iterable[str]:
    match relation:
        case CatalogTable():
            return [column.name for column in relation.columns]
        case CatalogView():
            return relation.columns
    return [column.name for column in relation.plan.columns]


def _paths(text: str) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Return all names of a text, with those after dots, and the name that follows each."""
    try:
        tokens = tokenize(text)
    except SqlParserError:
        return
    place = 0
    while place < len(tokens):
        if tokens[place].kind not in ("word", "name"):
            place += 1
            continue
        path = [_name(text, tokens[place])]
        place += 1
        while tokens[place].value == "." and tokens[place + 1].kind in ("word", "name"):
            path.append(_name(text, tokens[place + 1]))
            place += 2
        following = tokens[place + 1] if tokens[place].value == "AS" else tokens[place]
        named = following.kind == "name" or (
            following.kind == "word" and following.value not in RESERVED
        )
        yield tuple(path), _name(text, following) if named else None


def _name(text: str, token: Token) -> str:
    return token.value if token.kind == "name" else text[token.start : token.end]


def _functions(catalogs: CatalogManager) -> Iterator[str]:
    built_in = {*functions.names(), *AGGREGATES}
    called = {each for each in built_in if each not in RESERVED or each in FUNCTIONS}
    known = sorted({*called, *catalogs.functions()})
    yield from (f"{each}(" for each in known if each.isidentifier())


def _written(name: str) -> str:
    return quote_name(name) if needs_quotes(name) or name.upper() in RESERVED else name
