"""What SHOW and DESCRIBE print."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.sql.catalog.objects import CatalogTable, CatalogView, ObjectPath
from headrace.sql.definitions import (
    ColumnDefinition,
    ComputedColumn,
    Distribution,
    MetadataColumn,
    Options,
    PhysicalColumn,
)
from headrace.sql.rel import Columns
from headrace.sql.types import (
    ArrayType,
    MapType,
    MultisetType,
    RowType,
    SqlType,
    TimestampLtzType,
    VarBinaryType,
    VarCharType,
    quote_name,
)


@dataclass(frozen=True)
class Listing:
    """Rows with the names of their columns."""

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def matches(pattern: str, text: str, *, case_insensitive: bool = False) -> bool:
    """Return whether a text matches a pattern of LIKE, where a backslash escapes."""
    written = re.sub(
        r"\\(.)|(%)|(_)|(.)",
        lambda match: ".*" if match[2] else "." if match[3] else re.escape(match[1] or match[4]),
        pattern,
        flags=re.DOTALL,
    )
    flags = re.DOTALL | (re.IGNORECASE if case_insensitive else 0)
    return re.fullmatch(written, text, flags) is not None


# DESCRIBE


def describe_table(
    table: CatalogTable, type_of: Callable[[ComputedColumn], SqlType], *, rowtime: bool = True
) -> Listing:
    """Return DESCRIBE of a table.

    ``type_of``: gives the types of computed columns. ``rowtime``: whether a column with a watermark
    is an event time.
    """
    key = table.primary_key
    keyed = () if key is None else key.columns
    primary = f"PRI({', '.join(keyed)})"
    rows = []
    for column in table.columns:
        kind = type_of(column) if isinstance(column, ComputedColumn) else column.type
        watermark = None
        summary = str(kind.with_nullable(True))
        if table.watermark is not None and table.watermark.column == (column.name,):
            watermark = _written(table.watermark.expression)
            if rowtime:
                summary = f"{summary.removesuffix(' *ROWTIME*')} *ROWTIME*"
        in_key = primary if column.name in keyed else None
        extras = _extras(column)
        comment = column.comment or None
        rows.append((column.name, summary, kind.nullable, in_key, extras, watermark, comment))
    return _described(rows)


def describe_columns(columns: Columns) -> Listing:
    """Return DESCRIBE of a view with these columns."""
    rows = [
        (each.name, str(each.type.with_nullable(True)), each.type.nullable, None, None, None, None)
        for each in columns
    ]
    return _described(rows)


def _described(rows: list[tuple[Any, ...]]) -> Listing:
    names = ("name", "type", "null", "key", "extras", "watermark", "comment")
    count = 7 if any(row[6] for row in rows) else 6
    return Listing(names[:count], tuple(row[:count] for row in rows))


def _extras(column: ColumnDefinition) -> str | None:
    match column:
        case ComputedColumn():
            return f"AS {_written(column.expression)}"
        case MetadataColumn():
            return _metadata(column)
    return None


def _metadata(column: MetadataColumn) -> str:
    key = "" if column.key is None else f" FROM {quoted_text(column.key)}"
    return f"METADATA{key}{' VIRTUAL' if column.virtual else ''}"


# SHOW CREATE


def show_create_table(path: ObjectPath, table: CatalogTable, *, temporary: bool = False) -> str:
    """Return the statement that makes a table, as Flink shows it."""
    return create_table_text(str(path), table, temporary=temporary)


def create_table_text(
    path: str, table: CatalogTable, *, temporary: bool = False, as_written: bool = False
) -> str:
    """Return the statement that makes a table.

    ``as_written``: expressions are as the user wrote them, and types have their short names.
    """
    parts = [_column(each, as_written) for each in table.columns]
    if table.watermark is not None:
        column = ".".join(map(quote_name, table.watermark.column))
        watermark = table.watermark
        text = watermark.text if as_written else _written(watermark.expression)
        parts.append(f"WATERMARK FOR {column} AS {text}")
    if table.primary_key is not None:
        name = quote_name(table.primary_key.name or "")
        keys = _names(table.primary_key.columns)
        parts.append(f"CONSTRAINT {name} PRIMARY KEY ({keys}) NOT ENFORCED")
    body = ",\n".join(f"  {each}" for each in parts)
    lines = [f"CREATE {'TEMPORARY ' if temporary else ''}TABLE {path} (\n{body}\n)"]
    if table.comment:
        lines.append(f"COMMENT {quoted_text(table.comment)}")
    if table.distribution is not None:
        lines.append(_distribution(table.distribution))
    if table.partitioned_by:
        lines.append(f"PARTITIONED BY ({_names(table.partitioned_by)})")
    if table.options:
        lines.append(options_text(table.options))
    return "\n".join(lines) + "\n"


def show_create_view(path: ObjectPath, view: CatalogView, *, temporary: bool = False) -> str:
    """Return the statement that makes a view, as Flink shows it."""
    return create_view_text(str(path), view, temporary=temporary)


def create_view_text(path: str, view: CatalogView, *, temporary: bool = False) -> str:
    """Return the statement that makes a view."""
    body = ",\n".join(f"  {quote_name(each)}" for each in view.columns)
    lines = [f"CREATE {'TEMPORARY ' if temporary else ''}VIEW {path} (\n{body}\n)"]
    if view.comment:
        lines.append(f"COMMENT {quoted_text(view.comment)}")
    lines.append(f"AS {view.text}")
    return "\n".join(lines) + "\n"


def _column(column: ColumnDefinition, as_written: bool) -> str:
    written = quote_name(column.name)
    type_text = str if as_written else type_in_full
    match column:
        case PhysicalColumn():
            written += f" {type_text(column.type)}"
        case MetadataColumn():
            written += f" {type_text(column.type)} {_metadata(column)}"
        case ComputedColumn():
            written += f" AS {column.text if as_written else _written(column.expression)}"
    return written + (f" COMMENT {quoted_text(column.comment)}" if column.comment else "")


def _distribution(distribution: Distribution) -> str:
    written = "DISTRIBUTED"
    if distribution.columns:
        kind = "" if distribution.kind == "UNKNOWN" else distribution.kind
        written += f" BY {kind}({_names(distribution.columns)})"
    if distribution.buckets is not None:
        written += f" INTO {distribution.buckets} BUCKETS"
    return written


def options_text(options: Options) -> str:
    """Return WITH (…)."""
    body = ",\n".join(
        f"  {quoted_text(key)} = {quoted_text(value)}" for key, value in sorted(options)
    )
    return f"WITH (\n{body}\n)"


def _written(tree: Any) -> str:
    from sqlglot import exp

    from headrace.sql.dialect.printing import to_sql
    from headrace.sql.functions.table import names

    built_in = set(names())

    def named_as_flink_does(node: Any) -> Any:
        if isinstance(node, exp.Anonymous) and isinstance(node.this, str):
            name = node.this.upper()
            if name in built_in:
                node.set("this", name)
        return node

    return to_sql(tree.transform(named_as_flink_does))


def quoted_text(value: str) -> str:
    """Return a text in quotes."""
    return "'" + value.replace("'", "''") + "'"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(map(quote_name, names))


def type_in_full(kind: SqlType) -> str:
    """Return the name of a type without the short names STRING, BYTES and TIMESTAMP_LTZ."""
    match kind:
        case VarCharType(MAX_LENGTH):
            written = f"VARCHAR({MAX_LENGTH})"
        case VarBinaryType(MAX_LENGTH):
            written = f"VARBINARY({MAX_LENGTH})"
        case TimestampLtzType():
            written = f"TIMESTAMP({kind.precision}) WITH LOCAL TIME ZONE"
        case ArrayType():
            written = f"ARRAY<{type_in_full(kind.element)}>"
        case MultisetType():
            written = f"MULTISET<{type_in_full(kind.element)}>"
        case MapType():
            written = f"MAP<{type_in_full(kind.key)}, {type_in_full(kind.value)}>"
        case RowType():
            fields = (
                f"{quote_name(each.name)} {type_in_full(each.type)}"
                + (f" {quoted_text(each.description)}" if each.description else "")
                for each in kind.fields
            )
            written = f"ROW<{', '.join(fields)}>"
        case _:
            written = kind.summary
    return written if kind.nullable else f"{written} NOT NULL"
