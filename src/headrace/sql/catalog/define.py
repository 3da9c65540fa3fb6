"""The table that a CREATE TABLE means, with LIKE and AS."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.errors import CatalogError
from headrace.sql.catalog.errors import missing_column
from headrace.sql.catalog.objects import CatalogTable, merged_options
from headrace.sql.definitions import (
    ColumnDefinition,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
)
from headrace.sql.statements import CreateTable, LikeClause
from headrace.sql.types import (
    ArrayType,
    MapType,
    MonthIntervalType,
    MultisetType,
    RowType,
    SecondIntervalType,
    SqlType,
    quote_name,
)

_DEFAULT = {
    "CONSTRAINTS": "INCLUDING",
    "DISTRIBUTION": "INCLUDING",
    "GENERATED": "INCLUDING",
    "METADATA": "INCLUDING",
    "OPTIONS": "OVERWRITING",
    "PARTITIONS": "INCLUDING",
    "WATERMARKS": "INCLUDING",
}
"""What LIKE does with each part of the other table, unless its options say otherwise."""

_NOT_OVERWRITTEN = ("ALL", "CONSTRAINTS", "DISTRIBUTION", "PARTITIONS")


def define_table(
    statement: CreateTable,
    *,
    base: CatalogTable | None = None,
    selected: tuple[PhysicalColumn, ...] = (),
) -> CatalogTable:
    """Return the table of a CREATE TABLE.

    ``base``: the table of LIKE; ``selected``: the columns of the query of CREATE TABLE … AS.

    Raises:
        CatalogError: the definition contradicts itself, or the table of LIKE.
    """
    table = CatalogTable(
        columns=_with_selected(statement, selected),
        options=merged_options(statement.options),
        watermark=statement.watermarks[0] if statement.watermarks else None,
        primary_key=statement.primary_key,
        partitioned_by=statement.partitioned_by,
        distribution=statement.distribution,
        comment=statement.comment or "",
    )
    _check_unique([each.name for each in table.columns], "column")
    if base is not None and statement.like is not None:
        table = _merged(base, table, like_strategies(statement.like))
    return checked(table)


def _with_selected(
    statement: CreateTable, selected: tuple[PhysicalColumn, ...]
) -> tuple[ColumnDefinition, ...]:
    """Return the columns of a statement, then those of its query.

    A column of both stands where the query has it, with the statement's type.
    """
    if statement.query_columns:
        by_name = {each.name: each for each in selected}
        for name in statement.query_columns:
            if name not in by_name:
                raise missing_column("the query", name, by_name)
        if len(statement.query_columns) != len(selected):
            raise CatalogError(
                f"the query has {len(selected)} columns, {len(statement.query_columns)} are named"
            )
        return tuple(by_name[name] for name in statement.query_columns)
    names = {each.name for each in selected}
    own = {each.name: each for each in statement.columns if each.name in names}
    for each in own.values():
        if not isinstance(each, PhysicalColumn):
            raise CatalogError(
                f"the column {quote_name(each.name)} of the query is computed or metadata in the"
                " definition"
            )
    before = (each for each in statement.columns if each.name not in names)
    return (*before, *(own.get(each.name, each) for each in selected))


# LIKE


def like_strategies(like: LikeClause) -> dict[str, str]:
    """Return for each part of a table how LIKE takes it: INCLUDING, EXCLUDING or OVERWRITING."""
    given: dict[str, str] = {}
    for strategy, part in like.options:
        if part in given:
            raise CatalogError(f"LIKE has two options for {part}")
        if strategy == "OVERWRITING" and part in _NOT_OVERWRITTEN:
            raise CatalogError(f"LIKE cannot have OVERWRITING {part}")
        given[part] = strategy
    everything = given.pop("ALL", None)
    default = dict.fromkeys(_DEFAULT, everything) if everything else _DEFAULT
    return {part: given.get(part, strategy) or "" for part, strategy in default.items()}


def _merged(base: CatalogTable, table: CatalogTable, how: dict[str, str]) -> CatalogTable:
    columns = _merged_columns(base, table, how)
    base_options = () if how["OPTIONS"] == "EXCLUDING" else base.options
    if how["OPTIONS"] == "INCLUDING":
        both = dict(base_options).keys() & dict(table.options).keys()
        if both:
            raise _in_both(f"the option '{min(both)}'", "OPTIONS")
    watermark = table.watermark
    if base.watermark is not None and how["WATERMARKS"] != "EXCLUDING":
        if watermark is not None and how["WATERMARKS"] == "INCLUDING":
            raise _in_both("a watermark", "WATERMARKS")
        watermark = watermark or base.watermark
    primary_key = table.primary_key
    if base.primary_key is not None and how["CONSTRAINTS"] != "EXCLUDING":
        if primary_key is not None:
            raise _in_both("a primary key", "CONSTRAINTS")
        primary_key = base.primary_key
    partitioned_by = table.partitioned_by
    if base.partitioned_by:
        if partitioned_by and how["PARTITIONS"] != "EXCLUDING":
            raise _in_both("PARTITIONED BY", "PARTITIONS")
        # As in Flink, EXCLUDING PARTITIONS only lets the table have others.
        partitioned_by = partitioned_by or base.partitioned_by
    distribution = table.distribution
    if base.distribution is not None and how["DISTRIBUTION"] != "EXCLUDING":
        if distribution is not None:
            raise _in_both("DISTRIBUTED BY", "DISTRIBUTION")
        distribution = base.distribution
    return CatalogTable(
        columns=columns,
        options=merged_options(base_options, table.options),
        watermark=watermark,
        primary_key=primary_key,
        partitioned_by=partitioned_by,
        distribution=distribution,
        comment=table.comment,
    )


def _merged_columns(
    base: CatalogTable, table: CatalogTable, how: dict[str, str]
) -> tuple[ColumnDefinition, ...]:
    merged: dict[str, ColumnDefinition] = {}
    for column in base.columns:
        part = _part_of(column)
        if part is None or how[part] != "EXCLUDING":
            merged[column.name] = column
    for column in table.columns:
        before = merged.get(column.name)
        if before is not None:
            part = _part_of(column)
            if part is None or _part_of(before) != part:
                raise CatalogError(f"the table of LIKE has the column {quote_name(column.name)}")
            if how[part] != "OVERWRITING":
                raise _in_both(f"the column {quote_name(column.name)}", part)
        merged[column.name] = column
    return tuple(merged.values())


def _part_of(column: ColumnDefinition) -> str | None:
    if isinstance(column, ComputedColumn):
        return "GENERATED"
    return "METADATA" if isinstance(column, MetadataColumn) else None


def _in_both(what: str, part: str) -> CatalogError:
    overwriting = "" if part in _NOT_OVERWRITTEN else f" or OVERWRITING {part}"
    return CatalogError(
        f"the table of LIKE has {what} too", hint=f"LIKE … (EXCLUDING {part}){overwriting}"
    )


# Checks


def checked(table: CatalogTable) -> CatalogTable:
    """Return the table, whose key columns are NOT NULL.

    Raises:
        CatalogError: a column is missing that a part of the definition names.
    """
    names = [each.name for each in table.columns]
    if not names:
        raise CatalogError("a table has at least one column")
    _check_unique(names, "column")
    for each in table.columns:
        if not isinstance(each, ComputedColumn) and _has_interval(each.type):
            raise CatalogError(
                f"the column {quote_name(each.name)} is an INTERVAL, which cannot be stored"
            )
    keys = [each.key or each.name for each in table.columns if isinstance(each, MetadataColumn)]
    _check_unique(keys, "metadata key")
    if table.watermark is not None and table.watermark.column[0] not in names:
        raise missing_column("the table", table.watermark.column[0], names, "the watermark's")
    for name in table.partitioned_by:
        if name not in names:
            raise missing_column("the table", name, names, "PARTITIONED BY:")
    if table.distribution is not None:
        for name in table.distribution.columns:
            if name not in names:
                raise missing_column("the table", name, names, "DISTRIBUTED BY:")
    return _with_key(table, names)


def _has_interval(kind: SqlType) -> bool:
    match kind:
        case MonthIntervalType() | SecondIntervalType():
            return True
        case ArrayType() | MultisetType():
            return _has_interval(kind.element)
        case MapType():
            return _has_interval(kind.key) or _has_interval(kind.value)
        case RowType():
            return any(_has_interval(each.type) for each in kind.fields)
    return False


def _with_key(table: CatalogTable, names: list[str]) -> CatalogTable:
    key = table.primary_key
    if key is None:
        return table
    if key.enforced:
        raise CatalogError(
            "a primary key cannot be enforced: other programs may write the table",
            hint="PRIMARY KEY (…) NOT ENFORCED",
        )
    _check_unique(key.columns, "column of the primary key")
    columns = {each.name: each for each in table.columns}
    for name in key.columns:
        column = columns.get(name)
        if column is None:
            raise missing_column("the table", name, names, "the primary key's")
        if not isinstance(column, PhysicalColumn):
            raise CatalogError(f"the primary key's column {quote_name(name)} is not physical")
        columns[name] = replace(column, type=column.type.with_nullable(False))
    named = key if key.name else replace(key, name="PK_" + "_".join(key.columns))
    return replace(table, columns=tuple(columns.values()), primary_key=named)


def _check_unique(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise CatalogError(f"the {what} {quote_name(name)} occurs twice")
        seen.add(name)
