"""Which columns an expression can name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headrace.errors import SqlValidationError
from headrace.sql.catalog.errors import near_names
from headrace.sql.expressions import Expression
from headrace.sql.rel import Columns, reference


@dataclass(frozen=True)
class Source:
    """A relation of FROM: its name there, and its columns.

    ``names``: what the query calls the columns, which may differ from their names in the plan.
    """

    alias: str | None
    names: tuple[str, ...]
    columns: Columns


@dataclass(frozen=True)
class Scope:
    """The relations of FROM."""

    sources: tuple[Source, ...]

    @property
    def columns(self) -> Columns:
        """All columns, in order."""
        return tuple(column for source in self.sources for column in source.columns)

    def find(self, names: tuple[str, ...]) -> Expression | None:
        """Return the column of a name, or of a table and a name; None: there is none.

        Raises:
            SqlValidationError: more than one table has it.
        """
        if len(names) > 2:
            return None
        found = [
            column
            for source in self.sources
            if len(names) == 1 or source.alias == names[0]
            for visible, column in zip(source.names, source.columns, strict=True)
            if visible == names[-1]
        ]
        if len(found) > 1:
            raise SqlValidationError(
                f"column {names[-1]!r} is ambiguous: more than one table of FROM has it",
                hint="write the name of the table before it",
            )
        return reference(found[0]) if found else None

    def missing(self, names: Sequence[str]) -> SqlValidationError:
        """Return the error for a name that is no column."""
        known = [visible for source in self.sources for visible in source.names]
        near = near_names(names[-1], known, 1)
        return SqlValidationError(
            f"column {'.'.join(names)!r} not found in any table",
            where={"columns": ", ".join(known) or "none"},
            hint=f"did you mean {near[0]!r}?" if near else None,
        )

    def of_star(self, alias: str | None) -> list[Source]:
        """Return the relations that ``alias.*`` stands for, or ``*``.

        Raises:
            SqlValidationError: there is none.
        """
        found = [each for each in self.sources if alias is None or each.alias == alias]
        if not found:
            raise SqlValidationError(
                f"there is no table {alias!r} in FROM" if alias else "SELECT * needs FROM"
            )
        return found


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names, with a number after each one that came before; as Flink: a, a0, a1."""
    used: dict[str, None] = {}
    for name in names:
        found, number = name, 0
        while found in used:
            found, number = f"{name}{number}", number + 1
        used[found] = None
    return tuple(used)
