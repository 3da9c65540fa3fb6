"""Tables of expressions: rows of VALUES."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from headrace.sql.rel import Column, Rel, Values
from headrace.sql.resolve.query import renamed
from headrace.sql.types import SqlType
from headrace.table._expressions.trees import type_name
from headrace.table._planning.queries import Queries
from headrace.table._types.data_types import DataType
from headrace.table._types.rows import RowField, RowType
from headrace.table._types.sql import to_sql


def table_of_trees(queries: Queries, rows: Sequence[exp.Expr], schema: object) -> Rel:
    """Return the relation of expressions, each a row or the value of a single column.

    ``schema``: None, or a ROW type, or the type of a single column; values are cast to it.

    Raises:
        TypeError: the schema is something else.
        ValueError: a row has more or fewer values than the schema has fields.
    """
    if schema is None:
        rel = queries.of_table_api(exp.Values(expressions=[*rows]))
        return renamed(rel, [f"f{place}" for place in range(len(rel.columns))])
    if not isinstance(schema, DataType):
        raise TypeError(f"the schema of expressions is a DataType, not {schema!r}")
    fields = schema.fields if isinstance(schema, RowType) else [RowField("f0", schema)]
    types = [to_sql(each.data_type) for each in fields]
    cast_rows = []
    for row in rows:
        values = row.expressions if isinstance(row, exp.Tuple) else [row]
        if len(values) != len(types):
            raise ValueError(f"the row has {len(values)} values, and its type {len(types)} fields")
        pairs = zip(values, types, strict=True)
        cast_rows.append(exp.Tuple(expressions=[_cast(each, kind) for each, kind in pairs]))
    rel = queries.of_table_api(exp.Values(expressions=cast_rows))
    if isinstance(rel, Values):
        columns = zip(rel.fields, types, strict=True)
        rel = replace(rel, fields=tuple(Column(each.name, kind) for each, kind in columns))
    return renamed(rel, [each.name for each in fields])


def _cast(value: exp.Expr, kind: SqlType) -> exp.Expr:
    return exp.Cast(this=value, to=type_name(kind))
