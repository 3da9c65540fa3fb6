"""What defines a table: columns, watermark, key, distribution, and options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from headrace.sql.types import SqlType

if TYPE_CHECKING:
    from sqlglot import exp


Path = tuple[str, ...]
"""A name with those before it: catalog, database, object; or fewer."""


Options = tuple[tuple[str, str], ...]
"""Keys and values of WITH (…), in the order of the text."""


@dataclass(frozen=True)
class PhysicalColumn:
    """A column that is stored."""

    name: str
    type: SqlType
    comment: str = ""


@dataclass(frozen=True)
class MetadataColumn:
    """A column that the connector gives; ``key``: its name there; ``virtual``: never written."""

    name: str
    type: SqlType
    key: str | None = None
    virtual: bool = False
    comment: str = ""


@dataclass(frozen=True)
class ComputedColumn:
    """A column that is computed from others; ``text`` is its expression as it is written."""

    name: str
    expression: exp.Expr
    text: str
    comment: str = ""


ColumnDefinition = PhysicalColumn | MetadataColumn | ComputedColumn


@dataclass(frozen=True)
class WatermarkDefinition:
    """WATERMARK FOR a column (or a field in it) AS an expression."""

    column: Path
    expression: exp.Expr
    text: str


@dataclass(frozen=True)
class PrimaryKeyDefinition:
    """PRIMARY KEY of columns; ``enforced``: NOT ENFORCED is missing, which tables refuse."""

    columns: tuple[str, ...]
    name: str | None = None
    enforced: bool = False


@dataclass(frozen=True)
class Distribution:
    """DISTRIBUTED BY [HASH | RANGE] (columns) INTO n BUCKETS."""

    kind: Literal["HASH", "RANGE", "UNKNOWN"]
    columns: tuple[str, ...] = ()
    buckets: int | None = None
