"""Timestamps that lie in a field of the records."""

from __future__ import annotations

from typing import Any

from headrace.common.types import Row


def field_of(value: Any, name: str) -> Any:
    """A record's field: of a Row or dict its item, of other records the attribute."""
    return value[name] if isinstance(value, dict | Row) else getattr(value, name)


class TimestampColumn:
    """A timestamp assigner: a field, or column, with integers in ms or with points in time."""

    def __init__(self, name: str) -> None:
        self.timestamp_column = name

    def extract_timestamp(self, value: Any, record_timestamp: int) -> Any:
        """The timestamp of a record."""
        return field_of(value, self.timestamp_column)

    def __repr__(self) -> str:
        return f"TimestampColumn({self.timestamp_column!r})"
