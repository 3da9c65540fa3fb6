"""From the definition of a table to the plan that reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from headrace.errors import SqlValidationError
from headrace.sql.catalog.objects import CatalogTable
from headrace.sql.convert import Converter
from headrace.sql.definitions import (
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    PrimaryKeyDefinition,
    WatermarkDefinition,
)
from headrace.sql.expressions import Expression
from headrace.sql.rel import Calc, Column, Columns, Rel, Scan, Watermark, reference
from headrace.sql.resolve.scope import Scope, Source
from headrace.sql.rules.time_attributes import time_attribute
from headrace.sql.types import AnyTimestampType

MakeConverter = Callable[[Scope], Converter]


def read_columns(definition: CatalogTable) -> Columns:
    """Return the columns that the connector gives: physical ones, then those of metadata."""
    return tuple(
        Column(each.name, each.type)
        for kind in (PhysicalColumn, MetadataColumn)
        for each in definition.columns
        if isinstance(each, kind)
    )


def written_columns(definition: CatalogTable) -> Columns:
    """Return the columns that an INSERT writes: all but those that are only read."""
    return tuple(
        Column(each.name, each.type)
        for each in definition.columns
        if isinstance(each, PhysicalColumn)
        or (isinstance(each, MetadataColumn) and not each.virtual)
    )


def table_plan(
    path: tuple[str, ...],
    definition: CatalogTable,
    hints: Mapping[str, str],
    converter: MakeConverter,
    batch: bool = False,
) -> Rel:
    """Return the plan of a table's rows, with computed columns and the watermark.

    Raises:
        SqlValidationError: an expression of the definition, or its watermark, is wrong.
    """
    options = {**dict(definition.options), **hints}
    given = _with_key(read_columns(definition), definition.primary_key)
    key = definition.primary_key
    scan = Scan(
        path,
        given,
        tuple(sorted(options.items())),
        tuple(
            (each.name, each.key or each.name)
            for each in definition.columns
            if isinstance(each, MetadataColumn)
        ),
        () if key is None else key.columns,
        definition.partitioned_by,
    )
    scope = scope_of(given)
    by_name = {column.name: column for column in given}
    names, expressions = [], list[Expression]()
    for each in definition.columns:
        names.append(each.name)
        if isinstance(each, ComputedColumn):
            expressions.append(converter(scope).expression(each.expression))
        else:
            expressions.append(reference(by_name[each.name]))
    rel: Rel = Calc(scan, tuple(names), tuple(expressions))
    if not any(isinstance(each, ComputedColumn | MetadataColumn) for each in definition.columns):
        rel = scan
    if definition.watermark is None:
        return rel
    return with_watermark(rel, definition.watermark, converter, batch)


def _with_key(columns: Columns, key: PrimaryKeyDefinition | None) -> Columns:
    """Return the columns, those of a primary key without NULL."""
    names = () if key is None else key.columns
    return tuple(
        Column(each.name, each.type.with_nullable(False)) if each.name in names else each
        for each in columns
    )


def with_watermark(
    rel: Rel, watermark: WatermarkDefinition, converter: MakeConverter, batch: bool
) -> Rel:
    """Return the rows with a column that is the event time, and its watermarks.

    Raises:
        SqlValidationError: there is no such column, or a type is wrong.
    """
    name = watermarked_column(rel, watermark).name
    if time_attribute(rel, name) == "proctime":
        raise SqlValidationError(
            f"WATERMARK FOR {name}: processing time has no watermarks",
            hint="rows of processing time are never late",
        )
    expression = converter(scope_of(rel.columns)).expression(watermark.expression)
    if not isinstance(expression.type, AnyTimestampType) or expression.type.precision > 3:
        raise SqlValidationError(
            f"the watermark {watermark.text} is {expression.type}, not TIMESTAMP(3) or"
            " TIMESTAMP_LTZ(3)"
        )
    return Watermark(rel, name, expression, timed_columns(rel.columns, name, batch))


def timed_columns(columns: Columns, name: str, batch: bool) -> Columns:
    """Return the columns, of which one is the event time; in a batch none is."""
    return tuple(
        Column(name, replace(each.type, attribute="rowtime"))
        if each.name == name and isinstance(each.type, AnyTimestampType) and not batch
        else each
        for each in columns
    )


def watermarked_column(rel: Rel, watermark: WatermarkDefinition) -> Column:
    """Return the column of a watermark.

    Raises:
        SqlValidationError: there is no such column, or it can be no event time.
    """
    (name, *inner) = watermark.column
    column = next((each for each in rel.columns if each.name == name), None)
    if column is None or inner:
        raise SqlValidationError(
            f"WATERMARK FOR {'.'.join(watermark.column)}: there is no such column",
            where={"columns": ", ".join(each.name for each in rel.columns)},
        )
    if not isinstance(column.type, AnyTimestampType) or column.type.precision > 3:
        raise SqlValidationError(
            f"WATERMARK FOR {name}: the column is {column.type}, not TIMESTAMP(3) or"
            " TIMESTAMP_LTZ(3)",
            hint=f"add a computed column: {name}_3 AS CAST({name} AS TIMESTAMP(3))",
        )
    return column


def scope_of(columns: Columns) -> Scope:
    """Return the scope of an expression over columns of one relation."""
    return Scope((Source(None, tuple(each.name for each in columns), columns),))
