"""What the parts of the resolver need of the whole: tables, and the queries inside a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sqlglot import exp

from headrace.sql.convert import Converter
from headrace.sql.rel import Rel
from headrace.sql.resolve.scope import Scope


class Tables(Protocol):
    """The tables and views that queries name."""

    def find(self, path: Sequence[str], hints: Mapping[str, str]) -> Rel:
        """Return the plan of a table, with its computed columns and its watermark, or of a view.

        Raises:
            CatalogError: there is none.
        """


class Queries(Protocol):
    """What resolves the queries inside a query."""

    tables: Tables
    batch: bool
    ctes: dict[str, Rel]

    def subquery(self, node: exp.Expr) -> Rel:
        """Return the plan of a query inside another one."""

    def values(self, node: exp.Values) -> Rel:
        """Return the rows of VALUES."""

    def converter(self, scope: Scope) -> Converter:
        """Return what makes expressions over the columns of a scope."""
