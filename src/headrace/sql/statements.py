"""Statements as values; ``parsing`` reads them from a text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sqlglot import exp
from headrace.sql.changes import Change, Language
from headrace.sql.definitions import (
    ColumnDefinition,
    Distribution,
    Options,
    Path,
    PrimaryKeyDefinition,
    WatermarkDefinition,
)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement: its text without the semicolon, and where it begins (from 1).

    ``source``: all that was read with it. The nodes of its trees have this text as
    ``node.meta["source"]``, and where they stand in it: "start" and "end", "line" and "column".
    """

    text: str
    line: int = 1
    column: int = 1
    source: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class Query(Statement):
    """SELECT, VALUES, WITH, or such queries with UNION, INTERSECT and EXCEPT."""

    tree: exp.Expr


ConflictAction = Literal["DEDUPLICATE", "NOTHING", "ERROR"]


@dataclass(frozen=True, kw_only=True)
class Insert(Statement):
    """INSERT INTO or INSERT OVERWRITE.

    ``columns``: the columns that the query gives; empty: all. ``partition``: constants of the
    columns of PARTITION (…). ``hints``: those after the table's name. ``on_conflict``: which of
    several rows with one primary key stays.
    """

    target: Path
    query: exp.Expr
    columns: tuple[str, ...] = ()
    partition: tuple[tuple[str, exp.Expr], ...] = ()
    overwrite: bool = False
    hints: tuple[exp.Expr, ...] = ()
    on_conflict: ConflictAction | None = None


@dataclass(frozen=True, kw_only=True)
class StatementSet(Statement):
    """INSERTs that run as one job."""

    inserts: tuple[Insert, ...]


@dataclass(frozen=True, kw_only=True)
class BeginStatementSet(Statement):
    """BEGIN STATEMENT SET, when its INSERTs and END are statements of their own."""


@dataclass(frozen=True, kw_only=True)
class EndStatementSet(Statement):
    """END of a statement set that was begun before."""


@dataclass(frozen=True, kw_only=True)
class Explain(Statement):
    """EXPLAIN of a query, an INSERT or a statement set, with details such as CHANGELOG_MODE."""

    statement: Statement
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class LikeClause:
    """LIKE a table, with options such as ``("INCLUDING", "OPTIONS")``."""

    table: Path
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class CreateTable(Statement):
    """CREATE TABLE.

    ``query``: of CREATE TABLE … AS; ``query_columns``: its columns in another order, if the
    definition has only names. ``must_exist``: REPLACE TABLE, of a table that is there.
    """

    path: Path
    columns: tuple[ColumnDefinition, ...] = ()
    watermarks: tuple[WatermarkDefinition, ...] = ()
    primary_key: PrimaryKeyDefinition | None = None
    options: Options = ()
    like: LikeClause | None = None
    partitioned_by: tuple[str, ...] = ()
    distribution: Distribution | None = None
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False
    replace: bool = False
    must_exist: bool = False
    query: exp.Expr | None = None
    query_columns: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CreateView(Statement):
    """CREATE VIEW; ``query_text`` is the query as it is written."""

    path: Path
    query: exp.Expr
    query_text: str
    columns: tuple[str, ...] = ()
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False
    replace: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateFunction(Statement):
    """CREATE FUNCTION of an identifier, such as ``module.function``, in a language."""

    path: Path
    identifier: str
    language: Language = "JAVA"
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateDatabase(Statement):
    """CREATE DATABASE."""

    path: Path
    options: Options = ()
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateCatalog(Statement):
    """CREATE CATALOG."""

    name: str
    options: Options = ()
    comment: str | None = None
    if_not_exists: bool = False


ObjectKind = Literal["TABLE", "VIEW", "FUNCTION", "DATABASE", "CATALOG"]


@dataclass(frozen=True, kw_only=True)
class Drop(Statement):
    """DROP of an object; ``cascade``: a database with what is in it."""

    kind: ObjectKind
    path: Path
    if_exists: bool = False
    temporary: bool = False
    system: bool = False
    cascade: bool = False


@dataclass(frozen=True, kw_only=True)
class Alter(Statement):
    """ALTER of an object."""

    kind: ObjectKind
    path: Path
    change: Change
    if_exists: bool = False
    temporary: bool = False
    system: bool = False


@dataclass(frozen=True, kw_only=True)
class Use(Statement):
    """USE of a database or a catalog as the current one."""

    kind: Literal["CATALOG", "DATABASE"]
    path: Path


@dataclass(frozen=True, kw_only=True)
class Show(Statement):
    """SHOW.

    ``what``: such as "TABLES", "CREATE TABLE", "CURRENT CATALOG", "USER FUNCTIONS". ``path``:
    the object, or of FROM or IN. ``like``: the pattern; ``case_insensitive``: of ILIKE.
    """

    what: str
    path: Path = ()
    like: str | None = None
    negated: bool = False
    case_insensitive: bool = False
    partition: tuple[tuple[str, exp.Expr], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Describe(Statement):
    """DESCRIBE of a table, a catalog, a database or a function; or of a job by its id."""

    path: Path
    kind: ObjectKind | Literal["JOB"] = "TABLE"
    extended: bool = False


@dataclass(frozen=True, kw_only=True)
class SetOption(Statement):
    """SET 'key' = 'value'; without a key, all options are shown."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True, kw_only=True)
class ResetOption(Statement):
    """RESET 'key'; without a key, all options."""

    key: str | None = None


@dataclass(frozen=True, kw_only=True)
class StopJob(Statement):
    """STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]."""

    job: str
    savepoint: bool = False
    drain: bool = False


@dataclass(frozen=True, kw_only=True)
class Unsupported(Statement):
    """A statement of Flink that Headrace does not run: its name, and why."""

    name: str
    reason: str
