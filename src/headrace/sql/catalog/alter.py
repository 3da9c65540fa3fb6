"""The table that a table becomes by ALTER TABLE."""

from __future__ import annotations

from dataclasses import replace

from headrace.errors import CatalogError
from headrace.sql.catalog.define import checked
from headrace.sql.catalog.errors import missing_column
from headrace.sql.catalog.objects import CatalogTable, merged_options
from headrace.sql.changes import (
    AddOrModify,
    Change,
    ColumnChange,
    DropParts,
    RenameColumn,
    ResetOptions,
    SetOptions,
)
from headrace.sql.definitions import ColumnDefinition, ComputedColumn
from headrace.sql.types import quote_name


def alter_table(table: CatalogTable, change: Change) -> CatalogTable:
    """Return the changed table.

    Raises:
        CatalogError: a part is missing that is changed, or is there already that is added.
    """
    match change:
        case SetOptions(options):
            return replace(table, options=merged_options(table.options, options))
        case ResetOptions(keys):
            return _reset(table, keys)
        case RenameColumn(column, target):
            return _rename(table, column, target)
        case AddOrModify():
            return _add_or_modify(table, change)
        case DropParts():
            return _drop(table, change)
    raise AssertionError(f"no change of a table: {change}")


def _reset(table: CatalogTable, keys: tuple[str, ...]) -> CatalogTable:
    if not keys:
        raise CatalogError("RESET has no keys")
    if "connector" in keys:
        raise CatalogError("the option 'connector' cannot be reset")
    kept = tuple((key, value) for key, value in table.options if key not in keys)
    return replace(table, options=kept)


def _position(table: CatalogTable, name: str) -> int:
    names = [each.name for each in table.columns]
    if name not in names:
        raise missing_column("the table", name, names)
    return names.index(name)


def _columns_read(column: ColumnDefinition) -> set[str]:
    from sqlglot import exp

    if not isinstance(column, ComputedColumn):
        return set()
    return {each.parts[0].name for each in column.expression.find_all(exp.Column)}


def _check_unused(table: CatalogTable, name: str, dropped: tuple[str, ...] = ()) -> None:
    """Refuse to change a column on which another part of the table depends."""
    from sqlglot import exp

    for each in table.columns:
        if each.name not in dropped and name in _columns_read(each):
            raise _used(name, f"the computed column {quote_name(each.name)}")
    watermark = table.watermark
    if watermark is not None:
        read = {each.parts[0].name for each in watermark.expression.find_all(exp.Column)}
        if name in {watermark.column[0], *read}:
            raise _used(name, "the watermark")
    if name in table.partitioned_by:
        raise _used(name, "PARTITIONED BY")
    if table.distribution is not None and name in table.distribution.columns:
        raise _used(name, "the distribution")


def _used(name: str, by: str) -> CatalogError:
    return CatalogError(f"the column {quote_name(name)} is used by {by}")


def _rename(table: CatalogTable, name: str, target: str) -> CatalogTable:
    position = _position(table, name)
    if table.column(target) is not None:
        raise CatalogError(f"the table has a column {quote_name(target)} already")
    _check_unused(table, name)
    columns = list(table.columns)
    columns[position] = replace(columns[position], name=target)
    key = table.primary_key
    if key is not None and name in key.columns:
        renamed = tuple(target if each == name else each for each in key.columns)
        key = replace(key, columns=renamed)
    return replace(table, columns=tuple(columns), primary_key=key)


def _drop(table: CatalogTable, change: DropParts) -> CatalogTable:
    if change.part == "WATERMARK":
        if table.watermark is None:
            raise CatalogError("the table has no watermark")
        return replace(table, watermark=None)
    if change.part == "DISTRIBUTION":
        if table.distribution is None:
            raise CatalogError("the table has no distribution")
        return replace(table, distribution=None)
    if change.part == "PRIMARY KEY":
        key = table.primary_key
        if key is None:
            raise CatalogError("the table has no primary key")
        if change.constraint not in (None, key.name):
            problem = f"the table has no constraint {quote_name(change.constraint or '')}"
            raise CatalogError(problem, hint=f"its primary key is {quote_name(key.name or '')}")
        return replace(table, primary_key=None)
    for name in change.columns:
        _position(table, name)
        _check_unused(table, name, change.columns)
        if table.primary_key is not None and name in table.primary_key.columns:
            raise _used(name, "the primary key")
    kept = tuple(each for each in table.columns if each.name not in change.columns)
    if len(table.columns) - len(kept) != len(change.columns):
        raise CatalogError("a column is dropped twice")
    return checked(replace(table, columns=kept))


def _add_or_modify(table: CatalogTable, change: AddOrModify) -> CatalogTable:
    for part, before, after in (
        ("watermark", table.watermark, change.watermark),
        ("primary key", table.primary_key, change.primary_key),
        ("distribution", table.distribution, change.distribution),
    ):
        if after is None:
            continue
        if change.verb == "ADD" and before is not None:
            raise CatalogError(f"the table has a {part} already", hint="ALTER TABLE … MODIFY")
        if change.verb == "MODIFY" and before is None:
            raise CatalogError(f"the table has no {part}", hint="ALTER TABLE … ADD")
    columns = list(table.columns)
    for each in change.columns:
        columns = _placed(replace(table, columns=tuple(columns)), each, change.verb)
    return checked(
        replace(
            table,
            columns=tuple(columns),
            watermark=change.watermark or table.watermark,
            primary_key=change.primary_key or table.primary_key,
            distribution=change.distribution or table.distribution,
        )
    )


def _placed(table: CatalogTable, change: ColumnChange, verb: str) -> list[ColumnDefinition]:
    """Return the columns with one that is added or replaced, where it is to stand."""
    columns = list(table.columns)
    name = change.column.name
    if verb == "ADD":
        if table.column(name) is not None:
            problem = f"the table has a column {quote_name(name)} already"
            raise CatalogError(problem, hint="ALTER TABLE … MODIFY")
        position = len(columns)
    else:
        position = _position(table, name)
        del columns[position]
    if change.after == "":
        position = 0
    elif change.after is not None:
        position = _position(replace(table, columns=tuple(columns)), change.after) + 1
    columns.insert(position, change.column)
    return columns
