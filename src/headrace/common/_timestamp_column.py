"""Timestamps from a field of the records."""

from __future__ import annotations

from typing import Any

from headrace.common.types import Row


def field_of(value: Any, name: str) -> Any:
    """Return a field of a record: the item of a Row or dict, else the attribute."""
    return value[name] if isinstance(value, dict | Row) else getattr(value, name)


class TimestampColumn:
    """A timestamp assigner that reads a field (or column) of ints in ms or of datetimes."""

    def __init__(self, name: str) -> None:
        self.timestamp_column = name

    def extract_timestamp(self, value: Any, record_timestamp: int) -> Any:
        """Return the field's value: an int of ms since the epoch, or a datetime."""
        return field_of(value, self.timestamp_column)

    def __repr__(self) -> str:
        return f"TimestampColumn({self.timestamp_column!r})"
