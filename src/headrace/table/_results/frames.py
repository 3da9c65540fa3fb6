"""Rows as a pandas DataFrame."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from headrace.common._extras import optional
from headrace.common.types import Row, RowKind
from headrace.sql.rel import Columns, arrow_schema

if TYPE_CHECKING:
    import pandas as pd

    from headrace.table.table_result import TableResult

_ADDED = (RowKind.INSERT, RowKind.UPDATE_AFTER)


def to_pandas(result: TableResult, columns: Columns) -> pd.DataFrame:
    """Run the job, and return the rows that are left at its end."""
    optional("pandas")
    import pyarrow as pa

    with result._take() as rows:
        kept = _folded([*rows])
    schema = arrow_schema(columns)
    arrays = [
        pa.array([row._values[place] for row in kept], field.type)
        for place, field in enumerate(schema)
    ]
    frame: pd.DataFrame = pa.Table.from_arrays(arrays, schema=schema).to_pandas()
    return frame


def _folded(rows: list[Row]) -> list[Row]:
    """Return the rows that are not retracted."""
    taken: Counter[Any] = Counter()
    for row in rows:
        if row.get_row_kind() not in _ADDED:
            taken[repr(row._values)] += 1
    if not taken:
        return rows
    found = []
    for row in rows:
        if row.get_row_kind() not in _ADDED:
            continue
        if taken[repr(row._values)] > 0:
            taken[repr(row._values)] -= 1
        else:
            found.append(row)
    return found
