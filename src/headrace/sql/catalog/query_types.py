"""What statements of catalogs ask of the resolver: the types of queries and columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.sql.catalog.objects import CatalogTable, CatalogView
from headrace.sql.definitions import ComputedColumn
from headrace.sql.rel import Columns
from headrace.sql.types import SqlType

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True)
class Types:
    """What the resolver knows of types, for the statements that need it.

    ``of_query``: the columns of the tree of a query; ``of_view``: those of a view's query;
    ``of_computed``: the type of a computed column of a table. ``check``: raises the error of a
    table whose expressions are wrong. ``batch``: whether no column is an event time.
    """

    of_query: Callable[[exp.Expr], Columns]
    of_view: Callable[[CatalogView], Columns]
    of_computed: Callable[[CatalogTable, ComputedColumn], SqlType]
    check: Callable[[CatalogTable], None]
    batch: bool = False
