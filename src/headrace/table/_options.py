"""Options in WITH: what a connector or format declares, and the values of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from headrace.common._options.values import ValueKind, parse
from headrace.errors import SqlValidationError

_OF_ALL_TABLES = ("scan.watermark.", "property-version")
"""Options of every table, which connectors do not read."""


@dataclass(frozen=True)
class TableOption:
    """An option of a connector or format: its name as in Flink, its type, and its default."""

    key: str
    kind: ValueKind = ValueKind.STRING
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] = ()

    def prefixed(self, prefix: str) -> TableOption:
        """Return the same option of a part: ``json.x`` becomes ``value.json.x``."""
        return replace(self, key=prefix + self.key)

    def parse(self, text: str, table: str) -> Any:
        """Return the value of a text; durations in ms, sizes in bytes.

        Raises:
            SqlValidationError: the text is no such value.
        """
        try:
            return parse(self.kind, text, self.choices)
        except ValueError as error:
            raise SqlValidationError(
                f"option {self.key!r} of table {table!r} is {text!r}, but must be {error}",
                where={"table": table, "option": self.key},
            ) from None


def read_options(
    table: str,
    given: Mapping[str, str],
    declared: Iterable[TableOption],
    prefixes: tuple[str, ...] = (),
    unsupported: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the value of each declared option, parsed or by default.

    Options that begin with one of ``prefixes`` may have any name; they are left to the caller.
    ``unsupported``: how options of Flink begin that are refused by name.

    Raises:
        SqlValidationError: an option is unknown, missing or wrong.
    """
    known = {option.key: option for option in declared}
    given = {key: text for key, text in given.items() if not key.startswith(_OF_ALL_TABLES)}
    for key in given:
        if key.startswith(unsupported):
            raise SqlValidationError(
                f"table {table!r}: the option {key!r} of Flink is not supported",
                where={"table": table, "option": key},
                hint="leave it out",
            )
        if key not in known and not key.startswith(prefixes):
            raise _unknown_error(table, key, [*known, *prefixes])
    missing = [key for key, option in known.items() if option.required and key not in given]
    if missing:
        raise SqlValidationError(
            f"table {table!r} needs the option {missing[0]!r}",
            where={"table": table, "missing": ", ".join(missing)},
            hint=f"add '{missing[0]}' = '…' to its WITH",
        )
    return {
        key: option.parse(given[key], table) if key in given else option.default
        for key, option in known.items()
    }


def _unknown_error(table: str, key: str, known: list[str]) -> SqlValidationError:
    near = get_close_matches(key, known, 3, 0.6)
    last = key.rpartition(".")[2]
    near = near or [each for each in known if last in each.split(".")][:3]
    return SqlValidationError(
        f"table {table!r} has an unknown option {key!r}",
        where={"table": table, "options": ", ".join(sorted(known))},
        hint=f"did you mean {', or '.join(map(repr, near))}?" if near else None,
    )


def find_named(
    kind: str, name: str | None, known: Mapping[str, str], table: str, others: Iterable[str]
) -> str:
    """Return the value of a name in a table of connectors or formats.

    ``others``: the keys of the table's other options; one of them may be a misspelled ``kind``.

    Raises:
        SqlValidationError: there is no such name.
    """
    if name is not None and name in known:
        return known[name]
    if name:
        near = get_close_matches(name, known, 1)
        problem = f"there is no {kind} {name!r}"
        hint = f"did you mean {near[0]!r}?" if near else None
    else:
        meant = get_close_matches(kind, others, 1, 0.7)
        problem = f"table {table!r} needs a {kind}"
        hint = f"write '{kind}' in place of {meant[0]!r}" if meant else None
    raise SqlValidationError(
        problem,
        where={"table": table, f"{kind}s": ", ".join(known)},
        hint=hint or f"its WITH says '{kind}' = '…'",
    )
