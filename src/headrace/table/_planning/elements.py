"""Python values and DataFrames as columns and rows."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.sql.rel import Column, Columns
from headrace.sql.types import to_arrow
from headrace.table._types.arrow import from_arrow_type
from headrace.table._types.data_types import (
    ArrayType,
    DataType,
    DecimalType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
)
from headrace.table._types.inference import infer_rows
from headrace.table._types.intervals import DayTimeIntervalType
from headrace.table._types.rows import RowField, RowType, UserDefinedType, values_of
from headrace.table._types.sql import to_sql
from headrace.table._types.verification import verifier_of

if TYPE_CHECKING:
    import pandas as pd

Rows = list[list[Any]]

_HALF_UP = decimal.Context(prec=1000, rounding=decimal.ROUND_HALF_UP)


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


def arrow_value(kind: DataType, value: Any) -> Any:
    """Return a value as Arrow takes it."""
    if value is None:
        return None
    match kind:
        case LocalZonedTimestampType():
            return value.astimezone(datetime.UTC)
        case DecimalType():
            return _rounded(value, kind)
        case DayTimeIntervalType():
            return value // datetime.timedelta(milliseconds=1)
        case RowType():
            pairs = zip(kind, values_of(value, kind.names), strict=True)
            return {field.name: arrow_value(field.data_type, each) for field, each in pairs}
        case MultisetType():
            return value
        case ArrayType():
            return [arrow_value(kind.element_type, each) for each in value]
        case MapType():
            key, item = kind.key_type, kind.value_type
            return [(arrow_value(key, one), arrow_value(item, each)) for one, each in value.items()]
        case UserDefinedType():
            return arrow_value(kind.sql_type(), kind.serialize(value))
    return bytes(value) if isinstance(value, bytearray) else value


def _rounded(value: decimal.Decimal, kind: DecimalType) -> decimal.Decimal | None:
    """Return a value with the digits of its type; None: it is too large, as in Flink.

    Raises:
        ValueError: it is not finite.
    """
    if not value.is_finite():
        raise ValueError(f"{kind} can not accept object {value!r}")
    rounded = value.quantize(decimal.Decimal(1).scaleb(-kind.scale), context=_HALF_UP)
    return rounded if abs(rounded) < 10 ** (kind.precision - kind.scale) else None


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
    arrays = [
        array.cast(to_arrow(column.type)).to_pylist()
        for array, column in zip(table.columns, columns, strict=True)
    ]
    return columns, [[*row] for row in zip(*arrays, strict=True)]
