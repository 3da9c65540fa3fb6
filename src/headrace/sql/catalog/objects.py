"""Tables, views and functions, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from headrace.sql.changes import Language
from headrace.sql.definitions import (
    ColumnDefinition,
    Distribution,
    Options,
    PrimaryKeyDefinition,
    WatermarkDefinition,
)
from headrace.sql.rel import Rel
from headrace.sql.types import quote_name

if TYPE_CHECKING:
    from sqlglot import exp


class ObjectPath(NamedTuple):
    """The full name of an object."""

    catalog: str
    database: str
    name: str

    def __str__(self) -> str:
        return ".".join(quote_name(each) for each in self)


@dataclass(frozen=True)
class CatalogTable:
    """A table of a connector."""

    columns: tuple[ColumnDefinition, ...]
    options: Options = ()
    watermark: WatermarkDefinition | None = None
    primary_key: PrimaryKeyDefinition | None = None
    partitioned_by: tuple[str, ...] = ()
    distribution: Distribution | None = None
    comment: str = ""

    def column(self, name: str) -> ColumnDefinition | None:
        """Return a column by its name."""
        return next((each for each in self.columns if each.name == name), None)

    def option(self, key: str) -> str | None:
        """Return the value of an option."""
        return dict(self.options).get(key)


@dataclass(frozen=True)
class CatalogView:
    """A view: a query, with the names of its columns.

    ``text``: the query as it was written; names in it are resolved in ``database``, which was
    current when the view was made. ``source``: the text in which its nodes have offsets.
    """

    query: exp.Expr
    text: str
    columns: tuple[str, ...]
    database: tuple[str, str]
    comment: str = ""
    source: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True)
class PlanView:
    """A view that a program registered: a plan instead of a query."""

    plan: Rel


Relation = CatalogTable | CatalogView | PlanView


@dataclass(frozen=True)
class CatalogFunction:
    """A function of the user: an identifier such as ``module.function``, or the object itself."""

    identifier: str = ""
    language: Language = "PYTHON"
    implementation: object = None


@dataclass(frozen=True)
class CatalogDescription:
    """The options and comment of CREATE CATALOG."""

    options: Options = ()
    comment: str | None = None


@dataclass(frozen=True)
class CatalogDatabase:
    """The options and comment of a database."""

    options: Options = ()
    comment: str = ""


Partition = tuple[tuple[str, str], ...]
"""The columns and values of a partition, in the order of PARTITIONED BY."""


@dataclass(frozen=True)
class CatalogPartition:
    """The options and comment of a partition."""

    options: Options = ()
    comment: str = ""


def kind_of(relation: Relation) -> str:
    """Return "table" or "view"."""
    return "table" if isinstance(relation, CatalogTable) else "view"


def merged_options(*parts: Options) -> Options:
    """Return options of which later ones replace earlier ones, sorted by key."""
    merged: dict[str, str] = {}
    for part in parts:
        merged.update(part)
    return tuple(sorted(merged.items()))
