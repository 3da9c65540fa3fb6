"""Shapes: how the rows of a record batch become the records that a program sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.common.types import row_of

Shape = Callable[[Any], list[Any]]
"""Converts a pyarrow record batch to as many new records. It can be pickled, and two that do the
same are equal."""


@dataclass(frozen=True)
class Dicts:
    """Records that are dictionaries."""

    def __call__(self, batch: Any) -> list[Any]:
        """Return the records of a batch."""
        names = batch.schema.names
        return [dict(zip(names, row, strict=True)) for row in _rows_of(batch)]


@dataclass(frozen=True)
class NamedRows:
    """Records that are a ``Row`` with named fields."""

    def __call__(self, batch: Any) -> list[Any]:
        """Return the records of a batch."""
        names = (*batch.schema.names,)
        return [row_of(names, [*row]) for row in _rows_of(batch)]


@dataclass(frozen=True)
class PlainValues:
    """Records that are the values of the only column."""

    def __call__(self, batch: Any) -> list[Any]:
        """Return the records of a batch."""
        (column,) = batch.columns
        return python_values(column)


@dataclass(frozen=True)
class Objects:
    """Records that ``make`` builds from the values of a row: dataclass objects or tuples."""

    make: Callable[..., Any]

    def __call__(self, batch: Any) -> list[Any]:
        """Return the records of a batch."""
        return [self.make(*row) for row in _rows_of(batch)]


@dataclass(frozen=True)
class Tuples:
    """Records that are tuples."""

    def __call__(self, batch: Any) -> list[Any]:
        """Return the records of a batch."""
        return [*_rows_of(batch)]


DICTS = Dicts()
NAMED_ROWS = NamedRows()


def python_values(column: Any) -> list[Any]:
    """Return the values of an Arrow array as Python objects; nanoseconds are cut off."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        # Python's datetime ends at microseconds. A cast alone would cut towards 1970.
        column = pc.floor_temporal(column, unit="microsecond").cast(pa.timestamp("us", kind.tz))
    values: list[Any] = column.to_pylist()
    return values


def _rows_of(batch: Any) -> Any:
    return zip(*map(python_values, batch.columns), strict=True)
