"""Python values and DataFrames as columns and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.sql.rel import Column, Columns
from headrace.sql.types import to_arrow
from headrace.table._types.arrow import from_arrow_type
from headrace.table._types.arrow_values import arrow_value
from headrace.table._types.data_types import (
    DataType,
)
from headrace.table._types.inference import infer_rows
from headrace.table._types.rows import RowField, RowType, values_of
from headrace.table._types.sql import to_sql
from headrace.table._types.verification import verifier_of

if TYPE_CHECKING:
    import pandas as pd

Rows = list[list[Any]]


def rows_of_elements(
    elements: Sequence[Any], schema: DataType | Sequence[str] | None, verify: bool
) -> tuple[Columns, Rows]:
    """Return the columns and rows of ``from_elements``."""
    single = isinstance(schema, DataType) and not isinstance(schema, RowType)
    if schema is None or isinstance(schema, list | tuple):
        kind = infer_rows(elements, schema)
    elif isinstance(schema, RowType):
        kind = schema
    elif isinstance(schema, DataType):
        kind = RowType([RowField("value", schema)])
    else:
        raise TypeError(f"schema should be RowType, list, tuple or None, but got: {schema}")
    if verify and isinstance(schema, DataType):
        check = verifier_of(schema, "field value" if single else None)
        for each in elements:
            check(each)
    rows = []
    for each in elements:
        values = [each] if single and not isinstance(each, tuple) else values_of(each, kind.names)
        pairs = zip(kind.field_types(), values, strict=True)
        rows.append([arrow_value(field, value) for field, value in pairs])
    return columns_of(kind), rows


def columns_of(kind: RowType) -> Columns:
    """Return the columns of a row's fields."""
    return tuple(Column(field.name, to_sql(field.data_type)) for field in kind)


def rows_of_frame(frame: pd.DataFrame, schema: Any) -> tuple[Columns, Rows]:
    """Return the columns and rows of ``from_pandas``."""
    import pandas as pd
    import pyarrow as pa

    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"Unsupported type, expected pandas.DataFrame, got {type(frame)}")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    names: Sequence[str] = table.schema.names
    types = [from_arrow_type(each.type, each.nullable) for each in table.schema]
    if isinstance(schema, RowType):
        names, types = schema.names, schema.field_types()
    elif isinstance(schema, list | tuple) and schema:
        if isinstance(schema[0], str):
            names = [*schema]
        else:
            types = [*schema]
    elif schema is not None:
        raise TypeError(f"a schema is a ROW type, names or types, not {schema!r}")
    kind = RowType([*map(RowField, names, types)])
    columns = columns_of(kind)
    if len(columns) != len(frame.columns):
        raise TypeError(
            f"{len(columns)} columns are declared for {len(frame.columns)} of the frame"
        )
    lists = [
        _values_of_series(frame.iloc[:, place], column) for place, column in enumerate(columns)
    ]
    return columns, [[*row] for row in zip(*lists, strict=True)]


def _values_of_series(series: pd.Series[Any], column: Column) -> list[Any]:
    """Return the values of a column of a frame.

    Raises:
        TypeError: they do not have the column's type.
    """
    import pyarrow as pa

    try:
        made = pa.Array.from_pandas(series, type=to_arrow(column.type))
    except (pa.ArrowException, OverflowError) as error:
        raise TypeError(
            f"column {column.name!r}: a pandas.Series ({series.dtype}) does not become"
            f" {column.type.summary}: {error}"
        ) from error
    values: list[Any] = made.to_pylist()
    return values
