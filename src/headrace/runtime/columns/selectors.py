"""Selectors that name columns: called with a record, they give what the columns hold for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.common._timestamp_column import TimestampColumn, field_of

if TYPE_CHECKING:
    from headrace.common.typeinfo import TypeInformation
    from headrace.runtime.user_function import UserFunction


class ByColumns:
    """A key selector: the value of a column, or the tuple of several columns' values."""

    def __init__(self, *names: str) -> None:
        self.key_columns = names

    def __call__(self, value: Any) -> Any:
        """Return the key of a record."""
        names = self.key_columns
        if len(names) == 1:
            return field_of(value, names[0])
        return tuple(field_of(value, name) for name in names)

    def __repr__(self) -> str:
        return f"ByColumns({', '.join(map(repr, self.key_columns))})"


class NamedField:
    """A key selector of the API: the field of a name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, value: Any) -> Any:
        """Return the field's value."""
        return field_of(value, self.name)

    def __repr__(self) -> str:
        return f"NamedField({self.name!r})"


def key_columns_of(select: Callable[[Any], Any]) -> tuple[str, ...] | None:
    """Return the columns that a key selector reads; None if it must be called with records.

    A subclass may do something else with them.
    """
    if type(select) is ByColumns:
        return select.key_columns
    if type(select) is NamedField:
        return (select.name,)
    return None


def timestamp_column_of(assign: Any) -> str | None:
    """Return the column that a timestamp assigner reads; None if it must be called with records."""
    return assign.timestamp_column if type(assign) is TimestampColumn else None


def key_columns(selector: UserFunction, key_type: TypeInformation | None) -> tuple[str, ...] | None:
    """Return the key columns of a stream; None if keys must be computed from records.

    A declared type of the key may make other values of what the columns hold.
    """
    if key_type is not None and key_type.coercer() is not None:
        return None
    return key_columns_of(selector.target)


__all__ = [
    "ByColumns",
    "NamedField",
    "TimestampColumn",
    "field_of",
    "key_columns",
    "key_columns_of",
    "timestamp_column_of",
]
