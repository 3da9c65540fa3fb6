"""Changes and shows catalogs, without their contents."""

from __future__ import annotations

from dataclasses import replace

from headrace.errors import CatalogError
from headrace.sql.catalog.listing import Listing, options_text, quoted_text
from headrace.sql.catalog.manager import CatalogManager
from headrace.sql.catalog.objects import CatalogDescription, merged_options
from headrace.sql.changes import Change, ChangeComment, ResetOptions, SetOptions
from headrace.sql.types import quote_name

_SECRET = "****"
_SECRET_KEYS = (
    "password",
    "secret",
    "account.key",
    "apikey",
    "api-key",
    "auth-params",
    "service-key",
    "token",
    "basic-auth",
    "jaas.config",
    "http-headers",
)


def alter_catalog(name: str, change: Change, manager: CatalogManager) -> None:
    """Change the options or the comment of a catalog.

    Raises:
        CatalogError: the catalog does not exist, or cannot be opened with the options.
    """
    before = manager.registry.description(name)
    match change:
        case ChangeComment(comment):
            after = replace(before, comment=comment)
        case SetOptions(options):
            _check_type_stays("SET", tuple(key for key, _ in options))
            after = replace(before, options=merged_options(before.options, options))
        case ResetOptions(keys):
            _check_type_stays("RESET", keys)
            kept = tuple(each for each in before.options if each[0] not in keys)
            after = replace(before, options=kept)
        case _:
            raise AssertionError(f"no change of a catalog: {change}")
    manager.registry.alter(name, after)


def _check_type_stays(verb: str, keys: tuple[str, ...]) -> None:
    if "type" in keys:
        raise CatalogError(
            f"ALTER CATALOG … {verb} does not change 'type'",
            hint="drop the catalog, and create it again",
        )


def show_create_catalog(name: str, catalog: CatalogDescription) -> Listing:
    """Return the statement that creates a catalog; values of secret options are hidden."""
    lines = [f"CREATE CATALOG {quote_name(name)}"]
    if catalog.comment:
        lines.append(f"COMMENT {quoted_text(catalog.comment)}")
    lines.append(options_text(_shown(catalog)))
    return Listing(("result",), (("\n".join(lines) + "\n",),))


def describe_catalog(name: str, catalog: CatalogDescription, *, extended: bool) -> Listing:
    """Return the name, type and comment of a catalog; ``extended``: its other options too."""
    kind = dict(catalog.options).get("type", "")
    rows = [("name", name), ("type", kind), ("comment", catalog.comment)]
    if extended:
        rows += [(f"option:{key}", value) for key, value in _shown(catalog) if key != "type"]
    return Listing(("info name", "info value"), tuple(rows))


def _shown(catalog: CatalogDescription) -> tuple[tuple[str, str], ...]:
    return tuple(
        (key, _SECRET if any(each in key.lower() for each in _SECRET_KEYS) else value)
        for key, value in sorted(catalog.options)
    )
