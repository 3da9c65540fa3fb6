"""What ALTER changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sqlglot import exp
from headrace.sql.definitions import (
    ColumnDefinition,
    Distribution,
    Options,
    Path,
    PrimaryKeyDefinition,
    WatermarkDefinition,
)

Language = Literal["JAVA", "SCALA", "PYTHON"]


@dataclass(frozen=True)
class Rename:
    """RENAME TO another path."""

    target: Path


@dataclass(frozen=True)
class RenameColumn:
    """RENAME a column TO another name."""

    column: str
    target: str


@dataclass(frozen=True)
class SetOptions:
    """SET ('key' = 'value', …)."""

    options: Options


@dataclass(frozen=True)
class ResetOptions:
    """RESET ('key', …)."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class ColumnChange:
    """A column that is added or replaced; ``after``: a column, or "" for the first place."""

    column: ColumnDefinition
    after: str | None = None


@dataclass(frozen=True)
class AddOrModify:
    """ADD or MODIFY columns, the watermark, the primary key, the distribution."""

    verb: Literal["ADD", "MODIFY"]
    columns: tuple[ColumnChange, ...] = ()
    watermark: WatermarkDefinition | None = None
    primary_key: PrimaryKeyDefinition | None = None
    distribution: Distribution | None = None


@dataclass(frozen=True)
class DropParts:
    """DROP columns, or the WATERMARK, the PRIMARY KEY, the DISTRIBUTION."""

    columns: tuple[str, ...] = ()
    part: Literal["WATERMARK", "PRIMARY KEY", "DISTRIBUTION"] | None = None
    constraint: str | None = None


@dataclass(frozen=True)
class ChangeQuery:
    """AS another query of a view."""

    query: exp.Expr
    text: str


@dataclass(frozen=True)
class ChangeFunction:
    """AS another identifier of a function."""

    identifier: str
    language: Language = "JAVA"


@dataclass(frozen=True)
class ChangeComment:
    """COMMENT of a catalog."""

    comment: str


Change = (
    Rename
    | RenameColumn
    | SetOptions
    | ResetOptions
    | AddOrModify
    | DropParts
    | ChangeQuery
    | ChangeFunction
    | ChangeComment
)
