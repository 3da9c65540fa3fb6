"""Tables that are written, and what is written into them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from headrace.sql.catalog.objects import CatalogTable, ObjectPath
from headrace.sql.rel import Rel
from headrace.sql.statements import ConflictAction


@dataclass(frozen=True)
class Target:
    """A table that is written; ``path`` None: it is in no catalog."""

    path: ObjectPath | None
    definition: CatalogTable

    @property
    def name(self) -> str:
        """The name without its catalog and database."""
        return "anonymous" if self.path is None else self.path.name

    @property
    def full_name(self) -> str:
        """The name of the result's column."""
        return "anonymous" if self.path is None else ".".join(self.path)


class PlannedInsert(NamedTuple):
    """A plan, and the table that its rows are written into.

    ``overwrite``: whether they replace what is there. ``action``: that of ON CONFLICT. ``hints``:
    options of the table for this statement.
    """

    rel: Rel
    target: Target
    overwrite: bool = False
    action: ConflictAction | None = None
    hints: tuple[tuple[str, str], ...] = ()
